"""A run starts no thread of Arrow: one that outlives it may abort a process (`engine.tables.sources.grouping`)."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

SCRIPT = """
import json
import sys
from pathlib import Path
import pyarrow as pa
import pyarrow.acero
import engine
from engine.kernels.warm_up import Part, warm_up

rows = range(400)
table = pa.table({"age": [str(20 + n % 7) for n in rows], "sex": ["mf"[n // 3 % 2] for n in rows],
                  "who": [f"p{n // 2}" for n in rows], "disease": ["abc"[n // 2 % 3] for n in rows]})
job = json.loads(sys.argv[1])
threads = Path("/proc/self/task")
# libraries start threads of their own when they are loaded
warm_up(Part.SEARCH, Part.PERSONS)
before = len(list(threads.iterdir()))
engine.run(job, table)
print(len(list(threads.iterdir())) - before)
"""
FLAT = {"builder": "flat"}
JOB = {
    "name": "threads",
    "attributes": {
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [5]}},
        "sex": {"role": "quasi-identifying", "hierarchy": FLAT},
        "who": {"role": "identifying"},
        "disease": {"role": "sensitive", "hierarchy": FLAT},
    },
    "privacy": [{"model": "k-anonymity", "k": 2}],
    "suppression_limit": 0.5,
}


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
@pytest.mark.parametrize("changes", [{"unit": "record"}, {"subject": "who"}], ids=["records", "persons"])
def test_no_thread_outlives_a_run(changes):
    command = [sys.executable, "-c", SCRIPT, json.dumps({**JOB, **changes})]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == 0


@pytest.mark.parametrize("folder", ["engine", "airflow_anon"])
def test_every_table_is_grouped_in_the_calling_thread(folder):
    threaded = []
    for file in (ROOT / folder).rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            match call:
                case ast.Attribute(
                    value=ast.Call(func=ast.Attribute(attr="group_by"), keywords=given), attr="aggregate"
                ):
                    if "use_threads" not in {keyword.arg for keyword in given}:
                        threaded.append(f"{file.relative_to(ROOT)}:{call.lineno}")
    assert threaded == []
