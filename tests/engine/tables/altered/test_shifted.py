"""Dates shifted per person: intervals, ranges, weekdays, types; three implementations that share no code agree."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_anon.expectations.person_keys import key_for
from airflow_anon.expectations.shifted import with_shifted_dates
from engine import InvalidData, load_job
from engine.tables.altered.shifted import Shift, ShiftedTable, shift_key
from engine.tables.sources.source import ArrowTable
from engine.verification.records.replaced import ShiftedSource
from tests.profiles import examples
from tests.reference import pseudonyms as reference

SECRET = b"0123456789abcdef0123456789abcdef"
TODAY = dt.date(2026, 11, 23)
MOMENTS = st.datetimes(*(dt.datetime.fromisoformat(day) for day in ("1937-01-01", "2036-12-31")))
TYPES = {
    "date32": pa.date32(),
    "date64": pa.date64(),
    "s": pa.timestamp("s"),
    "us": pa.timestamp("us"),
    "ns": pa.timestamp("ns"),
    "zone": pa.timestamp("us", "America/New_York"),
    "text": pa.string(),
    "large": pa.large_string(),
}


def columns(moments):
    """Return the same moments as columns of each type."""
    whole = pa.array([None if one is None else one.replace(microsecond=0) for one in moments], pa.timestamp("us"))
    days = whole.cast(pa.date32())
    found = {name: days.cast(kind) for name, kind in TYPES.items() if name.startswith("date")}
    for name in ("s", "us", "ns"):
        found[name] = whole.cast(TYPES[name])
    found["zone"] = whole.view(pa.int64()).cast(TYPES["zone"])
    found["text"], found["large"] = whole.cast(pa.string()), days.cast(pa.string()).cast(pa.large_string())
    return found


def settings_of(days=30, *, weeks=False, old=True):
    return Shift(days, weeks, TODAY, old, shift_key(SECRET, "visits"))


def shifted(table, dates, shift=None, missing=()):
    made = ShiftedTable(ArrowTable(table), "mrn", dict.fromkeys(dates, frozenset(missing)), shift or settings_of())
    batches = list(made.batches(["mrn", *dates]))
    assert made.schema.field(dates[0]).type == batches[0].column(1).type
    return pa.Table.from_batches(batches)


def days_between(table, name, other):
    """Return the days from one column to another one, by what Arrow makes of their texts."""
    first, second = (
        [text and dt.date.fromisoformat(text[:10]) for text in _texts(one[name])] for one in (table, other)
    )
    return [None if a is None else (b - a).days for a, b in zip(first, second, strict=True)]


def _texts(column):
    zone = pa.types.is_timestamp(column.type) and column.type.tz
    return (column.cast(pa.timestamp("us", "UTC")) if zone else column).cast(pa.string()).to_pylist()


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "Zoë", "7"]), MOMENTS | st.none()), min_size=1, max_size=12),
    st.integers(7, 3650),
    st.booleans(),
)
def test_each_person_has_one_shift_in_range_in_columns_of_all_types(records, days, weeks):
    persons, moments = zip(*records, strict=True)
    table = pa.table({"mrn": pa.array(persons), **columns(moments)})
    found = shifted(table, list(TYPES), settings_of(days, weeks=weeks))
    for name, kind in TYPES.items():
        assert found.schema.field(name).type == kind
        moved = days_between(table, name, found)
        expected = [reference.shift(SECRET, "visits", person, days, weeks=weeks) for person in persons]
        assert moved == [None if one is None else by for one, by in zip(moments, expected, strict=True)]
        assert all(by is None or (by != 0 and abs(by) <= days) for by in moved)
        if weeks:
            assert all(by is None or by % 7 == 0 for by in moved)
    for name in ("s", "us", "ns", "zone"):  # times of day stay, and intervals to the second
        own, new = (
            pc.cast(one[name].combine_chunks(), pa.timestamp("us", table.schema.field(name).type.tz))
            for one in (table, found)
        )
        seconds = pc.divide(pc.subtract(new.view(pa.int64()), own.view(pa.int64())), 10**6).to_pylist()
        assert all(one is None or one % 86_400 == 0 for one in seconds)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", " c"]),
            st.datetimes(*(dt.datetime.fromisoformat(day) for day in ("1930-01-01", "2036-01-01"))) | st.none(),
        ),
        min_size=1,
        max_size=9,
    ),
    st.booleans(),
    st.booleans(),
)
def test_the_two_judges_shift_alike(records, weeks, old):
    persons, moments = zip(*records, strict=True)
    table = pa.table({"mrn": pa.array(persons), **columns(moments)})
    keep = "leave-out" if old else "keep"
    job = load_job(
        {
            "name": "visits",
            "subject": "mrn",
            "attributes": {
                "mrn": {"role": "identifying"},
                "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
                **{name: {"role": "insensitive", "action": "shift"} for name in TYPES},
            },
            "shift": {"days": 400, "weeks": weeks, "ages_over_89": keep},
            "privacy": [{"model": "k-anonymity", "k": 5}],
        }
    )
    found = shifted(table, list(TYPES), settings_of(400, weeks=weeks, old=old))
    source = ShiftedSource(job, ArrowTable(table), SECRET, TODAY.isoformat())
    assert pa.Table.from_batches(source.batches(["mrn", *TYPES])).equals(found)
    shift = {
        "subject": "mrn",
        "missing": {name: [] for name in TYPES},
        "days": 400,
        "weeks": weeks,
        "last_year": TODAY.year - 90 if old else 0,
        "key": key_for(SECRET.hex(), "shift", "visits").hex(),
    }
    assert with_shifted_dates(table, shift).to_pylist() == found.to_pylist()


def test_dates_that_tell_an_age_over_89_are_left_out_unless_they_are_kept():
    """By the year, as Safe Harbor's rule does: whoever was born in 1936 may be 90 in 2026."""
    table = pa.table({"mrn": ["a"] * 4, "born": ["1899-05-01", "1936-12-31", "1937-01-01", "2020-02-29"]})
    found = shifted(table, ["born"])["born"].to_pylist()
    assert [one is None for one in found] == [True, True, False, False]
    kept = shifted(table, ["born"], settings_of(old=False))["born"].to_pylist()
    assert None not in kept
    assert kept[2:] == found[2:]


