"""The order of sensitive values by their type."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidData
from engine.tables.counting.ranks import ranks


def ordered(values, order):
    """Return the values in the order of their ranks, after checking that these are a permutation."""
    found = ranks("s", values, order)
    assert sorted(found) == list(range(len(values)))
    return [value for _, value in sorted(zip(found, values, strict=True), key=lambda pair: pair[0])]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("text", [None, "", "10", "9", "B", "a", "ä"]),
        ("integer", [None, "-3", "0", "9", "10", "100000000000000000000"]),
        ("decimal", [None, "-1e3", "-0.1", "0.00000000000000000001", "0.9", "1E1", "11"]),
        ("date", [None, "1999-12-31", "2000-01-01", "2000-01-01T00:00:01", "2010-01-01"]),
        # in UTC 23:30 of the day before, 00:00 and 00:30: a moment without an offset is taken as UTC
        ("date", ["2026-01-01T00:30:00+01:00", "2026-01-01T00:00:00", "2025-12-31T23:30:00-01:00"]),
        ("date", ["0001-01-01T00:00:00+10:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-10:00"]),
    ],
)
def test_by_hand(order, expected):
    assert ordered(expected[::-1], order) == expected


def test_equal_values_are_ordered_by_their_text():
    # each spelling is a value of its own: what counts is that the order does not depend on the records
    assert ordered(["1", "01", "001"], "integer") == ["001", "01", "1"]
    assert ordered(["1.0", "1", "1.00"], "decimal") == ["1", "1.0", "1.00"]


@given(st.lists(st.none() | st.integers(), unique=True), st.randoms())
def test_integers(numbers, random):
    values = [None if number is None else str(number) for number in numbers]
    expected = [None] * (None in numbers) + [str(n) for n in sorted(n for n in numbers if n is not None)]
    random.shuffle(values)
    assert ordered(values, "integer") == expected


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False), unique=True))
def test_decimals(numbers):
    values = list(dict.fromkeys(map(str, numbers)))
    assert list(map(Decimal, ordered(values, "decimal"))) == sorted(map(Decimal, values))


@given(st.lists(st.datetimes(timezones=st.timezones() | st.none()), unique_by=str))
def test_moments(moments):
    values = [moment.isoformat() for moment in moments]
    found = [dt.datetime.fromisoformat(value) for value in ordered(list(dict.fromkeys(values)), "date")]
    found = [moment if moment.tzinfo else moment.replace(tzinfo=dt.timezone.utc) for moment in found]
    assert all(not later < earlier for earlier, later in itertools.pairwise(found))


@pytest.mark.parametrize(
    ("order", "wrong"),
    [("integer", ["1.5", "one"]), ("decimal", ["NaN", "inf", "sNaN", "1,5"]), ("date", ["31.12.2000", "2026-02-30"])],
)
def test_values_of_another_type_are_counted_and_not_named(order, wrong):
    good = {"integer": "7", "decimal": "7.5", "date": "2026-01-01"}[order]
    with pytest.raises(InvalidData) as problem:
        ranks("stage", [good, None, *wrong], order)
    text = str(problem.value)
    assert text.startswith(f"column 'stage': distinct values that are no {order}: {len(wrong)}; correct them")
    assert "attributes.stage.order" in text
    assert not any(value in text for value in wrong)
