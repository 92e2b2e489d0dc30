"""Coded and aggregated columns: Great Expectations looks at each distinct number, and at each class."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import run
from tests.airflow_anon.expectations import build

CODED = "expect_coded_numbers"
AGGREGATED = "expect_one_aggregate_per_class"


def source(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "mrn": pa.array(rng.integers(0, 30, rows) + 880000431000),
            "age": rng.choice(["y31", "y32", "y41", "y42"], rows),
            "zip": rng.choice(["z2138", "z2139", "z9021"], rows),
            "diagnosis": rng.choice(["1.24", "1.26", "2.5", "9", "-0.01"], rows),
            "days": pa.array(rng.integers(0, 90, rows), pa.int16()),
        }
    )


def job(folder, how="mean", **changes):
    plain = build.job(folder).document()
    attributes = {
        **plain["attributes"],
        "diagnosis": {"role": "sensitive", "coding": {"round_to": 0.1, "top": 5}, "order": "decimal"},
        "days": {"role": "quasi-identifying", "microaggregation": how, "coding": {"top": 60}},
        **changes.pop("attributes", {}),
    }
    counted = {} if "subject" in changes else {"unit": "record"}
    return build.job(folder, attributes=attributes, **{**counted, "suppression_limit": 0.4, **changes})


def validated(folder, this, table, report, records):
    pq.write_table(records, folder / "source.parquet")
    suite = release_suite(
        this,
        report,
        source_rows=records.num_rows,
        source_types={field.name: str(field.type) for field in records.schema},
        source=str(folder / "source.parquet"),
    )
    return run_suite(table, suite)


def failed(document):
    return {result["expectation_type"] for result in document["results"] if not result["success"]}


@pytest.mark.parametrize("how", ["mean", "median", "mode", "interval"])
@pytest.mark.parametrize("suppressed", ["star", "drop"])
def test_a_good_release(tmp_path, how, suppressed):
    this = job(tmp_path, how, output={"path": str(tmp_path / "release"), "suppressed": suppressed})
    records = source()
    result = run(this, table=records)
    document = validated(tmp_path, this, result.table, result.published, records)
    assert document["success"], failed(document)
    assert {CODED, AGGREGATED} <= {one["expectation_type"] for one in document["results"]}


def test_persons_whose_coded_values_models_read(tmp_path):
    attributes = {"days": {"role": "identifying"}}
    this = job(tmp_path, attributes=attributes, subject="mrn")
    records = source()
    result = run(this, table=records)
    document = validated(tmp_path, this, result.table, result.published, records)
    assert document["success"], failed(document)


def test_a_local_recoding(tmp_path):
    this, records = job(tmp_path, transformation="local-recoding"), source()
    result = run(this, table=records)
    assert validated(tmp_path, this, result.table, result.published, records)["success"]


@pytest.mark.parametrize(
    ("name", "value", "expectation"),
    [("diagnosis", 5.1, CODED), ("diagnosis", 1.25, CODED), ("days", 60.5, CODED), ("days", 3.5, AGGREGATED)],
)
def test_a_changed_value_is_found(tmp_path, name, value, expectation):
    this, records = job(tmp_path), source()
    result = run(this, table=records)
    values = [*result.table[name].to_pylist()[:-1], value]
    place = result.table.column_names.index(name)
    wrong = result.table.set_column(place, name, pa.array(values, result.table.schema.field(name).type))
    document = validated(tmp_path, this, wrong, result.published, records)
    assert expectation in failed(document)
    assert str(value) not in str(document)


def test_numbers_as_text_are_found(tmp_path):
    this, records = job(tmp_path), source()
    result = run(this, table=records)
    place = result.table.column_names.index("diagnosis")
    wrong = result.table.set_column(place, "diagnosis", result.table["diagnosis"].cast(pa.string()))
    assert {CODED, build.SCHEMA} <= failed(validated(tmp_path, this, wrong, result.published, records))
