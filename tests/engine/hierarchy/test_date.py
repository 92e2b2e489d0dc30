"""Dates: calendar units, ISO weeks apart from them."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidJob

UNITS = ["day", "month", "quarter", "year", "5-years", "decade"]


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        ("2026-03-01", ("2026-03-01", "2026-03", "2026-Q1", "2026", "2025-2029", "2020-2029")),
        ("2026-04-01 12:00:00", ("2026-04-01", "2026-04", "2026-Q2", "2026", "2025-2029", "2020-2029")),
        ("1999-12-31T23:59:59.999Z", ("1999-12-31", "1999-12", "1999-Q4", "1999", "1995-1999", "1990-1999")),
        ("2024-02-29 00:00:00.000000+0100", ("2024-02-29", "2024-02", "2024-Q1", "2024", "2020-2024", "2020-2029")),
        ("0001-01-01", ("0001-01-01", "0001-01", "0001-Q1", "0001", "0000-0004", "0000-0009")),
        ("9999-12-31", ("9999-12-31", "9999-12", "9999-Q4", "9999", "9995-9999", "9990-9999")),
    ],
)
def test_calendar_units(build, rows_of, value, labels):
    assert rows_of(build(builder="date", levels=UNITS), [value]) == [(value, *labels, "*")]


@pytest.mark.parametrize(
    ("value", "week"),
    [("2021-01-03", "2020-W53"), ("2021-01-04", "2021-W01"), ("2024-12-30", "2025-W01"), ("9999-12-31", "9999-W52")],
)
def test_iso_weeks_belong_to_the_year_of_their_thursday(build, rows_of, value, week):
    assert rows_of(build(builder="date", levels=["day", "week"]), [value]) == [(value, value, week, "*")]


def test_default_levels(build, rows_of):
    assert rows_of(build(builder="date"), ["2026-08-09"]) == [
        ("2026-08-09", "2026-08", "2026-Q3", "2026", "2020-2029", "*")
    ]


@given(days=st.lists(st.dates(), unique=True))
def test_a_label_names_the_unit_that_holds_the_day(build, rows_of, days):
    builder = build(builder="date", levels=UNITS)
    rows = rows_of(builder, [day.isoformat() for day in days])
    assert len(rows) == len(days)
    for day, row in zip(days, rows, strict=True):
        _, _, month, quarter, year, lustrum, decade, _ = row
        assert month == day.strftime("%Y").zfill(4) + day.strftime("-%m")
        assert int(quarter[-1]) * 3 - 2 <= day.month <= int(quarter[-1]) * 3
        assert int(year) == day.year
        for label, count in ((lustrum, 5), (decade, 10)):
            first, last = map(int, label.split("-"))
            assert first <= day.year <= last == first + count - 1
            assert first % count == 0


@given(days=st.lists(st.dates(), unique=True))
def test_days_of_one_week_lie_from_monday_to_sunday(build, rows_of, days):
    for value, week, _ in rows_of(build(builder="date", levels=["week"]), [day.isoformat() for day in days]):
        monday = dt.datetime.strptime(f"{week}-1", "%G-W%V-%u").replace(tzinfo=dt.timezone.utc).date()
        assert 0 <= (dt.date.fromisoformat(value) - monday).days < 7


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-3-1",
        "2026-02-30",
        "2026-13-01",
        "0000-01-01",
        "20260301",
        "2026-03",
        "01.03.2026",
        "2026-03-01 ",
        "*",
        "2026-03-01\n",
        "2026-03-01 24:00:00",
        "2026-03-01 12",
        "2026-03-01T12:00:00Zx",
        "٢٠٢٦-03-01",
        "2026-W09-7",
    ],
)
def test_what_is_no_date_has_no_row(build, text):
    builder = build(builder="date")
    assert builder.rows([text]) == []
    assert not builder.is_label(text, 0)


@pytest.mark.parametrize(
    ("unit", "good", "bad"),
    [
        ("day", "2026-03-01", ["2026-03-01 12:00:00", "2026-02-29", "2026-03"]),
        ("week", "2026-W53", ["2025-W53", "2026-W00", "2026-W54", "2026-W9", "2026-09"]),
        ("month", "2026-03", ["2026-00", "2026-13", "2026-3", "2026-03-01", "2026", "0000-01"]),
        ("quarter", "2026-Q4", ["2026-Q0", "2026-Q5", "2026-4", "2026"]),
        ("year", "2026", ["26", "0000", "02026", "2026 ", "2026-03"]),
        ("5-years", "2025-2029", ["2026-2030", "2025-2030", "2020-2029", "2025-2028", "2025", "9999-10003"]),
        ("decade", "2020-2029", ["2025-2029", "2021-2030", "2020-2028", "2020"]),
    ],
)
def test_labels_are_told_apart(build, unit, good, bad):
    builder = build(builder="date", levels=[unit])
    assert builder.is_label(good, 1)
    assert [text for text in [*bad, "*", "", "garbage"] if builder.is_label(text, 1)] == []
    assert builder.is_label("*", 2)
    assert not builder.is_label(good, 2)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([], r"levels.*at least 1"),
        (["year", "month"], r"levels\.1 is 'month'; it must be coarser than 'year', in the order day, week, month"),
        (["year", "year"], r"levels\.1 is 'year'; it must be coarser"),
        (["week", "month"], r"levels: a week can lie in two months"),
        (["day", "week", "year"], r"levels: a week can lie in two months"),
        (["century"], r"levels\.0.*'day', 'week', 'month'"),
    ],
)
def test_a_bad_job_is_refused_by_key(build, levels, message):
    with pytest.raises(InvalidJob, match=message):
        build(builder="date", levels=levels)


FORMATS = {
    "YYYY-MM-DD": ("2026-03-05", "2026-3-05"),
    "YYYYMMDD": ("20260305", "2026305"),
    "YYYY/MM/DD": ("2026/3/5", "05/03/2026"),
    "DD.MM.YYYY": ("5.3.2026", "31.02.2026"),
    "DD/MM/YYYY": ("05/03/2026", "05/13/2026"),
    "DD-MM-YYYY": ("05-03-2026", "2026-03-05"),
    "MM/DD/YYYY": ("03/05/2026", "13/05/2026"),
    "DDMonYYYY": ("05MAR2026", "05MRZ2026"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_of_values_gives_labels_in_iso_8601(build, rows_of, name):
    date, none = FORMATS[name]
    builder = build(builder="date", format=name, levels=["day", "month", "year"])
    found = rows_of(builder, [date, f"{date} 23:59:59", none])
    assert [row[1:] for row in found] == [("2026-03-05", "2026-03", "2026", "*")] * 2
    assert rows_of(builder, builder.example()[:1])


def test_the_day_or_the_month_comes_first_as_the_format_says(build, rows_of):
    first = {
        name: rows_of(build(builder="date", format=name), ["01/02/2026"])[0][1] for name in ("DD/MM/YYYY", "MM/DD/YYYY")
    }
    assert first == {"DD/MM/YYYY": "2026-02", "MM/DD/YYYY": "2026-01"}


def test_an_unknown_format_is_told_the_known_ones(build):
    with pytest.raises(InvalidJob, match=r"format: .*'YYYY-MM-DD'"):
        build(builder="date", format="%d.%m.%Y")
