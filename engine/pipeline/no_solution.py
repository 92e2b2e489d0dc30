"""Why no transformation satisfies a job: what is required, which criterion is farthest from it, what may be changed.

In: a job and the problem of its search. Out: a message whose counts may be withheld. The count of one criterion is
told: two would tell a third by their difference.
"""

from __future__ import annotations

from dataclasses import replace

from engine.job.job import Job
from engine.message import Count, Message
from engine.privacy.table_wide import TableWideModel
from engine.search.check import Checker
from engine.search.problem import Problem


def no_solution_text(job: Job, problem: Problem, *, exact: bool) -> Message:
    """Return why a search found nothing; `exact`: whether it would have found what there is."""
    models = ", ".join(model.describe() for model in job.counted_privacy)
    within = f" within {job.search.time_limit_seconds:g} seconds" if job.search.time_limit_seconds else ""
    satisfying = f"satisfies {models} while suppressing at most {problem.limit} of them{within}"
    records, nearest = Count(problem.table.records), farthest_criterion(job, problem)
    if job.policy is not None:
        return Message.of(
            "the policy of the {records} records does not do: no transformation by it {satisfying}{nearest}; use a "
            "policy of less risk, allow a higher suppression_limit or a weaker model",
            records=records,
            satisfying=satisfying,
            nearest=nearest,
        )
    changes = "allow higher maximum_level, a higher suppression_limit or a weaker model"
    none = Message.of("no transformation of the {records} records", records=records)
    if exact:
        return Message(none, f" {satisfying}", nearest, f"; {changes}")
    found = Message(f"search.algorithm {job.search.algorithm} found ", none)
    return Message(found, f" that {satisfying}", nearest, f"; use optimal, or {changes}")


def farthest_criterion(job: Job, problem: Problem) -> Message:
    """Tell which criterion suppresses most records at the highest levels allowed, and how many."""
    judged = []
    for place, model in enumerate(problem.models):
        if not isinstance(model, TableWideModel):
            check = Checker(replace(problem, models=(model,))).check(problem.lattice.high)
            judged.append((check.suppressed, -place, model.describe()))
    suppressed, _, criterion = max(judged, default=(0, 0, ""))
    if suppressed <= problem.limit:
        return Message("; at the highest levels allowed no criterion alone suppresses more than that")
    left = problem.table.records - suppressed
    # What is left must not be told either where it is few.
    how_many = Message("nearly all") if 0 < left < job.minimum_class_size else Message(Count(suppressed))
    return Message.of(
        "; the farthest from it is {criterion}: even at the highest levels allowed it suppresses {how_many} of them",
        criterion=criterion,
        how_many=how_many,
    )
