"""Why no transformation satisfies a job: what is required, which criterion is farthest from it, what may be changed.

In: a job and the problem of its search. Out: a message without a count of records: the same table may be released
later, and the difference to what is released then would tell how few are left out. The share of one criterion is told:
two would tell a third by their difference.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.frontiers.published import significant
from engine.job.job import Job
from engine.message import Message
from engine.privacy.table_wide import TableWideModel
from engine.search.check import Checker
from engine.search.problem import Problem
from engine.search.whole_persons import WholePersons
from engine.tables.pictures import apart_of


def no_solution_text(job: Job, problem: Problem, *, exact: bool) -> Message:
    """Return why a search found nothing; `exact`: whether it would have found what there is."""
    models = ", ".join(model.describe() for model in job.counted_privacy)
    within = f" within {job.search_seconds:g} seconds" if job.search_seconds else ""
    most = f"{100 * job.suppression_limit:.4g}% of its records"
    satisfying = f"satisfies {models} while suppressing at most {most}{within}"
    nearest = farthest_criterion(job, problem)
    if job.policy is not None:
        changes = "use a policy of less risk, allow a higher suppression_limit or a weaker model"
        return Message(f"the policy does not do: no transformation by it {satisfying}{nearest}; {changes}")
    changes = "allow higher maximum_level, a higher suppression_limit or a weaker model"
    none = "no transformation of the table"
    if exact:
        return Message(f"{none} {satisfying}{nearest}; {changes}")
    found = f"search.algorithm {job.search.algorithm} found {none}"
    return Message(f"{found} that {satisfying}{nearest}; use optimal, or {changes}")


def farthest_criterion(job: Job, problem: Problem) -> str:
    """Tell which criterion suppresses most records at the highest levels allowed, and about which share."""
    judged = []
    for place, model in enumerate(problem.models):
        if not isinstance(model, TableWideModel):
            judged.append((_suppressed_by(replace(problem, models=(model,))), -place, model.describe()))
    suppressed, _, criterion = max(judged, default=(0, 0, ""))
    if suppressed <= problem.limit:
        return "; at the highest levels allowed no criterion alone suppresses more than that"
    left, smallest = problem.table.records - suppressed, job.minimum_class_size
    if not left:
        share = "all"
    elif suppressed < smallest:
        share = f"fewer than {smallest}"
    # What is left must not be told either where it is few.
    elif left < smallest:
        share = "nearly all"
    else:
        share = f"about {significant(100 * suppressed / problem.table.records, 2):g}%"
    return f"; the farthest from it is {criterion}: even at the highest levels allowed it suppresses {share} of them"


def _suppressed_by(problem: Problem) -> int:
    """Return the records that the models suppress at the highest levels allowed."""
    high = problem.lattice.high
    if problem.known == "any-row":
        return Checker(problem).check(high).suppressed
    cells = problem.table.partition(high)
    apart = apart_of(cells)
    out = WholePersons(problem).out(cells, np.zeros(apart.offsets.size - 1, np.bool_))
    return int(problem.table.counts[apart.of_rows(out)].sum())
