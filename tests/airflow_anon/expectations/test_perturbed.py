"""Noise, randomized categories and groups: Great Expectations draws them again from the staged source and the key."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import run
from engine.pipeline import perturbed
from tests.airflow_anon.expectations import build

KEY = hashlib.sha256(b"drawn").digest()
DRAWN = "expect_drawn_values"
GROUPED = "expect_groups_of_alike_records"


def source(rows=80, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "mrn": pa.array(rng.integers(0, 30, rows) + 880000431000),
            "age": rng.choice(["y31", "y32", "y41", "y42"], rows),
            "zip": rng.choice(["z2138", "z2139", "z9021"], rows),
            "diagnosis": rng.choice(["E1", "E2", "F3"], rows),
            "cost": rng.normal(500, 200, rows).round(2),
            "days": pa.array(rng.integers(0, 90, rows), pa.int16(), mask=rng.random(rows) < 0.1),
            "height": rng.normal(170, 10, rows),
            "weight": rng.normal(75, 12, rows),
        }
    )


def job(folder, **changes):
    attributes = {
        **build.job(folder).document()["attributes"],
        "diagnosis": {"role": "sensitive", "pram": {"pd": 0.5, "alpha": 1}},
        "cost": {"role": "insensitive", "noise": {"percent": 40}, "accept": "unique"},
        "days": {"role": "sensitive", "noise": {"percent": 40}},
        "height": {"role": "insensitive", "microaggregation": "mdav"},
        "weight": {"role": "insensitive", "microaggregation": "mdav"},
    }
    settings = {"unit": "record", "suppression_limit": 0.4, "privacy": [{"model": "k-anonymity", "k": 3}]}
    return build.job(folder, attributes=attributes, **{**settings, **changes})


def validated(folder, this, table, report, records, key=KEY):
    pq.write_table(records, folder / "source.parquet")
    suite = release_suite(
        this,
        report,
        source_rows=records.num_rows,
        source_types={field.name: str(field.type) for field in records.schema},
        source=str(folder / "source.parquet"),
        rows_key=key.hex(),
    )
    return run_suite(table, suite)


def failed(document):
    return {result["expectation_type"] for result in document["results"] if not result["success"]}


@pytest.mark.parametrize(
    "changes",
    [{}, {"sample": {"fraction": 0.8}}, {"output": {"path": "release", "suppressed": "drop"}}],
    ids=["whole", "sample", "drop"],
)
def test_a_good_release(tmp_path, changes):
    this, records = job(tmp_path, **changes), source()
    result = run(this, table=records, rows_key=KEY, output=tmp_path / "release")
    document = validated(tmp_path, this, result.table, result.published, records)
    assert document["success"], failed(document)
    assert {DRAWN, GROUPED} <= {one["expectation_type"] for one in document["results"]}
    assert KEY.hex() not in str(document)


@pytest.mark.parametrize(
    ("name", "change", "expectation"),
    [
        ("cost", lambda values: [*values[:-1], 99_999.5], DRAWN),
        ("days", lambda values: [None if value == max(filter(None, values)) else value for value in values], DRAWN),
        ("diagnosis", lambda values: ["F3"] * len(values), DRAWN),
        ("height", lambda values: [*values[:-1], 99_999.5], GROUPED),
    ],
)
def test_a_changed_value_is_found(tmp_path, name, change, expectation):
    this, records = job(tmp_path), source()
    result = run(this, table=records, rows_key=KEY)
    values = change(result.table[name].to_pylist())
    place = result.table.column_names.index(name)
    wrong = result.table.set_column(place, name, pa.array(values, result.table.schema.field(name).type))
    document = validated(tmp_path, this, wrong, result.published, records)
    assert expectation in failed(document)
    assert "99999.5" not in str(document)


@pytest.mark.parametrize("changes", [{}, {"sample": {"fraction": 0.9}}])
def test_draws_by_the_values_of_all_records_are_found(tmp_path, monkeypatch, changes):
    records = source()
    records = records.filter(pc.not_equal(records["zip"], "z9021"))
    for name, own in {"zip": ["z9021"] * 2, "cost": [9e9, -9e9], "diagnosis": ["G9"] * 2}.items():
        column = pa.array([*own, *records[name].to_pylist()[2:]])
        records = records.set_column(records.column_names.index(name), name, column)
    this = job(tmp_path, output={"path": str(tmp_path / "release"), "suppressed": "drop"}, **changes)
    good = run(this, table=records, rows_key=KEY)
    assert good.report["suppressed_class"]["form"] == "drop"
    assert "z9021" not in good.table["zip"].to_pylist()
    document = validated(tmp_path, this, good.table, good.published, records)
    assert document["success"], failed(document)
    monkeypatch.setattr(perturbed._Released, "batches", lambda self, columns: self._records.batches(columns))
    monkeypatch.setattr("engine.pipeline.verified._verify", lambda *_: [])
    wrong = run(this, table=records, rows_key=KEY)
    document = validated(tmp_path, this, wrong.table, wrong.published, records)
    wrong = [one for one in document["results"] if one["expectation_type"] == DRAWN and not one["success"]]
    assert {"cost", "diagnosis"} <= {one["column"] for one in wrong}


def test_values_of_the_source_and_another_key_are_found(tmp_path):
    this, records = job(tmp_path, suppression_limit=0.0), source()
    result = run(this, table=records, rows_key=KEY)
    place = result.table.column_names.index("cost")
    plain = result.table.set_column(place, "cost", records["cost"])
    assert DRAWN in failed(validated(tmp_path, this, plain, result.published, records))
    assert DRAWN in failed(validated(tmp_path, this, result.table, result.published, records, key=bytes(32)))
