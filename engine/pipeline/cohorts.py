"""Levels of their own for each night's newcomers, which they keep (definitions: Series, `arrivals: batch`).

In: tonight's records, and the levels that each person had in the last remembered release with him or her. Out: the cell
of each record, the table of those who are released, with a row per tuple and combination of levels, and its recoding.

Newcomers, who are in no remembered release, are a table of their own: the search finds the levels at which they lose
least and each class of them alone satisfies the models, so that nobody of them has to wait for others. Classes of the
file are unions of such classes where labels are equal, so that they satisfy monotone models as well. Who was in a
release keeps his or her levels, and moves where values change. The trace condition is decided on cells, as ever.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.job.job import Job
from engine.job.problem import problem_of
from engine.search.loss import loss_of
from engine.search.problem import Problem, Solution
from engine.search.recoding.splitting import failing_of
from engine.search.registry import method
from engine.series.remembered import Cohorts, History
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.present_classes import PresentClasses
from engine.tables.persons.chosen_records import table_of
from engine.tables.persons.subject import RecordsRead
from engine.tables.recoding.recoding import recoding_of


@dataclass(frozen=True, eq=False)
class CohortCells:
    """The cells of tonight's n records, each of one person, at levels that differ between cohorts.

    Attributes
    ----------
    wanted : int32, shape (n,)
        Cell of each record, from 0; -1 where it is suppressed.
    problem : Problem
        Tonight's.
    table : FrequencyTable
        With a row per tuple and combination of levels; only its codes are of these rows.
    read : RecordsRead
        The records, with the row of this table of each.
    own : int32, shape (n,)
        Combination of levels of each record.
    of_row : int32, shape (Q,)
        The same of each row of the table.
    levels : int8, shape (V, m)
        The combinations.
    checked : int
        Partitions that the searches made.
    """

    wanted: NDArray[np.int32]
    problem: Problem
    table: FrequencyTable
    read: RecordsRead
    own: NDArray[np.int32]
    of_row: NDArray[np.int32]
    levels: NDArray[np.int8]
    checked: int

    def released(self, job: Job, chosen: NDArray[np.bool_]) -> tuple[Problem, Solution]:
        """Return the problem and the solution of the records that are released, bool, shape (n,)."""
        rows = self.read.rows[chosen]
        there = np.bincount(rows, minlength=self.of_row.size) > 0
        table = table_of(self.table, self.read, chosen)
        nobody = np.empty(0, np.int64)
        recoding = recoding_of(table, self.levels[self.of_row[there]], self.problem.lattice.low, nobody)
        recoding = replace(recoding, of_record=(np.cumsum(there) - 1)[rows])
        made = replace(problem_of(job, table), lattice=self.problem.lattice, start=None)
        solution = Solution(
            levels=(),
            suppressed_tuples=nobody,
            suppressed=0,
            loss=0.0,
            lower_bound=0.0,
            optimal=False,
            checked=self.checked,
            recoding=recoding,
        )
        return made, replace(solution, loss=loss_of(made.evaluator, table, solution, nobody))

    def cohorts(self, chosen: NDArray[np.bool_]) -> Cohorts:
        """Return the levels of each person; the combinations of those alone who are released, bool, shape (n,)."""
        used = np.unique(self.own[chosen])
        place = np.full(self.levels.shape[0], -1, np.int32)
        place[used] = np.arange(used.size)
        names = self.table.attributes
        levels = [dict(zip(names, map(int, one), strict=True)) for one in self.levels[used].tolist()]
        return Cohorts(place[self.own], levels)


def cells_of_cohorts(
    job: Job, problem: Problem, searched: Solution, read: RecordsRead, history: History, ids: NDArray[np.uint8]
) -> CohortCells:
    """Return the cells of tonight's records.

    Parameters
    ----------
    problem : Problem
        Of all records.
    searched : Solution
        Its solution: the levels of the first release, where all are newcomers.
    ids : uint8, shape (n, `ID_BYTES`)
        Of the person of each record.
    """
    places = history.places(ids)
    of_person, levels = history.last_levels(problem.table.attributes)
    # levels that the job does not allow any more become the nearest that it allows
    low, high = (np.array(end, np.int8) for end in (problem.lattice.low, problem.lattice.high))
    levels = np.clip(levels, low, high)
    own = np.append(of_person, -1)[places].astype(np.int32)
    new = own < 0  # the vault still has the place of who was in the oldest release alone, which tonight's pushes out
    suppressed = np.zeros(new.size, np.bool_)
    checked = searched.checked
    if new.any():
        found, table, rows = _of_newcomers(job, problem, searched, read, new)
        # where they satisfy the models at no levels, they wait at the highest
        chosen = problem.lattice.high if found is None else found.levels
        own[new] = levels.shape[0]
        levels = np.vstack([levels, np.array([chosen], np.int8)])
        if found is not None:
            gone = np.zeros(table.counts.size, np.bool_)
            gone[found.suppressed_tuples] = True
            suppressed[new] = gone[rows]
            checked += 0 if found is searched else found.checked
    if problem.table.refused is not None:
        suppressed |= problem.table.refused[read.rows]
    levels, same = np.unique(levels, axis=0, return_inverse=True)
    own = same.reshape(-1)[own].astype(np.int32)
    keys, row = np.unique(read.rows * levels.shape[0] + own, return_inverse=True)
    tuples, of_row = keys // levels.shape[0], (keys % levels.shape[0]).astype(np.int32)
    table = replace(
        problem.table,
        codes=np.ascontiguousarray(problem.table.codes[:, tuples]),
        counts=np.bincount(row, minlength=keys.size).astype(np.int64),
        first=problem.table.first[tuples],
        refused=None if problem.table.refused is None else problem.table.refused[tuples],
    )
    cells = recoding_of(table, levels[of_row], problem.lattice.low, np.empty(0, np.int64))
    wanted = np.where(suppressed, np.int32(-1), cells.gid[row]).astype(np.int32)
    of_rows = read._replace(rows=row.astype(np.int64))
    return CohortCells(wanted, problem, table, of_rows, own, of_row, levels, checked)


def failing_records(problem: Problem, solution: Solution) -> NDArray[np.bool_]:
    """Return which records of a table that is released are in a class that fails a model, bool, shape (n,)."""
    classes = solution.partition(problem.table)
    assert solution.recoding is not None  # noqa: S101 (of mixed levels)
    assert solution.recoding.of_record is not None  # noqa: S101
    return failing_of(problem, PresentClasses.of(classes))[classes.gid][solution.recoding.of_record]


def _of_newcomers(
    job: Job, problem: Problem, searched: Solution, read: RecordsRead, new: NDArray[np.bool_]
) -> tuple[Solution | None, FrequencyTable, NDArray[np.int64]]:
    """Return what the search finds for newcomers alone, their table, and the row of it of each."""
    if new.all():
        return searched, problem.table, read.rows
    there = np.bincount(read.rows[new], minlength=problem.table.counts.size) > 0
    table = table_of(problem.table, read, new)
    # tonight's limit is a share of all records; who was suppressed before is a newcomer as well
    limit = min(math.floor(job.suppression_limit * problem.table.records), table.records)
    found = method(job.search.algorithm).run(replace(problem_of(job, table), limit=limit, start=None))
    return found, table, (np.cumsum(there) - 1)[read.rows[new]]
