"""Columns that look like identifiers and would be released as they are."""

from __future__ import annotations

import pandas as pd
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
