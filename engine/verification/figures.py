"""The figures of a report, recounted on the output it describes and beside its population."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from engine.verification.classes import classes_of
from engine.verification.finding import Finding
from engine.verification.people import People
from engine.verification.records import Records
from engine.verification.risk import recount_risk

if TYPE_CHECKING:
    from engine.job import Job


def malformed(report: Any, quasi_identifiers: Sequence[str]) -> Finding | None:
    """Return a finding if a report lacks what the other checks read: rows, suppressed records, one level a column."""
    report = report if isinstance(report, Mapping) else {}
    solution = report.get("solution")
    solution = solution if isinstance(solution, Mapping) else {}
    levels = solution.get("levels")
    if (
        _is_count(report.get("rows"))
        and _is_count(solution.get("suppressed"))
        and isinstance(levels, Mapping)
        and set(levels) == set(quasi_identifiers)
        and all(map(_is_count, levels.values()))
    ):
        return None
    message = "the report must give rows, suppressed records and one level for each quasi-identifier, as whole numbers"
    return Finding("report", holds=False, observed=None, required=None, column=None, message=message)


def recount_figures(
    records: Records, job: Job, models: Sequence[Finding], people: People | None, report: Mapping[str, Any]
) -> Iterator[Finding]:
    """Compare classes, risks and the observed figure of each privacy model with what the report says.

    Parameters
    ----------
    models : sequence of Finding
        The recount of each privacy model, in the job's order.
    people : People, optional
        The population at the levels of the report, for a job that has one.
    """
    if people is not None and people.tables:
        records = records.beside(people.tables[0])
    classes = classes_of(records)
    yield _finding("classes", _equal_all(_classes(classes.sizes.tolist()), report.get("classes")))
    unknown = people is not None and not people.tables
    found = recount_risk(records, classes, job.risk.threshold, job.risk.sampling_fraction)
    stated = report.get("risk")
    # a figure that is not recounted is not released
    complete = isinstance(stated, Mapping) and set(stated) == set(found)
    yield _finding("risk", not unknown and complete and _equal_all(found, stated))
    given = report.get("privacy")
    pairs = zip_longest(given if isinstance(given, list) else [], models, job.privacy)
    alike = records.kept_rows != records.kept.num_rows
    yield _finding("privacy", all(_same_judgement(*pair, alike=alike) for pair in pairs))


def _same_judgement(stated: Any, found: Finding | None, model: Any, *, alike: bool) -> bool:
    """Compare one entry; sensitive values of kept records that look like suppressed ones are not known."""
    if not isinstance(stated, Mapping) or found is None or model is None:
        return False
    observed = (alike and model.sensitive_attribute is not None) or _close(stated.get("observed"), found.observed)
    return stated.get("holds") is found.holds and observed


def _classes(sizes: Sequence[int]) -> dict[str, float | None]:
    if not sizes:
        return {"number": 0, "smallest": None, "median": None, "largest": None}
    return {"number": len(sizes), "smallest": min(sizes), "median": statistics.median(sizes), "largest": max(sizes)}


def _equal_all(found: Mapping[str, float | None], stated: Any) -> bool:
    return isinstance(stated, Mapping) and all(_equal(stated.get(key), value) for key, value in found.items())


def _finding(part: str, agrees: bool) -> Finding:
    message = f"{part} in the report " + ("are those of the output" if agrees else "are not those of the output")
    return Finding("figures", agrees, None, None, None, message)


def _equal(stated: Any, found: float | None) -> bool:
    if isinstance(stated, bool) or not isinstance(stated, int | float) or found is None:
        return stated is None and found is None
    return math.isclose(stated, found, rel_tol=1e-12)


def _close(stated: Any, found: float | None) -> bool:
    """Compare a figure of a privacy model: a distance of zero may be stated as the rounding of its sum."""
    if isinstance(stated, bool) or not isinstance(stated, int | float) or found is None:
        return stated is None and found is None
    return math.isclose(stated, found, rel_tol=1e-9, abs_tol=1e-12)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
