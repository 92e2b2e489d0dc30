"""Blocks of near tuples: the classes of a top-down splitting by size alone, which reads no sensitive value.

In: a problem and the rows that are recoded. Out: a block per row. Pairs are compared within blocks, so the time grows
with the square of their tuples.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.kernels.cells import Shape
from engine.privacy.models.k_anonymity import KAnonymity
from engine.search.problem import Problem
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.splitting import Splitting

_LEAST_PART = 4
"""A block has at least one in so many of the records that it may have tuples."""


def blocks_of(
    problem: Problem, shape: Shape, looked: NDArray[np.int64], most: int, deadline: Deadline
) -> NDArray[np.int64]:
    """Return the block of each row that is recoded, 0 to their number - 1, int64, shape (L,).

    Parameters
    ----------
    looked : int64, shape (L,)
        Rows of the table that are recoded.
    most : int
        Tuples of a block.
    deadline : Deadline
        Afterwards blocks are cut by the order of their values alone.
    """
    table = problem.table
    least = max(most // _LEAST_PART, *(model.minimum_class_size for model in problem.models), 2)
    found, place = np.unique(table.partition(problem.lattice.high).gid[looked], return_inverse=True)
    gid = np.full(table.counts.size, -1, np.int32)
    gid[looked] = place
    levels = np.repeat(np.array([problem.lattice.high], np.int64), found.size, axis=0)
    sized = replace(problem, models=(KAnonymity(k=least),))
    blocks = Splitting(sized, shape, most).run(gid, levels, deadline).blocks[looked]
    # a class that cannot be split further is cut where its tuples are, in their order
    order = np.lexsort((*table.codes[::-1, looked], blocks))
    begins = np.flatnonzero(np.diff(blocks[order], prepend=-1))
    nth = np.arange(order.size) - np.repeat(begins, np.diff(np.append(begins, order.size)))
    _, cut = np.unique(np.stack([blocks[order], nth // most]), axis=1, return_inverse=True)
    of_row = np.empty(order.size, np.int64)
    of_row[order] = cut.ravel()
    return of_row
