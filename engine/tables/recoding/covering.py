"""The people of a population behind the cells of a local recoding, which may overlap.

In: cells as texts, what each text stands for, and distinct tuples of people. Out: for each cell how many people it
covers, and how many it alone covers; and the tuples that no cell covers. A cell *covers* a person if each of its texts
is, at some level that the job allows, the label of the person's value: so whoever reads the file sees it.

People whom a cell alone covers are behind its records or behind none, whatever is known of the others: for people whom
several cells cover that is not so, since the records of one cell may be just these people. The *people of* a cell
(`people_of`) are those, or as many as it has records if these are more. Where the levels are the same for all records,
no two cells cover a person, and the people of a class are those with its labels (docs/adr/0011).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Coverage(NamedTuple):
    """People of X cells.

    Attributes
    ----------
    covered : int64, shape (X,)
        People whom each cell covers.
    alone : int64, shape (X,)
        Those of them whom no other cell covers.
    uncovered : bool, shape (T,)
        The tuples that no cell covers.
    """

    covered: NDArray[np.int64]
    alone: NDArray[np.int64]
    uncovered: NDArray[np.bool_]


def coverage(
    texts: NDArray[np.int32],
    stands_for: Sequence[NDArray[np.bool_]],
    codes: NDArray[np.int32],
    people: NDArray[np.int64],
) -> Coverage:
    """Count the people behind cells.

    Parameters
    ----------
    texts : int32, shape (X, m)
        Code of the text of each cell in each attribute; no two cells are alike.
    stands_for : m bool arrays, each of shape (texts of the attribute, leaves of the attribute)
        Whether a text is, at some level allowed, the label of a leaf.
    codes : int32, shape (m, T)
        Leaf codes of distinct tuples.
    people : int64, shape (T,)
        People with each tuple.

    Notes
    -----
    Attributes are settled one after another, those first whose texts stand for least: cells that share texts so far
    share the tuples that are left, so the time follows the pairs of a cell and a tuple that agree so far.
    """
    number, width = texts.shape
    covered, by = np.zeros(number, np.int64), np.zeros(people.size, np.int64)
    last = np.zeros(people.size, np.int64)
    means = [float(one.mean()) if one.size else 1.0 for one in stands_for]
    order = sorted(range(width), key=lambda a: means[a])
    waiting = [(0, np.arange(number), np.arange(people.size))] if number else []
    while waiting:
        depth, cells, tuples = waiting.pop()
        if depth == width:
            (cell,) = cells.tolist()
            covered[cell] = people[tuples].sum()
            by[tuples] += 1
            last[tuples] = cell
            continue
        a = order[depth]
        sorted_cells = cells[np.argsort(texts[cells, a], kind="stable")]
        begins = np.flatnonzero(np.diff(texts[sorted_cells, a], prepend=-1))
        for alike in np.split(sorted_cells, begins[1:]):
            left = tuples[stands_for[a][texts[alike[0], a]][codes[a][tuples]]]
            if left.size:
                waiting.append((depth + 1, alike, left))
    once = by == 1
    alone = np.zeros(number, np.int64)
    np.add.at(alone, last[once], people[once])
    return Coverage(covered, alone, by == 0)


def people_of(found: Coverage, records: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many people may be behind a record of each cell at least, shape (X,).

    Parameters
    ----------
    records : int64, shape (X,)
        Of each cell. They are of as many people whom it covers; if it covers fewer, some are of nobody of the
        population.
    """
    return np.minimum(found.covered, np.maximum(found.alone, records))
