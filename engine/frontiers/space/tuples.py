"""The distinct tuples of a table and its population, as positions in the domains of a policy space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.frontiers.space.domain import PolicySpace
from engine.tables.counting.frequency import FrequencyTable


@dataclass(frozen=True, eq=False)
class Tuples:
    """R distinct tuples of m quasi-identifiers, without those that neither a record nor a person has.

    Attributes
    ----------
    positions : int32, shape (m, R)
        Positions of the values in the domains.
    records : int64, shape (R,)
        Records f; 0 for a tuple that only the population has.
    people : int64, shape (R,)
        Persons F of the population, which contains the records: a cell with fewer persons than records counts its
        records.
    """

    positions: NDArray[np.int32]
    records: NDArray[np.int64]
    people: NDArray[np.int64]

    @classmethod
    def of(cls, table: FrequencyTable, space: PolicySpace) -> Tuples:
        """Take the tuples of a frequency table; without a population the table is used in its place.

        Records that every transformation suppresses are left out, because no policy releases them.

        Raises
        ------
        InvalidData
            The table has no record.
        """
        people = table.counts if table.population is None else table.population
        there = measured_rows(table)
        positions = [
            domain.leaf_positions[codes[there]] for domain, codes in zip(space.domains, table.codes, strict=True)
        ]
        return cls.checked(
            np.array(positions, np.int32).reshape(len(space.domains), -1), table.counts[there], people[there]
        )

    @classmethod
    def checked(cls, positions: NDArray[np.int32], records: NDArray[np.int64], people: NDArray[np.int64]) -> Tuples:
        """Take arrays, with at least one record.

        Raises
        ------
        InvalidData
            There is none.
        """
        if not records.any():
            raise InvalidData(
                "the source has no record that can be released: a risk-utility frontier needs at least one"
            )
        return cls(
            np.ascontiguousarray(positions, np.int32),
            np.ascontiguousarray(records, np.int64),
            np.ascontiguousarray(people, np.int64),
        )


def measured_rows(table: FrequencyTable) -> NDArray[np.bool_]:
    """Return which rows of a frequency table are tuples of its plane, bool, shape (rows,)."""
    there = table.counts > 0
    if table.population is not None:
        there |= table.population > 0
    return there if table.refused is None else there & ~table.refused
