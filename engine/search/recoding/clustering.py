"""Clustering in blocks: the tuples of each block become classes of at least k records, one after another.

In: a problem whose models demand nothing but a class size, and blocks of its tuples. Out: `Pieces`. The rises of all
pairs of a block are compared (`engine.kernels.clusters`), so the time grows with the square of its tuples: a block has
at most as many as asked for, and larger ones are cut by the order of their values. Blocks are independent: threads
share them. Memory is that of a block per thread, beside the table.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from engine.kernels.cells import Shape
from engine.kernels.clusters import agglomerate, as_pairs
from engine.search.problem import Problem
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.pieces import Pieces
from engine.search.recoding.splitting import Split


def clustered(problem: Problem, shape: Shape, split: Split, most: int, deadline: Deadline) -> Pieces:
    """Cluster the blocks of a splitting; those for which no time is left keep its classes.

    Parameters
    ----------
    most : int
        Tuples of a block.
    deadline : Deadline
    """
    least = max(model.minimum_class_size for model in problem.models)
    codes = np.ascontiguousarray(problem.table.codes.T)
    counts = problem.table.counts
    blocks = list(_blocks(codes, counts, split.blocks, most, least))

    def one(rows: NDArray[np.int64]) -> Pieces:
        levels = split.levels[split.gid[rows]]
        if deadline.over():
            return Pieces(rows, counts[rows], levels.astype(np.int8))
        found = agglomerate(shape, codes[rows], counts[rows], least)
        tuples, classes, records = as_pairs(found)
        return Pieces(rows[tuples], records, found.levels[classes].astype(np.int8))

    # large blocks first: no thread is left alone with one at the end
    found = deadline.share(one, sorted(blocks, key=len, reverse=True), problem.threads)
    return Pieces(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _blocks(
    codes: NDArray[np.int32], counts: NDArray[np.int64], blocks: NDArray[np.int64], most: int, least: int
) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of each block; one with too many tuples is cut where each part has enough records."""
    looked = np.flatnonzero(blocks >= 0)
    order = looked[np.argsort(blocks[looked], kind="stable")]
    for rows in np.split(order, np.flatnonzero(np.diff(blocks[order])) + 1):
        if rows.size <= most:
            yield rows
            continue
        sorted_rows = rows[np.lexsort(codes[rows].T[::-1])]
        parts: list[NDArray[np.int64]] = []
        for part in np.array_split(sorted_rows, -(-rows.size // most)):
            if parts and counts[parts[-1]].sum() < least:
                parts[-1] = np.concatenate([parts[-1], part])
            else:
                parts.append(part)
        if len(parts) > 1 and counts[parts[-1]].sum() < least:
            parts[-2:] = [np.concatenate(parts[-2:])]
        yield from parts
