"""The form of a published report: its keys, of which kind each is, and which figures are withheld with which others.

In: the report of a release, and its job. Out: the keys that are otherwise than a run of this version writes them. Most
figures are compared with the release elsewhere; this is for those that nobody can recount.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from engine.pipeline.document import PublishedReport, ReportedModel
from engine.pipeline.measured import without_figure
from engine.pipeline.published import OF_PROOF, SHARES_OF_SERIES, digits_of_measures, may_be_few_and_joined

if TYPE_CHECKING:
    from engine.job.job import Job

FURTHER = "further keys"
"""What is said of keys that a report does not have: they may be any text."""
_OF_EACH_RUN = (
    "rows",
    "persons",
    "persons_suppressed_share",
    "timings",
    "solution.suppressed",
    "suppressed_class.records",
    "suppressed_class.joined",
    "search.seconds",
    "search.warm_up_seconds",
    "further_rows.left_out",
    "further_rows.share",
    "choice.utility_loss",
    "choice.policies",
    "choice.met",
)
"""Figures that each run has: one that is null is withheld, and `withheld` names it."""
_OF_SERIES = ("smallest_trace", *SHARES_OF_SERIES)
"""Those that each release of a series with records in it has."""
_RANKED = "solution.ranked_losses"
_TOGETHER = (
    ("persons", "persons_suppressed_share"),
    ("further_rows.left_out", "further_rows.share"),
    ("search.seconds", "search.warm_up_seconds"),
    ("choice.utility_loss", "choice.policies", "choice.met"),
)
"""Figures that are withheld together."""
_FINITE = {"loss", "non-uniform-entropy", "kl-divergence"}
"""Measures that have a figure for each file of one level per column with records in it: others may be infinite."""
_OF_LEVELS = {"non-uniform-entropy", "ambiguity", "kl-divergence", "height"}
"""Measures that have none for a file whose columns mix levels."""


class _Form(PublishedReport):
    """A report without further keys, of numbers that are no texts."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)  # type: ignore[misc]


def wrong_keys(job: Job, report: Mapping[str, Any]) -> list[str]:
    """Name the keys of a report that no run of this version writes so.

    Parameters
    ----------
    job : Job
        As it was run.
    """
    wrong = [*_of_other_kind(report)]
    if not wrong:
        wrong = [] if report["name"] == job.name else ["name"]
        wrong += [*_lacking(job, report), *_of_withheld(job, report), *_of_few(job, report), *_of_proof(job, report)]
        wrong += _of_ranked(job, report)
    return list(dict.fromkeys(wrong))


def _of_other_kind(report: Mapping[str, Any]) -> Iterator[str]:
    """Name the keys of another kind, those that are missing, and those that are none."""
    entries = report.get("privacy")
    if isinstance(entries, list):
        # the parameters of a model are further keys of its entry, and are compared with the job
        known = ReportedModel.__annotations__
        entries = [
            {key: one[key] for key in one if key in known} if isinstance(one, Mapping) else one for one in entries
        ]
        report = {**report, "privacy": entries}
    try:
        _adapter().validate_python(dict(report))
    except ValidationError as problem:
        for one in problem.errors():
            first = str(one["loc"][0]) if one["loc"] else ""
            yield first if first in PublishedReport.__annotations__ else FURTHER


@functools.cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(_Form)


def _lacking(job: Job, report: Mapping[str, Any]) -> Iterator[str]:
    """Name what each report of such a job has."""
    has = {
        "attribute_inference": True,
        "backend": True,
        "drift": job.drift is not None,
        "further_rows": job.max_rows is not None,
        "identifying": bool(job.identifying),
        "knows": job.subject is not None,
        "lint": True,
        "persons": job.subject is not None,
        "persons_suppressed_share": job.subject is not None,
        "policy": job.policy is not None,
        "usefulness": job.usefulness is not None,
    }
    if job.series is not None:
        has |= {
            "series.below_share": job.series.departures == "report",
            "series.churn": job.churn is not None,
            "series.cohorts": job.series.arrivals == "batch",
            "series.kept_share": job.series.departures == "keep",
            "series.levels_changed": report["series"]["releases"] > 1 and job.series.arrivals != "batch",
            "series.max_nights": job.series.departures == "keep",
            "series.raised": job.series.arrivals == "coarsen",
        }
    yield from (key for key, is_there in has.items() if is_there and not _has(report, key))


def _of_withheld(job: Job, report: Mapping[str, Any]) -> Iterator[str]:
    """Name `withheld` if it names a figure that is told, or leaves out one that is not and that each run has."""
    named = report["withheld"]
    hidden = {name for name in _OF_EACH_RUN if _has(report, name) and _at(report, name) is None}
    # ranked losses that are withheld are left out
    there = all(_at(report, name) is None and (_has(report, name) or name == _RANKED) for name in named)
    lacking, foreign = _named(job, report)
    hidden |= lacking
    if not there or len(set(named)) < len(named) or not hidden <= set(named) or foreign & set(named):
        yield "withheld"
    places = digits_of_measures(job, report["released"])
    # where few are hidden a figure of the file alone may be infinite, or of no record, though that of all is not
    hides = report["solution"]["suppressed"] is None or job.series is not None
    for name, figure in report["utility"].items():
        withheld = f"utility.{name}" in named and not hides
        if figure is not None if places.get(name) == 0 else withheld:
            yield f"utility.{name}"


