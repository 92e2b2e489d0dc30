"""What a frontier tells of the source: its report as it may leave the search.

In: the report of a search, which stays with the caller. Out: the same report with few digits: `frontier.json`, chart,
picture, pages, XCom and Asset event are made from it.

No table is released by a frontier, so nobody can recount its figures, and they are those of the whole source,
suppressed records included. With all digits the number of records and the risk of one policy tell how many records a
release left out, and how many classes of one record there are. So

- risks, losses and areas have three significant digits, two below 10,000 records;
- the number of records is rounded down to two significant digits, and is null below 1,000;
- the number of policies looked at, which depends on the cells, has two significant digits;
- marketer risks without a population are those of a table of fewer records with the same groups, 1 at most.

Such a risk is a whole number of groups divided by the number of records. Rounded, each of hundreds of them rules out
the numbers for which no whole number of groups would have it, and one was left for most tables below 1,000 records. So
all of them have one divisor, `divisor_told`, which many numbers of records share: a risk is never told too small.

Hundreds of figures still narrow down who knows nearly all cells of the source: a frontier is for custodians, who have
the source, and not for those who receive releases (docs/threat-model.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from engine.frontiers.document import FrontierReport
from engine.job.frontier_measures import USUAL_RISK

FEWEST_TOLD = 1_000
_STEP = 20
"""Of numbers of records below that: as many lead to the same figures. Below it every such risk is 1."""
MANY = 10_000
MOST_DIGITS = 3
_SUMMED = 13
_FIGURES = frozenset({"risk", "utility_loss", "normalized_risk", "normalized_utility_loss"})
_T = TypeVar("_T")


def published(report: FrontierReport) -> FrontierReport:
    """Return the report of a frontier with the digits that may leave the search; it is given with all of them."""
    rows = cast("int", report["rows"])
    digits = 3 if rows >= MANY else 2
    divisor = divisor_told(rows)
    # beside a population a risk is divided by people, and the greatest one is 1 divided by the records of one group
    counts_groups = report["population_rows"] is None and report["settings"].get("risk", USUAL_RISK) == "marketer"
    rounded = _rounded(report, digits, rows / divisor if counts_groups else 1.0)
    rounded["rows"] = divisor if rows >= FEWEST_TOLD else None
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


def policies_text(number: int) -> str:
    """Say a number of policies, `1 policy` or `2,000 policies`."""
    return "1 policy" if number == 1 else f"{number:,} policies"


def divisor_told(records: int) -> int:
    """Return the number of records that risks are told by: not above their own, and the same for many numbers."""
    step = 10 ** (len(str(records)) - 2) if records >= FEWEST_TOLD else _STEP
    return max(1, records // step * step)


def _rounded(part: _T, digits: int, times: float) -> _T:
    """Return a part of a report in which each figure of a policy has so many significant digits.

    Parameters
    ----------
    times : float
        What risks are multiplied by first, at least 1.
    """
    if isinstance(part, Mapping):
        told = {
            # a number of groups times the same is the same only but for its last digits
            name: significant(significant(min(1.0, value * times), _SUMMED) if name == "risk" else value, digits)
            if name in _FIGURES and isinstance(value, float)
            else _rounded(value, digits, times)
            for name, value in part.items()
        }
        return cast("_T", told)
    if isinstance(part, list):
        return cast("_T", [_rounded(one, digits, times) for one in part])
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
