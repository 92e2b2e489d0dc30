"""Levels whose classes last: the least of the loss and of what arrivals and departures are expected to cost.

In: a job that expects churn, tonight's problem, and the solution of least loss. Out: a solution of the same problem.
The search is asked again for classes of at least some multiples of the least size, and each answer is judged under the
models of the job as they are: larger classes are a way to find levels, and nothing that is promised or verified. Of
these candidates, the solution of least loss among them, that one is taken whose loss is least if everybody who is
expected to wait or to cover is counted as if he or she had lost everything: L + (1 - L) · share.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.job.job import Job
from engine.lattice.space import Lattice
from engine.pipeline.measured import finite
from engine.privacy.models.k_anonymity import KAnonymity
from engine.search.problem import Problem, Progress, Solution
from engine.search.registry import method
from engine.series.churn import Churn, Expected, expected
from engine.series.document import ChurnStated
from engine.utility.information_loss import leading

MULTIPLES = (2, 3, 4, 6, 10)
"""Of the least size of a class: beyond ten times it the loss grows more than anything saved, on the tables we know."""


def lasting(job: Job, problem: Problem, solution: Solution, progress: Progress | None) -> Solution:
    """Return the candidate of least expected loss; `solution` itself where no other one loses less.

    Parameters
    ----------
    solution : Solution
        That of least loss.
    """
    assert job.series is not None  # noqa: S101 (the caller has asked)
    nights = job.series.memory - 1
    best, least = solution, _with_price(job, problem, solution, nights)
    checked = solution.checked
    for multiple in MULTIPLES:
        larger = KAnonymity(k=multiple * _least(problem))
        found = method("optimal").run(replace(problem, models=(*problem.models, larger)), progress)
        if found is None:
            break
        checked += found.checked
        one = method("optimal").run(replace(problem, lattice=Lattice(found.levels, found.levels), start=None))
        if one is None:
            continue
        price = _with_price(job, problem, one, nights)
        if price < least:
            unproven = replace(one, optimal=False, exhaustive=False, lower_bound=solution.lower_bound)
            best, least = unproven, price
    return replace(best, checked=checked)


def churn_stated(job: Job, problem: Problem, solution: Solution, nights: int) -> ChurnStated:
    """Return what the report says: what is expected of tonight's levels, so many nights after the first remembered one.

    Parameters
    ----------
    solution : Solution
        That of tonight's levels on the whole table.
    """
    assert job.churn is not None  # noqa: S101 (the caller has asked)
    found = _expected(job, problem, solution, nights)
    return {
        "arrivals": job.churn.arrivals,
        "departures": job.churn.departures,
        "loss_possible": finite(solution.lower_bound),
        "held_back_share": found.held_back,
        "covered_share": found.covered,
    }


def _with_price(job: Job, problem: Problem, solution: Solution, nights: int) -> float:
    loss = leading(solution.loss)
    return loss + (1 - loss) * sum(_expected(job, problem, solution, nights))


def _expected(job: Job, problem: Problem, solution: Solution, nights: int) -> Expected:
    assert job.churn is not None  # noqa: S101 (the caller has asked)
    assert job.series is not None  # noqa: S101
    covers = job.series.departures == "cover"
    churn = Churn(job.churn.arrivals, job.churn.departures, _least(problem), covers)
    table = problem.table
    counts = table.counts.copy()
    counts[solution.suppressed_tuples] = 0
    sizes = np.bincount(table.partition(solution.levels).gid, weights=counts).astype(np.int64)
    return expected(churn, sizes[sizes > 0], nights)


def _least(problem: Problem) -> int:
    return max(2, *(model.minimum_class_size for model in problem.models))
