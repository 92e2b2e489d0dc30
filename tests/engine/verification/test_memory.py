"""Verification reads a release batch by batch: its memory follows the distinct tuples, not the records."""

from __future__ import annotations

import json
import sys

import numpy as np
import pyarrow as pa
import pytest

from engine import run
from tests.peak_memory import peak_megabytes

JOB = {
    "name": "people",
    "attributes": {
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10]}},
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 5}},
        "diagnosis": {"role": "sensitive"},
        "note": {"role": "insensitive"},
    },
    "privacy": [
        {"model": "k-anonymity", "k": 5},
        {"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.9},
    ],
    "suppression_limit": 0.01,
}
FEW, MANY = 300_000, 1_200_000
VERIFIED = """
assert all(finding.holds for finding in engine.verify({release}, job, report))
"""


def released(folder, rows):
    """Release a table of that many records with the same few tuples."""
    random = np.random.default_rng(1)
    texts = {"age": np.arange(20, 60), "zip": 10_000 + 7 * np.arange(30), "diagnosis": np.arange(50)}
    columns = {
        name: pa.array(values.astype(str)).take(pa.array(random.integers(0, values.size, rows)))
        for name, values in texts.items()
    }
    run(JOB, pa.table({**columns, "note": pa.array(random.random(rows).round(3))}), output=folder / f"{rows}")
    return folder / f"{rows}"


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
def test_memory_does_not_grow_with_records(tmp_path):
    (tmp_path / "job.json").write_text(json.dumps(JOB))
    peaks: dict[int, float] = {}
    for rows in (FEW, MANY):
        release = released(tmp_path, rows)
        before = f"""
import json, engine, engine.verification, pyarrow.parquet as pq
job = engine.load_job(json.load(open({str(tmp_path / "job.json")!r})))
report = json.load(open({str(release / "report.json")!r}))
"""
        peaks[rows] = peak_megabytes(before, VERIFIED.format(release=repr(str(release))))
    # a table in memory needs more than this for each million records
    table = peak_megabytes(before, f"table = pq.read_table({str(release / 'data.parquet')!r})")
    assert table > 45
    assert peaks[MANY] < peaks[FEW] + 30
