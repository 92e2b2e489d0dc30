"""Why no transformation satisfies a job: what is required, which criterion is farthest from it, what may be changed.

In: a job and the problem of its search. Out: a message without a count of records: the same table may be released
later, and the difference to what is released then would tell how few are left out. The share of one criterion is told:
two would tell a third by their difference. A step of it is ten times what one record moves, as of any other figure of
the source, and where persons are counted it is of as many as a class must have.
"""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.published import significant
from engine.job.job import Job
from engine.message import Message
from engine.pipeline.published import FEWEST_BESIDE
from engine.privacy.table_wide import TableWideModel
from engine.search.check import Checker
from engine.search.problem import Problem
from engine.search.whole_persons import WholePersons
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.persons.pictures import apart_of


def no_solution_text(job: Job, problem: Problem, *, exact: bool, seconds: float) -> Message:
    """Return why a search found nothing.

    Parameters
    ----------
    exact : bool
        Whether it would have found what there is, in time enough.
    seconds : float
        How long it searched.
    """
    models = ", ".join(model.describe() for model in job.counted_privacy)
    was_cut = job.search_seconds is not None and seconds >= job.search_seconds
    within = f" within {job.search_seconds:g} seconds" if was_cut else ""
    most = f"{100 * job.suppression_limit:.4g}% of its records"
    satisfying = f"satisfies {models} while suppressing at most {most}{within}"
    few = too_few(job, problem)
    nearest, limited = _farthest_criterion(job, problem) if few is None else _Farthest(f"; {few}", leaves_some=True)
    if job.policy is not None:
        changes = _MORE if few else f"use a policy of less risk, or {_changes(job, limited=limited)}"
        return Message(f"the policy does not do: no transformation by it {satisfying}{nearest}; {changes}")
    changes = _MORE if few else _changes(job, problem, limited=limited)
    none = "no transformation of the table"
    if few or (exact and not was_cut):
        return Message(f"{none} {satisfying}{nearest}; {changes}")
    if exact:
        return Message(f"{none} was found that {satisfying}{nearest}; raise search.time_limit_seconds, or {changes}")
    found = f"search.algorithm {job.search.algorithm} found {none}"
    return Message(f"{found} that {satisfying}{nearest}; use optimal, or {changes}")


def nothing_left_text(job: Job, problem: Problem) -> str:
    """Return why a release would tell nobody apart, and what may be changed."""
    nothing = "nothing would be left to tell apart"
    all_the_same = "set allow_empty_information: true to release the table all the same"
    few = too_few(job, problem)
    if few is not None:
        return f"{nothing}: {few}; {_MORE}, or {all_the_same}"
    higher = "raise suppression_limit, " if job.suppression_limit < 1 else ""
    return (
        f"{nothing}: every quasi-identifier is at its root in all records that would be released; {higher}choose a "
        "weaker model, give a hierarchy more levels, take a column out of the quasi-identifiers, or "
        f"{all_the_same}"
    )


def too_few(job: Job, problem: Problem) -> str | None:
    """Tell that the table has fewer records, or persons, than one class must have; None if it has as many.

    Their number is not told, and nothing of a table whose release is differentially private.
    """
    if job.is_private:
        return None
    persons = problem.table.persons
    if persons is None:
        least = max(model.minimum_class_size for model in problem.models)
        present, kind = problem.table.records, "records"
    else:
        least = job.minimum_persons
        present, kind = persons.number, "persons"
    return None if present >= least else f"the table has fewer {kind} than the {least} that a class must have"


def _changes(job: Job, problem: Problem | None = None, *, limited: bool) -> str:
    """Say what may be allowed; what is at its limit already is left out. `limited`: by suppression alone."""
    found = []
    if problem is not None:
        last = [hierarchy.level_count - 1 for hierarchy in problem.table.hierarchies]
        found += ["higher maximum_level"] if tuple(last) != tuple(problem.lattice.high) else []
    found += ["a higher suppression_limit"] if limited and job.suppression_limit < 1 else []
    allowed = ", ".join(found)
    return f"allow {allowed} or a weaker model" if found else "use a weaker model"


_MORE = "use a weaker model, or a table of more of them"


class _Farthest(NamedTuple):
    """The farthest criterion, as a part of a sentence, and whether it leaves any record: else no limit helps."""

    text: str
    leaves_some: bool


def _farthest_criterion(job: Job, problem: Problem) -> _Farthest:
    """Tell which criterion suppresses most records at the highest levels allowed, and about which share."""
    judged = []
    for place, model in enumerate(problem.models):
        if not isinstance(model, TableWideModel):
            rows = _suppressed_by(replace(problem, models=(model,)))
            judged.append((int(problem.table.counts[rows].sum()), -place, model.describe(), rows))
    suppressed, _, criterion, rows = max(judged, key=itemgetter(0, 1), default=(0, 0, "", np.empty(0, np.int64)))
    if suppressed <= problem.limit:
        return _Farthest("; at the highest levels allowed no criterion alone suppresses more than that", True)
    share = _share(job, problem.table, rows)
    told = f"; the farthest from it is {criterion}: even at the highest levels allowed it suppresses {share}"
    return _Farthest(told, suppressed < problem.table.records)


def _share(job: Job, table: FrequencyTable, rows: NDArray[np.int64]) -> str:
    """Tell about which share of a table some rows have; what they leave must not be told either where it is few."""
    suppressed, smallest = int(table.counts[rows].sum()), job.minimum_class_size
    kept = np.setdiff1d(np.arange(table.counts.size), rows)
    left = table.records - suppressed
    if not left:
        return "all of them"
    if suppressed < smallest:
        return f"fewer than {smallest} of them"
    if _has_few_persons(job, table, rows):
        return f"those of fewer than {job.minimum_persons} persons"
    if left < smallest or _has_few_persons(job, table, kept):
        return "nearly all of them"
    digits = 2 if table.records >= FEWEST_BESIDE else 1
    return f"about {significant(100 * suppressed / table.records, digits):g}% of them"


def _has_few_persons(job: Job, table: FrequencyTable, rows: NDArray[np.int64]) -> bool:
    """Whether persons are counted, and some rows are of fewer than a class must have."""
    if table.persons is None:
        return False
    return bool(np.unique(table.persons.runs.selected(rows).members).size < job.minimum_persons)


def _suppressed_by(problem: Problem) -> NDArray[np.int64]:
    """Return the rows that the models suppress at the highest levels allowed."""
    high = problem.lattice.high
    if problem.known == "any-row":
        return Checker(problem).check(high).rows
    cells = problem.table.partition(high)
    apart = apart_of(cells)
    out = WholePersons(problem).out(cells, np.zeros(apart.offsets.size - 1, np.bool_))
    return np.flatnonzero(apart.of_rows(out))
