"""Columns that look like identifiers and would be released as they are."""

from __future__ import annotations

import uuid

import pandas as pd
import pyarrow as pa
import pytest

from engine import InvalidData, run

ROWS = 60
JOB = {
    "name": "visits",
    "attributes": {"sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}},
    "privacy": [{"model": "k-anonymity", "k": 2}],
}


def ran(name, values, **settings):
    attribute = {"role": "insensitive", **settings}
    job = {**JOB, "attributes": {**JOB["attributes"], name: attribute}}
    table = pd.DataFrame({"sex": ["f", "m"] * (ROWS // 2), name: [values[row % len(values)] for row in range(ROWS)]})
    return run(job, table=table)


MAILS = [f"a{number}@example.org" for number in range(9)]
CASES = {
    "by values": ("contact", MAILS, {}, "'contact': looks like e-mail addresses"),
    "by name": ("ssn", ["1", "2", "3"], {}, "'ssn': looks like social security"),
    "a sensitive one": ("contact", MAILS, {"role": "sensitive"}, "sensitive column 'contact'"),
    "a date of birth": ("dob", ["1950", "1960"], {}, "'dob': looks like dates of birth"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused(case):
    name, values, settings, text = CASES[case]
    with pytest.raises(InvalidData, match=text) as refused:
        ran(name, values, **settings)
    assert "example.org" not in str(refused.value)
    assert "accept: unique" in str(refused.value)


def test_it_is_released_if_the_job_accepts_it():
    assert ran("contact", MAILS, accept="unique").table.num_rows == ROWS


def test_a_note_is_judged_by_how_unique_it_is():
    assert ran("visit_note", ["calm", "tired", "angry"]).table.num_rows == ROWS


def test_a_column_of_nothing_but_missing_values_is_looked_at_by_its_name_alone():
    assert ran("x", [None]).table.num_rows == ROWS


UUIDS = [uuid.UUID(int=number + 2**80) for number in range(9)]
WITHIN = {
    "a list": (pa.array([[text] for text in MAILS]), "e-mail addresses"),
    "a map": (pa.array([[("work", text)] for text in MAILS], pa.map_(pa.string(), pa.string())), "e-mail addresses"),
    "a list of structs": (pa.array([[{"use": "work", "at": text}] for text in MAILS]), "e-mail addresses"),
    "a dictionary of bytes": (pa.array([text.encode() for text in MAILS]).dictionary_encode(), "e-mail addresses"),
    "bytes of one length": (pa.array([text.encode() for text in MAILS], pa.binary(14)), "e-mail addresses"),
    "a part by its name": (pa.array([{"ssn": number} for number in range(2)] * 5)[:9], "social security"),
    "UUIDs": (pa.array([one.bytes for one in UUIDS], pa.uuid()), "numbers of a"),
}


@pytest.mark.parametrize("case", WITHIN)
def test_it_is_found_within_nested_values_and_bytes(case):
    values, told = WITHIN[case]
    table = pa.table({"sex": ["f", "m"] * 18, "x": pa.chunked_array([values] * 4)})
    job = {**JOB, "attributes": {**JOB["attributes"], "x": {"role": "insensitive"}}}
    with pytest.raises(InvalidData, match=f"insensitive column 'x': looks like {told}"):
        run(job, table=table)
    job["attributes"]["x"]["accept"] = "unique"
    assert run(job, table=table).table.column("x").type == values.type or pa.types.is_dictionary(values.type)


def test_values_within_others_that_are_no_identifiers_are_released():
    values = [{"code": "I10", "at": b"\xff\x00"}, {"code": None, "at": None}, {"code": "J45", "at": b"text"}]
    table = pa.table({"sex": ["f", "m"] * 9, "x": pa.array(values * 6)})
    job = {**JOB, "attributes": {**JOB["attributes"], "x": {"role": "insensitive"}}}
    assert run(job, table=table).table.num_rows == 18


def test_times_of_a_zone_that_is_not_known_are_refused():
    job = {**JOB, "attributes": {**JOB["attributes"], "x": {"role": "insensitive"}}}
    for kind in (pa.timestamp("us", "Mars/Phobos"), pa.list_(pa.timestamp("us", "Mars/Phobos"))):
        values = [[1], [2]] if pa.types.is_list(kind) else [1, 2]
        table = pa.table({"sex": ["f", "m"] * 9, "x": pa.array(values * 9, kind)})
        with pytest.raises(InvalidData, match=r"column 'x': .*(convert it|not known here)"):
            run(job, table=table)