def test_a_placeholder_in_the_future_is_refused_whatever_the_shift_and_can_be_named():
    """Shifted, 9999-12-31 would tell by how much all dates of its person are."""
    table = pa.table({"mrn": ["a", "a", "b"], "ended": ["2020-01-01", "2099-12-31", "9999-12-31"]})
    for weeks in (False, True):
        with pytest.raises(InvalidData, match=r"'ended': has a date of a year after 2036 in 2 of its records") as told:
            shifted(table, ["ended"], settings_of(3650, weeks=weeks))
        assert "2099" not in str(told.value)
    found = shifted(table, ["ended"], missing=["2099-12-31", "9999-12-31"])["ended"].to_pylist()
    assert found[1:] == [None, None]
    assert found[0] is not None


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["0001-01-05"]),
        pa.array([dt.date(1, 1, 5)]),
        pa.array([-(2**63) + 10**9], pa.timestamp("ns")),
        pa.array(["0001-01-05"]).cast(pa.timestamp("us")),
    ],
)
def test_a_date_that_a_shift_could_move_out_of_its_type_is_refused(column):
    """Whatever the person's own shift is, so that the refusal tells nothing of it."""
    table = pa.table({"mrn": ["a"], "seen": column})
    with pytest.raises(InvalidData, match="'seen': has a date so long ago in 1 of its records that a shift by 30 days"):
        shifted(table, ["seen"], settings_of(old=False))
    assert shifted(table, ["seen"])["seen"].to_pylist() == [None]


@pytest.mark.parametrize("text", ["2020-13-01", "01.02.2020", "2020", "", " ", "2020-02-30", "2020-01-01T25:00"])
def test_a_text_that_is_no_date_is_refused_without_being_quoted(text):
    with pytest.raises(InvalidData, match=r"'seen': has no date such as .* in 1 of its records") as told:
        shifted(pa.table({"mrn": ["a", "b"], "seen": ["2020-01-01", text]}), ["seen"])
    assert not text.strip() or text not in str(told.value).replace("2026-03-01T08:30", "")
    assert shifted(pa.table({"mrn": ["a"], "seen": [text]}), ["seen"], missing=[text])["seen"].to_pylist() == [None]


@pytest.mark.parametrize("column", [pa.array([20200101]), pa.array([1.5]), pa.array([dt.time(8)])])
def test_a_column_without_dates_is_refused(column):
    with pytest.raises(InvalidData, match="and action: shift needs dates"):
        shifted(pa.table({"mrn": ["a"], "seen": column}), ["seen"])


def test_dates_of_nobody_are_missing():
    found = shifted(pa.table({"mrn": [None, " ", "a"], "seen": [dt.date(2020, 1, 1)] * 3}), ["seen"])
    assert [one is None for one in found["seen"].to_pylist()] == [True, True, False]


def test_shifts_are_spread_evenly_and_never_zero():
    """Chi-squared of 60 cells below its 99.99% point, 109."""
    shift = settings_of(30)
    found = [shift.of_person(str(person)) for person in range(30_000)]
    counts = {by: found.count(by) for by in set(found)}
    assert set(counts) == {by for by in range(-30, 31) if by}
    assert sum((count - 500) ** 2 / 500 for count in counts.values()) < 109
