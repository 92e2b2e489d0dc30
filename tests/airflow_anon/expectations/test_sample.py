"""A sample: Great Expectations counts from the key how many records of the source are drawn."""

from __future__ import annotations

import hashlib

import pytest

from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.sample import drawn_rows
from airflow_anon.expectations.suite import release_suite
from engine import run
from engine.tables.altered.sampled import SampledTable
from engine.tables.sources.source import ArrowTable
from tests.airflow_anon.expectations import build
from tests.airflow_anon.expectations.test_transformed import failed, source

KEY = hashlib.sha256(b"a key of one sample").digest()


@pytest.fixture
def made(tmp_path):
    plain = build.job(tmp_path).document()
    coded = {"role": "sensitive", "coding": {"top": 5}, "order": "decimal"}
    changes = {"attributes": {**plain["attributes"], "diagnosis": coded}, "suppression_limit": 0.4}
    sample = {"sample": {"fraction": 0.5}, "risk": {"sampling_fraction": 0.2}}
    this, records = build.job(tmp_path, unit="record", **changes, **sample), source(300)
    return this, records, run(this, table=records, rows_key=KEY)


def validated(made, key):
    this, records, result = made
    suite = release_suite(this, result.published, source_rows=records.num_rows, rows_key=key)
    return run_suite(result.table, suite)


def test_a_good_release(made):
    document = validated(made, KEY.hex())
    assert document["success"], failed(document)


def test_another_key_draws_another_number(made):
    assert build.ROWS in failed(validated(made, "00" * 32))


def test_a_key_that_is_not_given(made):
    with pytest.raises(ValueError, match="rows_key: that of the sample is not given"):
        validated(made, None)


@pytest.mark.parametrize("fraction", [0.001, 0.3, 0.999])
def test_it_counts_what_the_engine_draws(fraction):
    table = SampledTable(ArrowTable(source(2000)), fraction, KEY)
    assert drawn_rows(2000, fraction, KEY.hex()) == sum(batch.num_rows for batch in table.batches(["age"]))
