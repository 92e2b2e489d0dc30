"""Local recoding beside a population, of which more or other people may be than have records.

In: a problem whose table has a population. Out: `Pieces` of its tuples, those that only the population has among them.
Two ways to satisfy models that demand people, as `engine.tables.recoding.covering` counts them:

- *Apart*: cells of which no two cover a person. A class is split only where no part fails, so each has the people of
  its rows, as with equal levels for all. Each model can be searched with so, delta-presence too, which allows no
  overlap.
- *By records*: a class of k records has k people, so k-anonymity stands for k-map, and everything that is known of
  tables without a population finds classes that satisfy it. Cells may overlap.

Within a class of the first way that has enough records, the second one goes on: cells inside overlap, and with those
outside they share nobody.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.privacy.models.k_anonymity import KAnonymity
from engine.search.problem import Problem, Solution
from engine.search.recoding.pieces import Pieces


def by_records(problem: Problem) -> Problem | None:
    """Return a problem of records alone whose solutions satisfy the models; None if there is none."""
    if any(model.reads_population and not model.demands_people_alone for model in problem.models):
        return None
    models = (KAnonymity(k=model.least_people) if model.reads_population else model for model in problem.models)
    return replace(problem, models=tuple(models))


def without_people(problem: Problem, start: Solution) -> tuple[Problem, Solution, NDArray[np.int64]]:
    """Return a problem and its start without the tuples that only the population has, and the rows that are left."""
    table = problem.table
    rows = np.flatnonzero(table.counts > 0)
    place = np.full(table.counts.size, -1, np.int64)
    place[rows] = np.arange(rows.size)
    suppressed = place[start.suppressed_tuples]
    # rows that only the population has have no sensitive values: the offsets of the others stay as they are
    left = replace(
        table,
        codes=np.ascontiguousarray(table.codes[:, rows]),
        counts=table.counts[rows],
        first=table.first[rows],
        sensitive={
            name: replace(one, offsets=np.append(one.offsets[:1], one.offsets[1:][rows]))
            for name, one in table.sensitive.items()
        },
        population=None,
        refused=None if table.refused is None else table.refused[rows],
    )
    return replace(problem, table=left), replace(start, suppressed_tuples=suppressed[suppressed >= 0]), rows


def with_people(problem: Problem, rows: NDArray[np.int64], pieces: Pieces) -> Pieces:
    """Return pieces of the rows of a table as pieces of the whole table: others are at the highest levels.

    Parameters
    ----------
    rows : int64, shape (R,)
        Rows of the table of the problem; those of the pieces are places in it.
    """
    counts = problem.table.counts
    others = np.setdiff1d(np.arange(counts.size), rows, assume_unique=True)
    highest = np.repeat(np.array([problem.lattice.high], np.int8), others.size, axis=0)
    return Pieces(
        np.concatenate([rows[pieces.tuples], others]),
        np.concatenate([pieces.records, counts[others]]),
        np.concatenate([pieces.levels, highest]),
    )
