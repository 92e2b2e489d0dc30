"""Pseudonyms and shifted dates: Great Expectations makes them again from the extracted source and the keys."""

from __future__ import annotations

import datetime as dt
import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import load_job, run
from tests.airflow_anon.expectations import build

REPLACED = "expect_replaced_columns"
KEY = hashlib.sha256(b"a key of one release").digest()
KEYS = {"attributes.mrn": KEY.hex(), "shift": KEY.hex()}


def source(seed=0):
    """Thirty persons of one age each, with a few records."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(30), rng.integers(1, 5, 30))
    seen = [dt.date(2026, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 90, owner.size)]
    return pa.table(
        {
            "mrn": pa.array(owner + 880000431000),
            "age": rng.choice(["y31", "y32", "y41", "y42"], 30)[owner],
            "zip": rng.choice(["z2138", "z2139", "z9021"], owner.size),
            "diagnosis": rng.choice(build.DIAGNOSES, owner.size),
            "days": pa.array(seen, pa.date32()),
        }
    )


def job(folder, **changes):
    plain = build.job(folder).document()
    attributes = {
        **plain["attributes"],
        "mrn": {"role": "identifying", "action": "pseudonymize", "accept": "linked-rows"},
        "days": {"role": "insensitive", "action": "shift"},
        **changes.pop("attributes", {}),
    }
    shift = {"days": 50, "weeks": True, "ages_on": "2026-11-23"}
    changes = {"attributes": attributes, "subject": "mrn", "shift": shift, "suppression_limit": 0.4, **changes}
    return build.job(folder, **changes)


def validated(folder, this, table, report, records, keys=KEYS):
    pq.write_table(records, folder / "source.parquet")
    suite = release_suite(
        this,
        report,
        source_rows=records.num_rows,
        source_types={field.name: str(field.type) for field in records.schema},
        source=str(folder / "source.parquet"),
        keys=keys,
    )
    return run_suite(table, suite)


def failed(document):
    return {result["expectation_type"] for result in document["results"] if not result["success"]}


@pytest.fixture
def made(tmp_path):
    this, records = job(tmp_path), source()
    return this, records, run(this, table=records, release_key=KEY)


@pytest.mark.parametrize("suppressed", ["star", "drop"])
@pytest.mark.parametrize("quasi", [False, True])
def test_a_good_release(tmp_path, suppressed, quasi):
    dates = {"role": "quasi-identifying", "action": "shift", "hierarchy": {"builder": "date", "levels": ["month"]}}
    this = job(
        tmp_path,
        output={"path": str(tmp_path / "release"), "suppressed": suppressed},
        attributes={"days": dates} if quasi else {},
    )
    records = source()
    result = run(this, table=records, release_key=KEY)
    document = validated(tmp_path, this, result.table, result.published, records)
    assert not failed(document)
    (judged,) = [one for one in document["results"] if one["expectation_type"] == REPLACED]
    assert KEY.hex() not in repr(document)
    assert judged["kwargs"]["pseudonymized"] == ["mrn"]
    assert judged["kwargs"]["shifted"] == ([] if quasi else ["days"])
    assert "mrn must show pseudonyms" in judged["description"]


def test_columns_may_have_the_names_of_those_beside_them(tmp_path):
    names = {"age": "value", "zip": "records", "diagnosis": "there"}
    plain = job(tmp_path).document()
    attributes = {names.get(name, name): entry for name, entry in plain["attributes"].items()}
    privacy = [{key: names.get(value, value) for key, value in model.items()} for model in plain["privacy"]]
    this = load_job({**plain, "attributes": attributes, "privacy": privacy})
    records = source()
    records = records.rename_columns([names.get(name, name) for name in records.column_names])
    result = run(this, table=records, release_key=KEY)
    assert failed(validated(tmp_path, this, result.table, result.report, records)) == set()


def test_a_date_before_all_others_is_left_out(tmp_path):
    """It is a placeholder of many systems, and some shifts lead to no date."""
    records = source()
    days = [dt.date(1, 1, 1) if place % 4 == 0 else day for place, day in enumerate(records["days"].to_pylist())]
    records = records.set_column(4, "days", pa.array(days, pa.date32()))
    this = job(tmp_path)
    result = run(this, table=records, release_key=KEY)
    assert result.table["days"].null_count
    assert failed(validated(tmp_path, this, result.table, result.report, records)) == set()


def test_dates_of_both_zeros_are_of_one_person(tmp_path):
    """Their dates move by the same days, as those of one number."""
    records = source()
    numbers = (records["mrn"].to_numpy() - 880000431000).astype(float)
    zeros = np.flatnonzero(numbers == 0)
    assert zeros.size > 1
    numbers[zeros[0]] = -0.0
    records = records.set_column(0, "mrn", pa.array(numbers))
    this = job(tmp_path, attributes={"mrn": {"role": "identifying"}})
    result = run(this, table=records, release_key=KEY)
    assert not failed(validated(tmp_path, this, result.table, result.published, records, {"shift": KEY.hex()}))


TAMPERED = [
    ("mrn", lambda values: values[::-1]),
    ("mrn", lambda values: ["880000431000", *values[1:]]),
    ("mrn", lambda values: [one and hashlib.sha256(one.encode()).hexdigest()[:32] for one in values]),
    ("mrn", lambda values: [one or "0" * 32 for one in values[:-1]] + ["1" * 32]),
    ("days", lambda values: [values[0] + dt.timedelta(days=1), *values[1:]]),
    ("days", lambda values: values[::-1]),
]


@pytest.mark.parametrize(("column", "change"), TAMPERED)
def test_other_pseudonyms_and_dates_are_found(tmp_path, made, column, change):
    this, records, result = made
    table = result.table
    values = pa.array(change(table[column].to_pylist()), table.schema.field(column).type)
    altered = table.set_column(table.column_names.index(column), column, values)
    assert failed(validated(tmp_path, this, altered, result.published, records)) == {REPLACED}


def test_the_wrong_key_is_found(tmp_path, made):
    this, records, result = made
    wrong = dict.fromkeys(KEYS, KEY[::-1].hex())
    assert REPLACED in failed(validated(tmp_path, this, result.table, result.published, records, wrong))


@pytest.mark.parametrize("lacking", sorted(KEYS))
def test_nothing_is_validated_without_a_key(tmp_path, made, lacking):
    this, records, result = made
    with pytest.raises(ValueError, match="keys: "):
        validated(
            tmp_path, this, result.table, result.published, records, {k: v for k, v in KEYS.items() if k != lacking}
        )


@pytest.mark.parametrize("day", [None, "soon", "2025-01-01"])
def test_the_day_of_ages_is_that_of_the_job(tmp_path, made, day):
    this, records, result = made
    report = {**result.published, "shift": {**result.published["shift"], "ages_on": day}}
    with pytest.raises(ValueError, match=r"shift\.ages_on"):
        validated(tmp_path, this, result.table, report, records)


def test_a_raw_identifying_column_is_refused_as_before(tmp_path, made):
    """A pseudonymized column is released by its name; the type of the source's is not."""
    this, records, result = made
    table = result.table.set_column(0, "mrn", pa.array([1] * result.table.num_rows))
    assert {REPLACED, build.SCHEMA} <= failed(validated(tmp_path, this, table, result.published, records))