def _named(job: Job, report: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Return which figures that are null `withheld` must name, and which it must not: those that such a run has not."""
    if job.series is not None:
        # each release with a record in it has these figures
        null = {f"series.{key}" for key in _OF_SERIES if report["series"].get(key, 0) is None}
        return null if report["released"] else set(), set()
    choice = report.get("choice")
    hides = report["solution"]["suppressed"] is None or "below" in report["suppressed_class"]
    null = {name for name in OF_PROOF if _at(report, name) is None}
    has, has_not = (null, set()) if hides and job.policy is None and not job.is_private else (set(), {"search.proof"})
    has_not |= {"solution.levels"} | (null if job.policy is not None else set())
    missing = {name for name, figure in report["utility"].items() if figure is None}
    unmeasured = _OF_LEVELS if job.mixes_levels else without_figure(job)
    has_not |= {f"utility.{name}" for name in missing & unmeasured}
    if report["released"] and not job.mixes_levels:
        has |= {f"utility.{name}" for name in missing & _FINITE - unmeasured}
        if job.utility.measure in _FINITE and report["solution"]["information_loss"] is None:
            has.add("solution.information_loss")
            # a loss that is proven is its own bound
            has |= null - {"search.proof"} if report["solution"]["optimal"] else set()
    if choice is not None:
        told = {f"choice.{key}" for key in ("tried", "safe_harbor") if choice.get(key, 0) is None}
        of_rule = told if "dominates" in choice["rule"] else told - {"choice.safe_harbor"}
        has, has_not = has | (of_rule if hides else set()), has_not | (told - of_rule)
    return has, has_not


def _of_few(job: Job, report: Mapping[str, Any]) -> Iterator[str]:
    """Name what is withheld, or told, although the number of suppressed records says otherwise."""
    if report["suppressed_class"].get("below", job.minimum_class_size) != job.minimum_class_size:
        yield "suppressed_class.below"
    gone, told = report["suppressed_class"]["records"], report["solution"]["suppressed"] is not None
    if told and gone is not None and may_be_few_and_joined(job, gone):
        yield "solution.suppressed"
    for keys in _TOGETHER:
        if len({_at(report, key) is None for key in keys if _has(report, key)}) > 1:
            yield keys[0]
    if (report["timings"] is None) != job.is_private:
        yield "timings"
    if (report["search"]["seconds"] is None) != job.is_private:
        yield "search.seconds"
    choice, hides = report.get("choice"), report["solution"]["suppressed"] is None
    if choice is not None and (choice["utility_loss"] is None) != hides and job.series is None:
        yield "choice.utility_loss"


def _of_proof(job: Job, report: Mapping[str, Any]) -> Iterator[str]:
    """Name what is said of the proof that no transformation loses less, if one thing contradicts another."""
    solution, proof = report["solution"], report["search"]["proof"]
    optimal, bound, gap = solution["optimal"], solution["lower_bound"], solution["gap"]
    hides = solution["suppressed"] is None
    if optimal and (job.policy is not None or job.is_private):
        yield "solution.optimal"
    if (proof is not None) != (optimal and not hides) and job.series is None:
        yield "search.proof"
    if not optimal:
        hidden = hides or job.policy is not None or job.is_private
        yield from (f"solution.{key}" for key in ("lower_bound", "gap") if hidden and solution[key] is not None)
        loss = solution["information_loss"]
        # both are rounded, and the bound down
        if bound is not None and (bound < 0 or (loss is not None and bound > loss)):
            yield "solution.lower_bound"
        if gap is not None and not 0 <= gap <= 1:
            yield "solution.gap"
        return
    if bound != solution["information_loss"]:
        yield "solution.lower_bound"
    if gap != (None if digits_of_measures(job, report["released"])[job.utility.measure] == 0 else 0.0):
        yield "solution.gap"


def _of_ranked(job: Job, report: Mapping[str, Any]) -> Iterator[str]:
    """Name ranked losses that the job does not rank, or that do not descend from the one that is stated."""
    solution = report["solution"]
    if "ranked_losses" not in solution:
        return
    ranked, first = (
        [math.inf if loss is None else loss for loss in losses]
        for losses in (solution["ranked_losses"], [solution["information_loss"]])
    )
    descends = ranked[:1] == first and ranked == sorted(ranked, reverse=True)
    # of a local recoding nothing is ranked
    if job.utility.aggregate != "rank" or not descends or len(ranked) != len(solution["levels"] or ()):
        yield _RANKED


def _has(report: Mapping[str, Any], name: str) -> bool:
    """Tell whether a report has a key, of which dots lead to the parts."""
    *above, last = name.split(".")
    part = _at(report, ".".join(above)) if above else report
    return isinstance(part, Mapping) and last in part


def _at(report: Mapping[str, Any], name: str) -> Any:
    """Return the figure of a name, of which dots lead to the parts; None if there is none."""
    part: Any = report
    for key in name.split("."):
        part = part.get(key) if isinstance(part, Mapping) else None
    return part
