"""The pictures of persons: the multisets of the cells of their records, which a transformation gives them.

In: the classes of a transformation, over a table in which each row is of one person (`rows_apart`). Out: the persons
with equal pictures as classes, or how many persons share the rarest part of each picture.

Who generalizes further merges cells: equal pictures stay equal, and a picture that contains a part contains what
becomes of it. So groups of equal pictures are unions of those of any specialization, and the largest set of persons
among whom each part is shared by k only grows. So it does if those who share a part must also have l distinct values
of a sensitive attribute: let S be a set of persons that satisfies this. At a coarser transformation each part q of a
picture in S comes of some part p of it, of as many cells, and the persons of S who have p have q too; so those who have
q are at least as many, with at least as many values, and S satisfies it there. The union of two such sets is one, by
the same argument, so there is a largest; and who fails in a set that contains it is not in it, so it is what is left
when those who fail are taken out until nobody fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.kernels.picture_parts import fewest_values_of_parts, rarest_parts
from engine.kernels.pictures import equal_pictures, merged_pictures
from engine.tables.counting.frequency import Classes, FrequencyTable
from engine.tables.counting.person_runs import Apart


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


@dataclass(frozen=True, eq=False)
class DiverseValues:
    """What those who share a part must have: at least `least` distinct values of a sensitive attribute.

    Attributes
    ----------
    values : int32
        Person p has `values[ends[p]:ends[p + 1]]`, codes from 0 to `domain` - 1, of which some may be the same.
    ends : int64, shape (P + 1,)
    """

    values: NDArray[np.int32]
    ends: NDArray[np.int64]
    domain: int
    least: int

    @classmethod
    def of(cls, table: FrequencyTable, attribute: str, least: int, with_missing: bool) -> DiverseValues:
        """Return those of the persons of a table whose rows are of one person each."""
        persons = table.persons
        assert persons is not None  # noqa: S101 (only jobs with a subject ask)
        assert persons.apart is not None  # noqa: S101 (of them only those that suppress whole persons)
        labels, found = table.sensitive[attribute].labels, persons.values[attribute]
        values, ends = found.value_of[found.runs.members], found.runs.offsets[persons.apart.offsets]
        if not with_missing and labels[:1] == (None,):
            # a missing value is the first in every order
            known = values != 0
            values, ends = values[known], np.concatenate([[0], np.cumsum(known)])[ends]
        return cls(values, ends, max(1, len(labels)), least)


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

    def fewest_values(
        self, kept: NDArray[np.bool_], diverse: DiverseValues, most: int | None = None
    ) -> NDArray[np.int64]:
        """Count the distinct values of the kept persons who share a part of each picture: the fewest, shape (P,)."""
        found: NDArray[np.int64] = fewest_values_of_parts(
            *self._merged, kept, self._size, most or self._most, diverse.values, diverse.ends, diverse.domain
        )
        return found

    def greatest(self, kept: NDArray[np.bool_], least: int, diverse: Sequence[DiverseValues] = ()) -> NDArray[np.bool_]:
        """Return the largest set of kept persons among whom at least `least` share each part, bool, shape (P,).

        Those who share one also have the values of `diverse`. Who fails in a set fails in each of its subsets, so they
        are taken out until nobody fails. Small parts come first: they are counted sooner, and are parts of larger ones.
        """
        for most in range(1, self._most + 1):
            while True:
                fails = kept & (self.rarest(kept, most) < least)
                for one in diverse:
                    fails |= kept & ~fails & (self.fewest_values(kept & ~fails, one, most) < one.least)
                if not fails.any():
                    break
                kept = kept & ~fails
        return kept
