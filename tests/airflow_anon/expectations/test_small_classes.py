"""Suppression of small classes alone: Great Expectations counts the classes of the extracted source."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import run
from tests.airflow_anon.expectations import build

SMALL = "expect_only_small_classes_suppressed"


def several_of_one_value():
    """Give the thirteen records, and three of one more age group with one diagnosis."""
    more = pa.table(
        {
            "age": ["y71"] * 3,
            "zip": ["z2138"] * 3,
            "diagnosis": ["dx-alpha"] * 3,
            "days": pa.array([88_101, 88_102, 88_103], pa.int64()),
        }
    )
    return pa.concat_tables([build.source(), more])


def validated(folder, job, source, result, path=None):
    pq.write_table(source, folder / "source.parquet")
    suite = release_suite(
        job,
        result.published,
        source_rows=source.num_rows,
        source_types=build.types(),
        source=str(folder / "source.parquet") if path is None else path,
    )
    return run_suite(result.table, suite)


@pytest.mark.parametrize("suppressed", ["star", "drop"])
def test_a_good_release(tmp_path, suppressed):
    job = build.job(
        tmp_path, suppress="small-classes", output={"path": str(tmp_path / "release"), "suppressed": suppressed}
    )
    result = run(job, build.source())
    document = validated(tmp_path, job, build.source(), result)
    assert result.published["suppressed_class"] == {"form": "drop", "records": None, "joined": 0, "below": 3}
    assert document["success"]
    assert build.result_of(document, SMALL)["success"]


def test_only_a_population_says_of_how_many_persons_a_row_is(tmp_path):
    source = build.source().append_column("persons", pa.array([4] * 12 + [7]))
    attributes = {**build.job(tmp_path).document()["attributes"], "persons": {"role": "identifying"}}
    job = build.job(tmp_path, suppress="small-classes", attributes=attributes, unit="record")
    assert validated(tmp_path, job, source, run(job, source))["success"]


def test_a_larger_class_that_was_suppressed_is_found(tmp_path):
    source = several_of_one_value()
    of_any = build.job(tmp_path, suppression_limit=0.4)
    result = run(of_any, source)
    assert result.report["suppressed_class"]["records"] == 4
    job = build.job(tmp_path, suppression_limit=0.4, suppress="small-classes")
    assert build.failed(validated(tmp_path, job, source, result)) == {SMALL}


def test_without_the_source_nothing_is_proven(tmp_path):
    job = build.job(tmp_path, suppress="small-classes")
    result = run(job, build.source())
    suite = release_suite(job, result.report, source_rows=13, source_types=build.types())
    assert build.failed(run_suite(result.table, suite)) == {SMALL}
