"""What a frontier tells of the source: its report as it may leave the search.

In: the report of a search, which stays with the caller. Out: the same report with few digits: `frontier.json`, chart,
picture, pages, XCom and Asset event are made from it.

No table is released by a frontier, so nobody can recount its figures, and they are those of the whole source,
suppressed records included. With all digits the number of records and the risk of one policy tell how many records a
release left out, and how many classes of one record there are. So

- risks, losses and areas have three significant digits, two below 10,000 records;
- the number of records has two significant digits, and is null below 1,000;
- the number of policies looked at, which depends on the cells, has two significant digits.

Hundreds of figures still narrow down who knows nearly all cells of the source: a frontier is for custodians, who have
the source, and not for those who receive releases (docs/threat-model.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from engine.frontiers.document import FrontierReport

FEWEST_TOLD = 1_000
MANY = 10_000
MOST_DIGITS = 3
_FIGURES = frozenset({"risk", "utility_loss", "normalized_risk", "normalized_utility_loss"})
_T = TypeVar("_T")


def published(report: FrontierReport) -> FrontierReport:
    """Return the report of a frontier with the digits that may leave the search; it is given with all of them."""
    rows = cast("int", report["rows"])
    digits = 3 if rows >= MANY else 2
    rounded = _rounded(report, digits)
    rounded["rows"] = int(significant(rows, 2)) if rows >= FEWEST_TOLD else None
    rounded["visited"] = int(significant(report["visited"], 2))
    rounded["area"] = significant(report["area"], digits)
    rounded["area_after"] = [
        [int(significant(policies, 2)), significant(area, digits)] for policies, area in report["area_after"]
    ]
    return rounded


def records_text(report: Mapping[str, Any]) -> str:
    """Say how many records a frontier is of; reports of earlier versions have the number itself."""
    rows = report["rows"]
    return f"fewer than {FEWEST_TOLD:,} records" if rows is None else f"about {rows:,} records"


def _rounded(part: _T, digits: int) -> _T:
    """Return a part of a report in which each figure of a policy has so many significant digits."""
    if isinstance(part, Mapping):
        told = {
            name: significant(value, digits)
            if name in _FIGURES and isinstance(value, float)
            else _rounded(value, digits)
            for name, value in part.items()
        }
        return cast("_T", told)
    if isinstance(part, list):
        return cast("_T", [_rounded(one, digits) for one in part])
    return part


def digits_of_source(records: int) -> int:
    """Return the significant digits of a figure that is counted in so many records of the source, 1 to 3.

    From 100 records on one step of the last digit is at least ten times what one record moves a mean over them.
    """
    return min(max(len(str(records)) - 2, 1), MOST_DIGITS)


def next_power_of_ten(number: int) -> int:
    """Return the least power of ten that is not below a number, from 10 on; 0 for 0."""
    return int(10 ** max(1, len(str(number - 1)))) if number else 0


def significant(value: float, digits: int) -> float:
    """Round to so many significant digits."""
    return float(f"{value:.{digits}g}")
