"""Recounts the figures of a report on its output and population."""

from __future__ import annotations

import bisect
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeGuard

from engine.message import Message
from engine.verification.checks.attribute_inference import recount_inference, same_inference
from engine.verification.checks.margin import bound_holds, is_figure, least_margin_holds
from engine.verification.checks.people import People
from engine.verification.checks.risk import recount_risk
from engine.verification.finding import Finding
from engine.verification.records.classes import classes_of
from engine.verification.records.records import Records
from engine.verification.tolerance import same

if TYPE_CHECKING:
    from engine.job.job import Job


LATER = {"records_below_11", "share_below_11"}
"""Risks that reports of earlier versions do not have."""
_TOO_MANY = 2**63
"""No table has so many records, and shares of larger numbers are no doubles."""


def malformed(report: Any, quasi_identifiers: Sequence[str], *, local: bool = False) -> Finding | None:
    """Return a finding if a report lacks what the other checks read: rows, suppressed records, one level per column.

    Parameters
    ----------
    local : bool
        Whether the job recodes locally: then there is no level per column, but shares of records by level.
    """
    report = report if isinstance(report, Mapping) else {}
    solution = report.get("solution")
    solution = solution if isinstance(solution, Mapping) else {}
    levels = solution.get("levels")
    withheld = _withholds(report.get("suppressed_class"), report.get("released"))
    counts = [report.get("rows"), solution.get("suppressed")]
    if (
        (counts == [None, None] and "rows" in report if withheld else _is_count(counts[0]))
        and (_is_count(counts[1]) or counts[1] is None)
        and (_are_shares(solution, quasi_identifiers) if local else _are_levels(levels, quasi_identifiers))
        and (withheld or _is_class(report.get("suppressed_class"), solution.get("suppressed")))
    ):
        return None
    message = Message(
        "the report must give rows and suppressed records (both null where it withholds how few were left out) and one "
        "level for each quasi-identifier, as whole numbers, and the form of suppressed records: none, star or drop; of "
        "a local recoding shares of records instead of levels"
    )
    return Finding("report", holds=False, observed=None, required=None, column=None, message=message)


def _are_levels(levels: Any, quasi_identifiers: Sequence[str]) -> bool:
    named = isinstance(levels, Mapping) and set(levels) == set(quasi_identifiers)
    return named and all(map(_is_whole, levels.values()))


def _are_shares(solution: Mapping[str, Any], quasi_identifiers: Sequence[str]) -> bool:
    """Tell whether a solution has no levels, but numbers from 0 to 1 for each quasi-identifier."""
    shares = solution.get("shares")
    if "levels" not in solution or solution["levels"] is not None or not isinstance(shares, Mapping):
        return False
    listed = set(shares) == set(quasi_identifiers) and all(isinstance(one, list) for one in shares.values())
    return listed and all(type(one) in {int, float} and 0 <= one <= 1 for some in shares.values() for one in some)


def recount_figures(
    records: Records,
    job: Job,
    models: Sequence[Finding],
    people: People | None,
    report: Mapping[str, Any],
    *,
    starred: bool,
) -> Iterator[Finding]:
    """Compare classes, risks, the observed figure of each privacy model and its margin with what the report says.

    Parameters
    ----------
    models : sequence of Finding
        The recount of each privacy model, in the job's order.
    people : People, optional
        The population at the levels of the report, for a job that has one.
    starred : bool
        Whether the output has a class of suppressed records.
    """
    file = records.whole() if starred else records
    tables = () if people is None else people.beside(file)
    file = file.beside(tables[0]) if tables else file
    classes = classes_of(file)
    sizes = classes.sizes.tolist()
    yield _finding("classes", _same_classes(report.get("classes"), sizes, records.minimum_class_size))
    unknown = people is not None and not tables
    found = recount_risk(file, classes, job.risk.threshold, job.sampling_fraction)
    stated = report.get("risk")
    # a figure that is not recounted is not released
    if isinstance(stated, Mapping) and not LATER & set(stated):
        found = {key: figure for key, figure in found.items() if key not in LATER}
    complete = isinstance(stated, Mapping) and set(stated) == set(found)
    risk = _finding("risk", not unknown and complete and _equal_all(found, stated))
    # without the population nobody can tell
    known = people is None or people.population is not None
    yield replace(risk, is_told=known)
    if "attribute_inference" in report:
        inferred = recount_inference(records.table, records.minimum_class_size)
        yield _finding("attribute_inference", same_inference(report["attribute_inference"], inferred, _equal))
    given = report.get("privacy")
    given = given if isinstance(given, list) else []
    alike = records.kept_rows != records.kept.rows
    agree = all(_same_judgement(*pair, alike=alike) for pair in zip_longest(given, models, job.privacy))
    privacy = _finding("privacy", agree and least_margin_holds(report.get("privacy_margin"), given))
    yield replace(privacy, is_told=known)


