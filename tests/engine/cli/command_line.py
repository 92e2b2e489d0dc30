"""Runs of the command line in processes of their own, and the job they run.

The processes are forked from that of the tests, which has imported everything and loaded the kernels: that would take
more time than all that is tried here. `test_process` starts whole ones.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import traceback
from contextlib import redirect_stderr, redirect_stdout

import yaml

from engine.cli import main

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


def cli(*arguments, cwd=None):
    """Run the command line; no output of it may hold a traceback or a value of a record."""
    _prepare()
    words = [str(argument) for argument in arguments]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            with redirect_stdout(out), redirect_stderr(err):
                status = _status(words, cwd)
            out.flush()
            err.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = [file.seek(0) or file.read() for file in (out, err)]
    return checked(subprocess.CompletedProcess(words, status, *said))


def program(*arguments, cwd=None):
    """Start the command line as its users do; as `cli` otherwise."""
    command = [sys.executable, "-m", "engine", *arguments]
    return checked(subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd))


def checked(done):
    """Give what a process said, without a traceback and without a value of a record."""
    assert "Traceback" not in done.stderr
    assert PERSON not in done.stdout + done.stderr
    return done


@functools.cache
def _prepare():
    """Import what the commands import when they run, and load the kernels."""
    import engine.frontiers  # noqa: PLC0415 (not at collection)
    import engine.pipeline.run  # noqa: PLC0415
    import engine.verification  # noqa: PLC0415, F401
    from engine.kernels.warm_up import warm_up  # noqa: PLC0415

    warm_up()


def _status(words, cwd):
    """Give the exit status, as the interpreter makes it of what ends a program."""
    try:
        os.chdir(cwd or os.curdir)
        return main(words)
    except SystemExit as problem:
        return problem.code if isinstance(problem.code, int) else int(problem.code is not None)
    except BaseException:  # noqa: BLE001 (as the interpreter does)
        traceback.print_exc()
        return 1


def write(folder, **changes):
    """Write the job file."""
    (folder / "job.yaml").write_text(yaml.safe_dump({**JOB, **changes}))


def names(folder):
    """List everything below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
