"""A day that many records have, in a column of shifted dates: a placeholder tells the shift of whoever has it."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from engine import run


def warned(days, missing=()):
    rows = len(days)
    table = pa.table({"mrn": [str(one // 2) for one in range(rows)], "age": ["30", "40"] * (rows // 2), "seen": days})
    job = {
        "name": "visits",
        "subject": "mrn",
        "attributes": {
            "mrn": {"role": "identifying"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
            "seen": {"role": "insensitive", "action": "shift", "accept": "unique", "missing": list(missing)},
        },
        "shift": {"days": 90, "ages_on": "2026-11-23"},
        "privacy": [{"model": "k-anonymity", "k": 5}],
    }
    report = run(job, table=table).report
    kinds = [(one["kind"], one["column"]) for one in report["lint"]["findings"]]
    assert (("frequent-day", "seen") in kinds) is any("the same day;" in text for text in report["warnings"])
    return ("frequent-day", "seen") in kinds


def days(number, placeholder):
    first = dt.date(2025, 1, 1)
    found = [first + dt.timedelta(days=one) for one in range(number)]
    return [dt.date(1970, 1, 1) if one < placeholder else day for one, day in enumerate(found)]


@pytest.mark.parametrize(("placeholder", "found"), [(0, False), (19, False), (20, True), (80, True)])
def test_a_tenth_of_the_records_is_warned_of(placeholder, found):
    assert warned(days(200, placeholder)) is found


def test_few_records_are_not_judged():
    assert not warned(days(98, 50))


def test_a_day_with_different_times_is_one_day_in_every_type():
    texts = [f"{day}T08:{one % 60:02}" for one, day in enumerate(days(200, 30))]
    assert warned(texts)
    assert warned(pa.array(texts).cast(pa.timestamp("s")))
    assert warned(pa.array(texts).dictionary_encode())


def test_what_the_job_names_as_missing_is_no_day():
    texts = [day.isoformat() for day in days(200, 150)]
    assert warned(texts)
    assert not warned(texts, ["1970-01-01"])
