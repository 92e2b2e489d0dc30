"""What the report of a run says of its release, as far as expectations compare it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from airflow_anon.expectations.figures import PARTS
from airflow_anon.expectations.persons import FURTHER, KNOWS, PERSONS, TABLES
from airflow_anon.expectations.records import Marked

if TYPE_CHECKING:
    from engine import Job


@dataclass(frozen=True)
class Reported:
    """The statements of the report; those that it withholds are None, and `below` is their bound.

    A release of mixed levels has none.
    """

    rows: int | None
    suppressed: int | None
    source_rows: int | None
    released: int
    levels: Mapping[str, int] | None
    how: Literal["star", "drop"]
    figures: Mapping[str, Any]
    below: int | None

    @classmethod
    def of(cls, report: Mapping[str, Any], job: Job) -> Reported:
        """Read a report.

        Raises
        ------
        ValueError
            It has no solution, or one without the levels and counts of the job.
        """
        solution = report.get("solution")
        if not isinstance(solution, Mapping):
            raise ValueError("report: names no solution, so there is nothing to release")  # noqa: TRY004 (a wrong document, not a wrong argument)
        levels = solution.get("levels")
        all_rows = report.get("rows" if job.subset is None else "population_rows")
        form, suppressed, below = _suppressed(report, job)
        rows = report.get("rows")
        figures = [figure for figure in (rows, suppressed, all_rows) if below is None or figure is not None]
        if job.mixes_levels and levels is not None:
            raise ValueError(
                "report: solution.levels must be null, since the job mixes levels; the release was made by another job"
            )
        if not job.mixes_levels and (not isinstance(levels, Mapping) or set(levels) != set(job.quasi_identifiers)):
            raise ValueError(
                f"report: solution.levels must name exactly the columns {', '.join(job.quasi_identifiers)}; "
                "the release was made by another job"
            )
        if not all(type(figure) is int and figure >= 0 for figure in [*figures, *(levels or {}).values()]):
            raise ValueError(
                "report: rows, population_rows, suppressed_class.records and solution.levels must be whole numbers, at "
                "least 0"
            )
        # reports of earlier versions do not give it
        released = report.get("released", rows - suppressed if form == "drop" and below is None else rows)
        if type(released) is not int or released < 0:
            raise ValueError("report: released must be a whole number, at least 0")
        stated = {
            part: report.get(part) for part in (*PARTS, *((*PERSONS, KNOWS, FURTHER, TABLES) if job.subject else ()))
        }
        return cls(rows, suppressed, all_rows, released, levels, form, stated, below)

    @property
    def marked(self) -> Marked:
        """Which records have `*` in every quasi-identifier because they are suppressed."""
        if self.suppressed == 0 or self.how == "drop":
            return "none"
        return "all" if self.suppressed == self.rows else "some"


def _suppressed(report: Mapping[str, Any], job: Job) -> tuple[Literal["star", "drop"], Any, int | None]:
    """Return whether suppressed records are in the release, how many there are by its report, and the bound of these.

    The bound is None unless the report withholds how few were left out; it must be the job's.
    """
    stated = report.get("suppressed_class")
    stated = stated if isinstance(stated, Mapping) else {}
    form = stated.get("form")
    if form not in ("none", "star", "drop"):
        raise ValueError("report: suppressed_class.form must be none, star or drop")
    if form == "star" and job.output is not None and job.output.suppressed == "drop":
        raise ValueError("report: suppressed_class.form is star, and the job leaves suppressed records out")
    below = stated.get("below")
    if below is not None and (
        form != "drop"
        or stated.get("records") is not None
        or type(below) is not int
        or not 1 < below <= job.minimum_class_size
    ):
        raise ValueError(
            "report: suppressed_class.below must be from 2 to the smallest class that the job allows, and only where "
            "form is drop and records is null"
        )
    return "drop" if form == "drop" else "star", stated.get("records"), below
