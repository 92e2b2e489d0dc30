"""Dates: `2026-03-01`, `2026-03`, `2026-Q1`, `2026`, `2020-2029`, `*`.

Labels are written in ISO 8601, whatever the format of the values. A timestamp is read as its day; the level `day`
removes its time. No unit can follow ISO weeks: a week can lie in two
months, quarters and years.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.hierarchy.builder import SUPPRESSED, Extent, HierarchyBuilder, Row
from engine.hierarchy.nesting import check_coarser

Unit = Literal["day", "week", "month", "quarter", "year", "5-years", "decade"]

UNITS: tuple[Unit, ...] = ("day", "week", "month", "quarter", "year", "5-years", "decade")
"""Finest first."""

Format = Literal[
    "YYYY-MM-DD", "YYYYMMDD", "YYYY/MM/DD", "DD.MM.YYYY", "DD/MM/YYYY", "DD-MM-YYYY", "MM/DD/YYYY", "DDMonYYYY"
]

_TIME = r"(?:[ T](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
_YEAR, _MONTH, _DAY = r"(?P<year>[0-9]{4})", r"(?P<month>[0-9]{1,2})", r"(?P<day>[0-9]{1,2})"
_TWO_MONTH, _TWO_DAY = r"(?P<month>[0-9]{2})", r"(?P<day>[0-9]{2})"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WRITTEN: dict[Format, str] = {
    "YYYY-MM-DD": f"{_YEAR}-{_TWO_MONTH}-{_TWO_DAY}",
    "YYYYMMDD": f"{_YEAR}{_TWO_MONTH}{_TWO_DAY}",
    "YYYY/MM/DD": f"{_YEAR}/{_MONTH}/{_DAY}",
    "DD.MM.YYYY": rf"{_DAY}\.{_MONTH}\.{_YEAR}",
    "DD/MM/YYYY": f"{_DAY}/{_MONTH}/{_YEAR}",
    "DD-MM-YYYY": f"{_DAY}-{_MONTH}-{_YEAR}",
    "MM/DD/YYYY": f"{_MONTH}/{_DAY}/{_YEAR}",
    "DDMonYYYY": f"{_DAY}(?P<month>[A-Za-z]{{3}}){_YEAR}",
}
_PATTERNS = {name: re.compile(pattern + _TIME) for name, pattern in _WRITTEN.items()}


class Date(HierarchyBuilder):
    """Calendar units, coarser from level to level."""

    notation: ClassVar[str] = (
        "2026-03 stands for a month, 2026-Q1 for a quarter, 2026-W09 for a week by ISO 8601, and 2020-2029 for years "
        "from the first to the last, both included"
    )

    builder: Literal["date"] = "date"
    format: Format = Field(
        default="YYYY-MM-DD",
        description="How the values are written; a time of day may follow. DDMonYYYY is 05MAR2026.",
    )
    levels: tuple[Unit, ...] = Field(
        default=("month", "quarter", "year", "decade"),
        min_length=1,
        description="Calendar unit of level 1, 2, ..., each coarser than the one before; week can only be the last.",
    )

    @model_validator(mode="after")
    def _nested(self) -> Self:
        check_coarser(self.levels, UNITS)
        if "week" in self.levels[:-1]:
            raise ValueError(
                "levels: a week can lie in two months, quarters and years; make it the last level, or leave it out"
            )
        return self

    @property
    def level_count(self) -> int:
        """The value, one level per unit, `*`."""
        return len(self.levels) + 2

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each date or timestamp among `values`."""
        days = ((value, self._day(value)) for value in values)
        return [
            (value, *(_WRITE[unit](day) for unit in self.levels), SUPPRESSED) for value, day in days if day is not None
        ]

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return f"dates that are written {self.format} (format: takes other forms)"

    @property
    def example_value(self) -> str:
        """A day."""
        return _EXAMPLES[self.format]

    def is_label(self, label: str, level: int) -> bool:
        """Read the label as a unit of its level, and compare it with that unit written again."""
        if level == 0:
            return self._day(label) is not None
        if level == self.level_count - 1:
            return label == SUPPRESSED
        unit = self.levels[level - 1]
        day = _member(unit, label)
        return day is not None and _WRITE[unit](day) == label

    def _extent(self, label: str, level: int) -> Extent | None:
        """Return the first day of a unit and the first one after it, or a date."""
        unit = "day" if level == 0 else self.levels[level - 1]
        day = self._day(label) if level == 0 else _member(unit, label)
        if day is None or unit == "day":
            return day, day
        return _extent(unit, day)

    def _day(self, text: str) -> dt.date | None:
        match = _PATTERNS[self.format].fullmatch(text)
        if match is None:
            return None
        month = match["month"].lower()
        try:
            number = _MONTHS.index(month) + 1 if month.isalpha() else int(month)
            return dt.date(int(match["year"]), number, int(match["day"]))
        except ValueError:
            return None


