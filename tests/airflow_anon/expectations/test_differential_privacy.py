"""Differential privacy: Great Expectations finds the sample again from the key, and counts its classes."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.sample import drawn_rows
from airflow_anon.expectations.suite import release_suite
from engine import InvalidData, run
from tests.airflow_anon.expectations import build
from tests.airflow_anon.expectations.test_transformed import failed
from tests.engine.private_jobs import DOCUMENT, KEY, private, source

HEX = KEY.hex()
CLASSES = "expect_only_small_classes_suppressed"
SAMPLE = source(*[("77", "121")] * 9, *[("a", None)] * 80)


@pytest.fixture
def made(tmp_path):
    pq.write_table(SAMPLE, tmp_path / "source.parquet")
    this = private()
    return this, run(this, table=SAMPLE, rows_key=KEY), tmp_path / "source.parquet"


def validated(made, key=HEX, table=None, report=None):
    this, result, path = made
    told = result.published if report is None else report
    suite = release_suite(this, told, source_rows=SAMPLE.num_rows, source=path and str(path), rows_key=key)
    return run_suite(result.table if table is None else table, suite)


def test_a_good_release(made):
    document = validated(made)
    assert document["success"], failed(document)
    assert CLASSES in {one["expectation_type"] for one in document["results"]}


def test_its_document_counts_nothing_but_the_file(made):
    """No number tells how many records there are, or were drawn."""
    _, result, _ = made
    document = validated(made)
    drawn = drawn_rows(SAMPLE.num_rows, 0.5, KEY.hex())
    text = json.dumps(document["results"])
    assert result.table.num_rows < drawn < SAMPLE.num_rows
    assert all(f" {number}" not in text for number in (drawn, SAMPLE.num_rows, SAMPLE.num_rows - result.table.num_rows))
    assert KEY.hex() not in text


def test_another_key_draws_another_sample(made):
    assert {build.ROWS, CLASSES} & set(failed(validated(made, "00" * 32)))


def test_a_key_or_a_source_that_is_not_given(made):
    with pytest.raises(ValueError, match="rows_key: that of the sample is not given"):
        validated(made, None)
    with pytest.raises(InvalidData, match="the extracted source"):
        validated((*made[:2], None))


def test_a_record_that_is_missing_or_added(made):
    _, result, _ = made
    assert {build.ROWS, CLASSES} <= set(failed(validated(made, table=result.table.slice(1))))
    more = pa.concat_tables([result.table.slice(1), pa.table({"age": ["[70, 80["], "zip": ["12*"]})])
    assert {CLASSES, build.CLASSES, build.PRIVACY} <= set(failed(validated(made, table=more)))


def test_a_report_with_another_size(made):
    _, result, _ = made
    (entry,) = result.published["privacy"]
    told = {**result.published, "privacy": [{**entry, "required": 20.0}]}
    assert build.FIGURES in failed(validated(made, report=told))


def test_levels_that_were_drawn(tmp_path):
    pq.write_table(SAMPLE, tmp_path / "source.parquet")
    attributes = {**DOCUMENT["attributes"], "zip": {**DOCUMENT["attributes"]["zip"], "maximum_level": 2}}
    this = private(attributes=attributes, privacy=[{**DOCUMENT["privacy"][0], "epsilon": 3, "search_epsilon": 1}])
    made = this, run(this, table=SAMPLE, rows_key=KEY), tmp_path / "source.parquet"
    document = validated(made)
    assert document["success"], failed(document)
    levels = made[1].published["solution"]["levels"]
    told = {**made[1].published["solution"], "levels": {**levels, "zip": 3 - levels["zip"]}}
    assert CLASSES in failed(validated(made, report={**made[1].published, "solution": told}))
