"""Runs of the command line in processes of their own, and the job they run."""

from __future__ import annotations

import subprocess
import sys

import yaml

PROGRAM = [sys.executable, "-m", "engine"]
PERSON = "4711"
JOB = {
    "name": "people",
    "source": {"path": "people.csv"},
    "attributes": {
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10], "upper": 4000}},
        "diagnosis": {"role": "sensitive"},
        "person_id": {"role": "identifying"},
    },
    "privacy": [{"model": "k-anonymity", "k": 2}],
    "suppression_limit": 0.2,
    "output": {"path": "release"},
}
ROWS = "person_id,age,diagnosis\n1,21,u\n2,22,v\n3,31,u\n4,32,v\n5,71,u\n"


def cli(*arguments, cwd=None, **options):
    """Run the command line; no output of it may hold a traceback or a value of a record."""
    done = subprocess.run([*PROGRAM, *arguments], check=False, capture_output=True, text=True, cwd=cwd, **options)
    assert "Traceback" not in done.stderr
    assert PERSON not in done.stdout + done.stderr
    return done


def write(folder, **changes):
    """Write the job file."""
    (folder / "job.yaml").write_text(yaml.safe_dump({**JOB, **changes}))


def names(folder):
    """List everything below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
