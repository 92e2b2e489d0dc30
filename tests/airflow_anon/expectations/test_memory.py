"""Validation reads a release batch by batch: its memory follows the distinct tuples, not the records."""

from __future__ import annotations

import json
import sys

import pyarrow as pa
import pytest

from airflow_anon.expectations.class_table import class_table
from engine import InvalidJob
from tests.engine.verification.test_memory import FEW, JOB, MANY, released
from tests.peak_memory import peak_megabytes


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
def test_memory_does_not_grow_with_records(tmp_path):
    (tmp_path / "job.json").write_text(json.dumps(JOB))
    peaks: dict[int, float] = {}
    for rows in (FEW, MANY):
        release = released(tmp_path, rows)
        before = f"""
import json
from pathlib import Path
from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import load_job
job = load_job(json.load(open({str(tmp_path / "job.json")!r})))
report = json.load(open({str(release / "report.json")!r}))
suite = release_suite(job, report, source_rows={rows})
"""
        validated = f"assert run_suite(Path({str(release / 'data.parquet')!r}), suite)['success'] is True"
        peaks[rows] = peak_megabytes(before, validated)
    assert peaks[MANY] < peaks[FEW] + 30


@pytest.mark.parametrize("others", [[], ["s"]])
def test_more_classes_than_fit_into_the_memory_are_refused(others):
    table = pa.table({"q": ["a", "b"], "s": ["Jane-Roe", "Joe"]})
    with pytest.raises(InvalidJob) as caught:
        class_table(table, ["q"], others, memory=1)
    text = str(caught.value)
    assert "there are 2 combinations of labels " + ("and values of column 's'" if others else "of quasi") in text
    assert "raise memory_limit" in text
    assert "Jane" not in text
