"""The statement of a run about its output: one document of plain numbers, which tables, charts and audit pages render.

In: the job, the frequency table, what the search found, the choice of a rule. Out: a `Statement`, which verification
checks; with the timings it is the report. `solution` is what the search found; privacy figures and utility are of the
classes that are kept, which are fewer if some joined the suppressed records; classes and risk are of the file, in
which these may be one more class.
"""

from __future__ import annotations

import importlib.metadata
import math
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.document import Choice
from engine.job.job import Job
from engine.pipeline.class_sizes import size_distribution
from engine.pipeline.document import (
    FurtherRows,
    PersonsStated,
    ReportedClasses,
    ReportedModel,
    ReportedRisk,
    ReportedSearch,
    ReportedSolution,
    SometimesStated,
    Statement,
)
from engine.pipeline.measured import finite, utility_figures
from engine.privacy.requirement import least_margin
from engine.risk.figures import estimated_uniqueness, risks
from engine.risk.of_persons import risks_of_persons
from engine.search.problem import Solution
from engine.search.suppressed_class import Form, Outcome, as_file
from engine.search.whole_persons import found_among, judged_classes, values_among
from engine.tables.counting.frequency import Classes, FrequencyTable
from engine.tables.counting.present_classes import PresentClasses
from engine.utility.information_loss import leading

_VERSIONED = ("airflow-anon", "numba", "numpy", "pyarrow", "pydantic")


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a search.

    Attributes
    ----------
    outcome : Outcome
    space : int
        Number of possible transformations.
    seconds : float
        From the frequency table to the solution.
    warm_up_seconds : float
        For compiling or loading kernels beforehand.
    """

    outcome: Outcome
    space: int
    seconds: float
    warm_up_seconds: float


def statement_of(
    job: Job, table: FrequencyTable, found: Found, choice: Choice | None = None, warnings: Sequence[str] = ()
) -> Statement:
    """Assemble the statement of a run.

    Parameters
    ----------
    choice : Choice, optional
        The choice of the job's rule, if it has one.
    warnings : sequence of str
        Texts that a reader must know about the solution.
    """
    outcome, solution = found.outcome, found.outcome.solution
    classes = judged_classes(table, job.known, solution, outcome.suppressed_tuples)
    suppressed = classes.holding(outcome.suppressed_tuples)
    file = as_file(classes, solution, suppressed, outcome.form)
    among = np.empty(0, np.int64)
    if job.subject is not None:
        among = found_among(table, job.known, solution.levels, outcome.suppressed_tuples, file)
        among = among[among > 0]
    shared = list(_shared(job, table, outcome, among)) if isinstance(job.known, int) else None
    privacy = _privacy(job, *_judged(classes, suppressed, file, outcome.form), outcome.form, shared)
    return {
        "name": job.name,
        "job_sha256": job.sha256,
        "rows": table.records,
        "released": int(file.counts.sum()),
        "columns": list(job.released),
        "solution": _solution(job, table, outcome),
        "suppressed_class": {"form": outcome.form, "records": outcome.suppressed, "joined": outcome.joined},
        "search": _search(job, found),
        "privacy": privacy,
        "privacy_margin": least_margin(entry["margin"] for entry in privacy),
        "utility": utility_figures(job, table, solution, outcome.suppressed_tuples),
        "risk": _risks(job, file, among, has_population=table.population is not None),
        "classes": _classes(job, file),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in _VERSIONED}},
        **_sometimes(job, table, choice, warnings),
        **_persons(job, table, classes, suppressed),
    }


def _sometimes(job: Job, table: FrequencyTable, choice: Choice | None, warnings: Sequence[str]) -> SometimesStated:
    stated = {
        "population_rows": None if table.population is None else int(table.population.sum()),
        "policy": job.policy,
        "choice": choice,
        "warnings": list(warnings) or None,
    }
    return cast("SometimesStated", {key: value for key, value in stated.items() if value is not None})


def _solution(job: Job, table: FrequencyTable, outcome: Outcome) -> ReportedSolution:
    solution = outcome.solution
    # a policy leaves one transformation, and so do fixed or drawn levels: that it was checked proves nothing of others
    searched = job.policy is None and not job.is_private
    stated: ReportedSolution = {
        "levels": None
        if solution.recoding is not None
        else dict(zip(table.attributes, map(int, solution.levels), strict=True)),
        "information_loss": finite(solution.loss),
        "suppressed": int(solution.suppressed),
        "optimal": searched and solution.optimal,
        "lower_bound": finite(solution.lower_bound) if searched else None,
        "gap": _gap(solution) if searched else None,
    }
    if solution.recoding is not None:
        stated["shares"] = solution.recoding.shares(table, outcome.suppressed_tuples)
    return {**stated, "ranked_losses": list(map(finite, solution.loss))} if isinstance(solution.loss, tuple) else stated


def _search(job: Job, found: Found) -> ReportedSearch:
    solution = found.outcome.solution
    return {
        "algorithm": job.search.algorithm,
        "space": found.space,
        "checked": solution.checked,
        "proof": _proof(job, solution),
        "seconds": found.seconds,
        "warm_up_seconds": found.warm_up_seconds,
    }


def _proof(job: Job, solution: Solution) -> Literal["exhaustion", "bounds"] | None:
    if not solution.optimal or job.policy is not None or job.is_private:
        return None
    return "exhaustion" if solution.exhaustive else "bounds"


def _shared(job: Job, table: FrequencyTable, outcome: Outcome, among: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield what those have who share a part of each person's picture: their number, or that of their values."""
    for model in job.counted_privacy:
        if model.sensitive_attribute is None:
            yield among
        else:
            yield values_among(table, int(job.known), outcome.solution.levels, outcome.suppressed_tuples, model)


