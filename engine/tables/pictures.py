"""The pictures of persons: the multisets of the cells of their records, which a transformation gives them.

In: the classes of a transformation, over a table in which each row is of one person (`rows_apart`). Out: the persons
with equal pictures as classes, or how many persons share the rarest part of each picture.

Who generalizes further merges cells: equal pictures stay equal, and a picture that contains a part contains what
becomes of it. So groups of equal pictures are unions of those of any specialization, and the largest set of persons
among whom each part is shared by k only grows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.pictures import equal_pictures, merged_pictures, rarest_parts
from engine.tables.frequency import Classes
from engine.tables.person_runs import Apart


def apart_of(classes: Classes) -> Apart:
    """Return the rows by person of a table whose rows are of one person each."""
    persons = classes.table.persons
    assert persons is not None  # noqa: S101 (only jobs with a subject ask)
    assert persons.apart is not None  # noqa: S101 (of them only those that suppress whole persons)
    return persons.apart


def by_picture(cells: Classes) -> Classes:
    """Return the partition of the same rows by the picture of their persons: a class has all rows of its persons."""
    apart = apart_of(cells)
    group, number = equal_pictures(*merged_pictures(cells.gid, cells.table.counts, apart.offsets))
    return Classes(cells.table, apart.of_rows(group), number)


class Parts:
    """The parts of pictures of at most `most` cells, 1 to 3.

    Parameters
    ----------
    cells : Classes
    """

    def __init__(self, cells: Classes, most: int) -> None:
        self._merged = merged_pictures(cells.gid, cells.table.counts, apart_of(cells).offsets)
        self._size = cells.size
        self._most = most

    def rarest(self, kept: NDArray[np.bool_], most: int | None = None) -> NDArray[np.int64]:
        """Count the kept persons, bool, shape (P,), who share the rarest part of each picture, shape (P,).

        Parameters
        ----------
        most : int, optional
            Cells of a part, if fewer than in all.
        """
        found: NDArray[np.int64] = rarest_parts(*self._merged, kept, self._size, most or self._most)
        return found

    def greatest(self, kept: NDArray[np.bool_], least: int) -> NDArray[np.bool_]:
        """Return the largest set of kept persons among whom at least `least` share each part, bool, shape (P,).

        Who fails in a set fails in each of its subsets, so they are taken out until nobody fails. Small parts come
        first: they are counted sooner, and are parts of larger ones.
        """
        for most in range(1, self._most + 1):
            while True:
                fails = kept & (self.rarest(kept, most) < least)
                if not fails.any():
                    break
                kept = kept & ~fails
        return kept