def _same_judgement(stated: Any, found: Finding | None, model: Any, *, alike: bool) -> bool:
    """Compare one entry; the sensitive values of kept records that look suppressed are not known."""
    if not isinstance(stated, Mapping) or found is None or model is None:
        return False
    observed = (alike and model.sensitive_attribute is not None) or is_figure(stated.get("observed"), found.observed)
    return stated.get("holds") is found.holds and observed and bound_holds(stated, found)


def _same_classes(stated: Any, sizes: Sequence[int], smallest: int) -> bool:
    found = _classes(sizes)
    # a figure that is not recounted is not released
    complete = isinstance(stated, Mapping) and set(stated) == {*found, "distribution"}
    return complete and _equal_all(found, stated) and _same_bins(stated["distribution"], _bins(sizes, smallest))


def _bins(sizes: Sequence[int], smallest: int) -> list[dict[str, int]]:
    """Return the size bins of the classes, from `smallest` on, each twice as wide as the one before."""
    bins: list[dict[str, int]] = []
    start, largest = smallest, max(sizes, default=0)
    ordered = sorted(sizes)
    while start <= largest:
        inside = ordered[bisect.bisect_left(ordered, start) : bisect.bisect_left(ordered, 2 * start)]
        bins.append({"from": start, "to": 2 * start - 1, "classes": len(inside), "records": sum(inside)})
        start *= 2
    return bins


def _same_bins(stated: Any, found: list[dict[str, int]]) -> bool:
    # true and 1.0 equal 1 but are not counts
    whole = isinstance(stated, list) and all(
        isinstance(entry, Mapping) and all(map(_is_count, entry.values())) for entry in stated
    )
    return whole and stated == found


def _classes(sizes: Sequence[int]) -> dict[str, float | None]:
    if not sizes:
        return {"number": 0, "smallest": None, "median": None, "largest": None}
    return {"number": len(sizes), "smallest": min(sizes), "median": statistics.median(sizes), "largest": max(sizes)}


def _equal_all(found: Mapping[str, float | None], stated: Any) -> bool:
    return isinstance(stated, Mapping) and all(_equal(stated.get(key), value) for key, value in found.items())


def _finding(part: str, agrees: bool) -> Finding:
    message = f"{part} in the report " + ("are those of the output" if agrees else "are not those of the output")
    return Finding("figures", agrees, None, None, None, Message(message))


def _equal(stated: Any, found: float | None) -> bool:
    return same(stated, found, relative=1e-12)


def _withholds(stated: Any, released: Any) -> bool:
    """Tell whether the part about the suppressed records withholds how few were left out; others need not be few."""
    if not isinstance(stated, Mapping) or stated.get("form") != "drop" or stated.get("records") is not None:
        return False
    # a class that joined has as many as are not few
    joined = stated.get("joined")
    return _is_count(stated.get("below")) and _is_count(joined) and joined == 0 and _is_count(released)


def _is_class(stated: Any, suppressed: int | None) -> bool:
    """Tell whether the part about the suppressed records agrees with the number that the search suppressed.

    That number is withheld where it is small and further classes joined, and with it how many of them did.
    """
    if not isinstance(stated, Mapping) or not _is_count(stated.get("records")):
        return False
    if suppressed is None:
        withheld = "joined" in stated and stated["joined"] is None
        return bool(withheld and stated["records"] and stated.get("form") in ("star", "drop"))
    if not _is_count(stated.get("joined")):
        return False
    forms = ("star", "drop") if stated["records"] else ("none",)
    joined = stated["records"] > suppressed if stated["joined"] else stated["records"] == suppressed
    return joined and stated.get("form") in forms


def _is_count(value: Any) -> bool:
    return _is_whole(value) and value < _TOO_MANY


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
