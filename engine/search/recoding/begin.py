"""The classes at some levels, from which a splitting begins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.lattice.space import Levels
from engine.search.problem import Problem
from engine.search.recoding.pieces import Pieces
from engine.search.recoding.splitting import Split, failing_of
from engine.tables.counting.present_classes import PresentClasses


class Begin(NamedTuple):
    """Classes that are split.

    Attributes
    ----------
    gone : int64, shape (S,)
        Rows that are suppressed.
    gid : int32, shape (R,)
        Class of each row, -1 for those.
    levels : int64, shape (C, m)
    """

    gone: NDArray[np.int64]
    gid: NDArray[np.int32]
    levels: NDArray[np.int64]


def classes_at(problem: Problem, levels: Levels) -> Begin | None:
    """Return the classes at some levels that satisfy the models; None if too many records are in others."""
    table = problem.table
    classes = table.partition(levels)
    fails = failing_of(problem, PresentClasses.of(classes)) | classes.refused
    gone = np.flatnonzero(fails[classes.gid])
    if table.counts[gone].sum() > problem.limit or fails.all():
        return None
    place = np.where(fails, -1, np.cumsum(~fails) - 1)
    of_class = np.repeat(np.array([levels], np.int64), int((~fails).sum()), axis=0)
    return Begin(gone, place[classes.gid].astype(np.int32), of_class)


def as_pieces(problem: Problem, split: Split) -> Pieces:
    """Return the classes of a splitting, whole tuples."""
    kept = np.flatnonzero(split.gid >= 0)
    return Pieces(kept, problem.table.counts[kept], split.levels[split.gid[kept]].astype(np.int8))
