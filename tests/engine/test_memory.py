"""A run that needs more memory than its limit says so before it takes it: measured by what the process holds."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import InvalidJob, Message, refuse_beyond, run
from engine.memory import PROCESS, resident
from engine.tables.class_table import count_classes
from tests.engine.backends.test_contract import document_of

linux = pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")


@linux
def test_what_a_process_holds_grows_with_what_it_takes():
    before = resident()
    taken = np.ones(10**8, np.uint8)
    assert 0.9 * taken.nbytes < resident() - before < 1.5 * taken.nbytes


def test_where_the_kernel_does_not_tell_it_is_that_of_a_process_that_counts_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.memory._STATUS", tmp_path / "none")
    assert resident() == PROCESS


def test_a_step_is_refused_that_would_take_more_than_the_limit():
    held = resident()
    refuse_beyond(None, 10**18, Message("many"), Message("take less"))
    refuse_beyond(2 * held + 10**9, 10**6, Message("many"), Message("take less"))
    with pytest.raises(InvalidJob, match=r"memory_limit: \d+ MB are too few: many, for which a run needs \d+ MB; take"):
        refuse_beyond(held + 10**9, 2 * 10**9, Message("many"), Message("take less"))


@pytest.mark.parametrize("backend", ["arrow", "duckdb"])
def test_tuples_that_do_not_fit_into_an_integer_are_counted_against_the_limit(tmp_path, backend):
    """Eight columns of 300 values are 72 bits."""
    pytest.importorskip("duckdb", reason="needs the extra 'duckdb'")
    random, rows = np.random.default_rng(1), 20_000
    names = [f"q{a}" for a in range(8)]
    table = pa.table({name: pa.array(random.integers(0, 300, rows).astype(str)) for name in names})
    pq.write_table(table, tmp_path / "people.parquet")
    document = document_of(names, tmp_path / "people.parquet", map(str, range(300)))
    with pytest.raises(InvalidJob, match=f"so far there are {rows} distinct combinations of values"):
        run({**document, "backend": backend, "memory_limit": "401MB"})


def test_classes_and_sensitive_values_of_a_release_are_refused_by_their_columns():
    columns = {"q": ["a", "b"], "s": ["Jane-Roe", "Joe"], "few": ["x", "x"]}
    table = pa.table(columns)
    with pytest.raises(InvalidJob) as caught:
        count_classes(table.schema, table.to_batches(), ["q"], ["few", "s"], memory=1)
    text = str(caught.value)
    assert "the columns with most of them are 'q', 's', 'few'" in text
    assert "so there is none" in text
    assert "Jane" not in text


MEASURED = """
import json, sys
import engine
try:
    engine.run(json.load(open(sys.argv[1])))
    print("released")
except engine.InvalidJob as problem:
    print(problem)
# not getrusage, which begins with what the parent held
print(next(line.split()[1] for line in open("/proc/self/status", encoding="ascii") if line.startswith("VmHWM")))
"""


def measured(document, folder):
    """Run a job in a process of its own; return what it says, and the bytes that it held at most."""
    (folder / "job.json").write_text(json.dumps(document))
    command = [sys.executable, "-c", MEASURED, str(folder / "job.json")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    said, held = done.stdout.splitlines()
    return said, 1024 * int(held)


@linux
@pytest.mark.slow
@pytest.mark.parametrize("counted", [True, False])
def test_many_long_sensitive_values_are_refused_before_they_take_more_than_the_limit(tmp_path, counted):
    """They are held while the table is counted if a model reads them, and else only while the release is verified."""
    rows, limit = 1_000_000, 600 * 10**6
    values = pa.array([f"{number:090d}" for number in range(rows)])
    table = pa.table({"q": ["a", "b"] * (rows // 2), "s": values})
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=100_000)
    document = document_of(["q"], tmp_path / "people.parquet", output={"path": str(tmp_path / "release")})
    document["attributes"]["s"] = {"role": "sensitive", "accept": "unique"}
    if counted:
        document["privacy"] = [{"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2}]
    before = sorted(tmp_path.iterdir())
    said, held = measured({**document, "memory_limit": f"{limit // 10**6}MB"}, tmp_path)
    assert said.startswith("memory_limit: 600 MB are too few: so far ")
    assert ("distinct combinations of values" if counted else "so far the release has") in said
    assert "'s'" in said
    assert held < limit
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "job.json"])
    said, held = measured(document, tmp_path)
    assert said == "released"
    assert held > limit