def _privacy(
    job: Job,
    present: PresentClasses,
    kept: NDArray[np.bool_],
    form: Form,
    shared: Sequence[NDArray[np.int64]] | None,
) -> list[ReportedModel]:
    """Return each privacy model with its parameters as written and its figures.

    Parameters
    ----------
    shared : sequence of int64 arrays, or None
        Of an attacker who knows some rows, what each model is of: what several rows tell is no class.
    """
    entries = []
    for place, (model, written) in enumerate(zip(job.counted_privacy, job.document()["privacy"], strict=True)):
        if shared is None:
            holds, observed = model.holds(present, kept), model.observed(present, kept)
            requirement = model.requirement(observed)
        else:
            observed = float(shared[place].min()) if shared[place].size else None
            requirement = model.requirement(observed)
            holds = observed is None or observed >= requirement.required
        entry = {
            **written,
            "description": model.describe(),
            "holds": holds,
            "observed": observed,
            "required": requirement.required,
            "sense": requirement.sense,
            "margin": requirement.margin(observed, holds=holds),
        }
        if model.compares_with_table:
            entry["reference"] = "released records" if form == "drop" else "all records"
        entries.append(cast("ReportedModel", entry))
    return entries


def _gap(solution: Solution) -> float | None:
    """Return the largest share of the loss by which the solution can miss the optimum; None if not known."""
    if solution.optimal:
        return 0.0
    loss, bound = leading(solution.loss), leading(solution.lower_bound)
    return max(0.0, (loss - bound) / loss) if math.isfinite(loss) and math.isfinite(bound) and loss > 0 else None


def further_rows(left_out: int, records: int) -> FurtherRows:
    """Return the price of `max_rows`: how many rows were left out, and which share of all rows they are."""
    return {"left_out": left_out, "share": left_out / (left_out + records)}


def _persons(job: Job, table: FrequencyTable, classes: Classes, suppressed: NDArray[np.bool_]) -> PersonsStated:
    """Return how many persons there are, and the share of those of whom no record is kept."""
    if table.persons is None:
        return {}
    kept = table.persons.without(~suppressed[classes.gid])
    gone = table.persons.number - kept.present
    known = job.known
    return {
        "persons": table.persons.number,
        "persons_suppressed_share": gone / table.persons.number,
        "knows": {"rows": known} if isinstance(known, int) else known,
    }


def _risks(job: Job, file: PresentClasses, among: NDArray[np.int64], *, has_population: bool) -> ReportedRisk:
    if job.subject is not None:
        return cast("ReportedRisk", risks_of_persons(among, threshold=job.risk.threshold))
    sizes = file.counts
    population = file.population if has_population else None
    figures: dict[str, float | None] = {**risks(sizes, population, threshold=job.risk.threshold)}
    if job.sampling_fraction is not None:
        estimated = estimated_uniqueness(sizes, int(sizes.sum()), job.sampling_fraction)
        figures["estimated_population_uniqueness"] = estimated
    return cast("ReportedRisk", figures)


def _judged(
    classes: Classes, suppressed: NDArray[np.bool_], file: PresentClasses, form: Form
) -> tuple[PresentClasses, NDArray[np.bool_]]:
    """Return the classes that the privacy models judge, and which of them are kept.

    Records that are left out are gone from the distribution of a sensitive attribute as well: the file lacks them.
    """
    if form == "drop":
        return file, np.ones(file.counts.size, np.bool_)
    present = PresentClasses.of(classes)
    return present, ~suppressed[present.there]


def _classes(job: Job, file: PresentClasses) -> ReportedClasses:
    if job.subject is None:
        sizes, distribution = file.counts, size_distribution(file.counts, job.minimum_class_size)
    else:
        sizes, distribution = file.persons, size_distribution(file.persons, job.minimum_persons, file.counts)
    if not sizes.size:
        return {"number": 0, "smallest": None, "median": None, "largest": None, "distribution": distribution}
    return {
        "number": int(sizes.size),
        "smallest": int(sizes.min()),
        "median": float(np.median(sizes)),
        "largest": int(sizes.max()),
        "distribution": distribution,
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