_EXAMPLES: dict[Format, str] = {
    "YYYY-MM-DD": "2020-05-17",
    "YYYYMMDD": "20200517",
    "YYYY/MM/DD": "2020/05/17",
    "DD.MM.YYYY": "17.05.2020",
    "DD/MM/YYYY": "17/05/2020",
    "DD-MM-YYYY": "17-05-2020",
    "MM/DD/YYYY": "05/17/2020",
    "DDMonYYYY": "17MAY2020",
}


def _week(day: dt.date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


def _years(count: int) -> Callable[[dt.date], str]:
    def write(day: dt.date) -> str:
        first = day.year - day.year % count
        return f"{first:04}-{first + count - 1:04}"

    return write


_WRITE: dict[Unit, Callable[[dt.date], str]] = {
    "day": dt.date.isoformat,
    "week": _week,
    "month": lambda day: day.isoformat()[:7],
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: day.isoformat()[:4],
    "5-years": _years(5),
    "decade": _years(10),
}

_LENGTHS: dict[Unit, int] = {"month": 1, "quarter": 3, "year": 12, "5-years": 60, "decade": 120}


def _extent(unit: Unit, member: dt.date) -> Extent:
    """Return the ends of a unit, of several years by the first day of the last one; None beyond the calendar."""
    if unit == "week":
        return member, _shifted(member, days=7)
    months = _LENGTHS[unit]
    end = member.year * 12 + member.month - 1 + min(months, 12)
    return _first_of(end - months), _first_of(end)


def _first_of(month: int) -> dt.date | None:
    """Return the first day of a month, counted from year 0."""
    year, month = divmod(month, 12)
    return dt.date(year, month + 1, 1) if dt.MINYEAR <= year <= dt.MAXYEAR else None


def _shifted(day: dt.date, days: int) -> dt.date | None:
    try:
        return day + dt.timedelta(days=days)
    except OverflowError:
        return None


_READ: dict[Unit, re.Pattern[str]] = {
    "day": re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})"),
    "week": re.compile(r"([0-9]{4})-W([0-9]{2})"),
    "month": re.compile(r"([0-9]{4})-([0-9]{2})"),
    "quarter": re.compile(r"([0-9]{4})-Q([1-4])"),
    "year": re.compile(r"([0-9]{4})"),
    # The last year, because the first year of the first period would be 0, which no calendar has.
    "5-years": re.compile(r"[0-9]{4}-([0-9]{4})"),
    "decade": re.compile(r"[0-9]{4}-([0-9]{4})"),
}


def _member(unit: Unit, label: str) -> dt.date | None:
    """Return a day in the unit that a label seems to name; None if it names none."""
    match = _READ[unit].fullmatch(label)
    if match is None:
        return None
    year, part, day = (*map(int, match.groups()), 1, 1)[:3]
    try:
        if unit == "week":
            return dt.date.fromisocalendar(year, part, 1)
        return dt.date(year, 3 * part - 2 if unit == "quarter" else part, day)
    except ValueError:
        return None
