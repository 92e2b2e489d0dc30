"""The figures of a report, recounted on the output it describes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import pyarrow as pa

from engine.verification.finding import Finding


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
    kept: pa.Table, quasi_identifiers: Sequence[str], models: Sequence[Finding], report: Mapping[str, Any]
) -> Iterator[Finding]:
    """Compare classes, risks and the observed figure of each privacy model with what the report says.

    Parameters
    ----------
    kept : pyarrow Table
        The records that are not suppressed.
    models : sequence of Finding
        The recount of each privacy model, in the job's order.
    """
    sizes = kept.group_by(list(quasi_identifiers)).aggregate([([], "count_all")])["count_all"].to_pylist()
    yield _compared("classes", _classes(sizes), report)
    yield _compared("risk", _risks(sizes), report)
    stated = report.get("privacy")
    pairs = list(zip_longest(stated if isinstance(stated, list) else [], models))
    yield _finding("privacy", all(_same_judgement(given, found) for given, found in pairs))


def _same_judgement(stated: Any, found: Finding | None) -> bool:
    if not isinstance(stated, Mapping) or found is None:
        return False
    return stated.get("holds") is found.holds and _close(stated.get("observed"), found.observed)


def _classes(sizes: Sequence[int]) -> dict[str, float | None]:
    if not sizes:
        return {"number": 0, "smallest": None, "median": None, "largest": None}
    return {"number": len(sizes), "smallest": min(sizes), "median": statistics.median(sizes), "largest": max(sizes)}


def _risks(sizes: Sequence[int]) -> dict[str, float | None]:
    """Without a population table the journalist's risk is the prosecutor's."""
    if not sizes:
        return {"prosecutor": 0.0, "journalist": 0.0, "marketer": 0.0}
    return {"prosecutor": 1 / min(sizes), "journalist": 1 / min(sizes), "marketer": len(sizes) / sum(sizes)}


def _compared(part: str, found: Mapping[str, float | None], report: Mapping[str, Any]) -> Finding:
    stated = report.get(part)
    agrees = isinstance(stated, Mapping) and all(_equal(stated.get(key), value) for key, value in found.items())
    return _finding(part, agrees)


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
