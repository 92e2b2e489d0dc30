"""The frequency table of tuples that were counted, of quasi-identifiers and sensitive values together.

In: codes of the distinct tuples, with their records. Out: a `FrequencyTable`, whose rows are distinct tuples of the
quasi-identifiers, with histograms of the sensitive values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy, Label
from engine.kernels.histograms import merge_histograms
from engine.kernels.refine import class_counts, class_firsts
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.histogram import Histogram


def frequency_table(
    attributes: Sequence[str],
    hierarchies: Sequence[Hierarchy],
    sensitive: Mapping[str, Sequence[Label]],
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    trees: Mapping[str, Hierarchy] | None = None,
    population: NDArray[np.int64] | None = None,
) -> FrequencyTable:
    """Make the table of distinct joint tuples.

    Parameters
    ----------
    sensitive : mapping of attribute to labels
        The sensitive attributes whose values are counted, and the labels of their codes.
    codes : int32, shape (rows, m + len(sensitive))
        Distinct tuples in order of first appearance: leaf codes of the quasi-identifiers, then codes of the sensitive
        values.
    counts : int64, shape (rows,)
        Released records per tuple; if there are none, sensitive codes are ignored.
    trees : mapping of sensitive attribute to Hierarchy, optional
        Hierarchies of sensitive attributes.
    population : int64, shape (rows,), optional
        Records of the population per tuple.
    """
    m = len(attributes)
    row, heads = _rows(codes[:, :m], [hierarchy.codes.shape[1] for hierarchy in hierarchies])
    there = np.flatnonzero(counts)
    present = slice(None) if there.size == counts.size else there
    histograms = {
        name: _histogram(
            row[present], codes[present, m + i], counts[present], heads.size, tuple(labels), (trees or {}).get(name)
        )
        for i, (name, labels) in enumerate(sensitive.items())
    }
    position = np.where(counts > 0, np.arange(counts.size), np.iinfo(np.int64).max)
    distinct = np.empty((m, heads.size), np.int32)
    for a in range(m):
        # codes are distinct tuples, so no head is out of range, and no copy is made to be sure
        np.take(codes[:, a], heads, out=distinct[a], mode="clip")
    return FrequencyTable(
        tuple(attributes),
        tuple(hierarchies),
        distinct,
        class_counts(row, heads.size, counts),
        class_firsts(row, heads.size, position),
        histograms,
        None if population is None else class_counts(row, heads.size, population),
    )


def _rows(keys: NDArray[np.int32], widths: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Give the distinct rows of `keys`, shape (rows, m), numbers in lexicographic order.

    The columns have `widths` codes. Returns the number of each row, int32, and for each number a row of `keys`.
    """
    combinations = math.prod(widths)
    if combinations < 1 << 63:
        ranks = np.zeros(keys.shape[0], np.int64)
        for a, width in enumerate(widths):
            ranks *= width
            ranks += keys[:, a]
        order = np.argsort(ranks)
        ascending = ranks[order]
        new = np.append(True, ascending[1:] != ascending[:-1])[: order.size]
    else:
        order = np.lexsort(keys.T[::-1])
        new = np.append(True, (keys[order[1:]] != keys[order[:-1]]).any(axis=1))[: order.size]
    row = np.empty(order.size, np.int32)
    row[order] = np.cumsum(new, dtype=np.int32) - 1
    return row, order[new]


def _histogram(
    row: NDArray[np.int32],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    rows: int,
    labels: tuple[Label, ...],
    tree: Hierarchy | None,
) -> Histogram:
    values = np.ascontiguousarray(values)
    merged = merge_histograms(row, rows, np.arange(row.size + 1), values, counts, len(labels))
    return Histogram(*merged, class_counts(values, len(labels), counts), labels, tree)
