"""Read source and release side by side: counts of each column, and the records that models see.

In: the records in the order of the source, each with what becomes of it. Out: for each column that is compared the
records of each value that the file shows, and of each that it does not; for models the labels of the records that were
drawn, before and after. Memory follows the distinct values and the drawn records.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy
from engine.tables.release.transform import Transformation
from engine.tables.sources.column_text import as_text, dictionary_of
from engine.tables.sources.table import Table


@dataclass(frozen=True)
class Reading:
    """How the values of a column are read that is released as it is: see `values`.

    Attributes
    ----------
    name : str
    missing : frozenset of str
        Texts that mean a missing value.
    numeric : bool
        Whether texts are numbers.
    """

    name: str
    missing: frozenset[str] = frozenset()
    numeric: bool = False

    def values(self, column: pa.Array) -> list[Any]:
        """Return numbers as float, dates as their year, anything else as text, and None for a missing value."""
        kind = column.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return [None if value is None else _number(value) for value in column.to_pylist()]
        texts = [None if text in self.missing else text for text in as_text(column, self.name).to_pylist()]
        if self.numeric:
            return [None if text is None else _number(text) for text in texts]
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            return [None if text is None else text[:4] for text in texts]
        return texts


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return None if math.isnan(number) else number


class Drawn(NamedTuple):
    """Records that the models see.

    Attributes
    ----------
    chosen : bool, shape (records that are taken,)
    order : int64, shape (drawn,)
        Places among the drawn records, in the order in which the models see them.
    content : bytes
        Hash of all records that are taken, in whatever order.
    """

    chosen: NDArray[np.bool_]
    order: NDArray[np.int64]
    content: bytes = b""


@dataclass
class Tally:
    """Records of each value of a column that is released as it is, by whether the file shows them: (shown, not)."""

    of_value: dict[Hashable, list[int]] = field(default_factory=dict)

    def add(self, column: pa.Array, reading: Reading, shown: NDArray[np.bool_]) -> None:
        """Count a batch."""
        values, places = dictionary_of(column, reading.name)
        known = [*reading.values(values), None]
        for side, chosen in enumerate((shown, ~shown)):
            counts = np.bincount(np.minimum(places[chosen], len(known) - 1), minlength=len(known))
            for place in np.flatnonzero(counts).tolist():
                self.of_value.setdefault(known[place], [0, 0])[side] += int(counts[place])


@dataclass
class LeafTally:
    """Records of a quasi-identifier.

    Attributes
    ----------
    leaves : int64, shape (2, leaves)
        By leaf: those that the file shows, and those that are suppressed.
    cells : int64, shape (places,)
        By place of their class: those that the file shows.
    """

    leaves: NDArray[np.int64]
    cells: NDArray[np.int64]


@dataclass
class Read:
    """What was read.

    Attributes
    ----------
    rows : int
        Records of the file.
    tallies : mapping of column to Tally
    leaf_tallies : sequence of m LeafTally
    drawn : sequence of m int32 arrays
        Leaf codes of the drawn records, by quasi-identifier.
    places : int64, shape (drawn,)
        Places of their classes.
    suppressed : bool, shape (drawn,)
    targets : mapping of column to list
        Values of the drawn records.
    leaves : sequence of m int32 arrays
        Leaf codes of the records that are taken, of the quasi-identifiers that were asked for, by their place; the
        others are empty.
    """

    rows: int
    tallies: dict[str, Tally]
    leaf_tallies: list[LeafTally]
    drawn: list[NDArray[np.int32]]
    places: NDArray[np.int64]
    suppressed: NDArray[np.bool_]
    targets: dict[str, list[Any]]
    leaves: list[NDArray[np.int32]]


def read_beside(
    transformation: Transformation,
    table: Table,
    hierarchies: Sequence[Hierarchy],
    columns: Sequence[Reading],
    targets: Sequence[Reading],
    drawn: Drawn | None,
    *,
    dropped: bool,
    restricted: bool,
    kept: Collection[int] = (),
) -> Read:
    """Read the source once more, with what the transformation makes of each record.

    Parameters
    ----------
    columns : sequence of Reading
        Compared columns that are no quasi-identifiers.
    drawn : Drawn or None
        Which of the records that are taken the models see, and in which order; None of none.
    dropped : bool
        Suppressed records are left out of the file: it shows none of their columns.
    restricted : bool
        Suppressed records are taken as if there had been none: none of their quasi-identifiers, and no column at all
        where they are left out of the file.
    kept : collection of int
        Quasi-identifiers of which the leaf code of each record is asked for.
    """
    places = len(transformation.labels_of_places(0))
    tallies = {one.name: Tally() for one in columns}
    leaves = [LeafTally(np.zeros((2, one.codes.shape[1]), np.int64), np.zeros(places, np.int64)) for one in hierarchies]
    parts: list[tuple[list[NDArray[np.int32]], NDArray[np.int64], NDArray[np.bool_]]] = []
    values: dict[str, list[Any]] = {one.name: [] for one in targets}
    leaf_codes: list[list[NDArray[np.int32]]] = [[np.empty(0, np.int32)] for _ in hierarchies]
    begin = rows = 0
    for one in transformation.in_source_order(table):
        taken = ~one.suppressed if restricted else np.ones(one.places.size, np.bool_)
        rows += int((~one.suppressed).sum()) if dropped else one.places.size
        for tally, codes in zip(leaves, one.leaves, strict=True):
            for side, chosen in enumerate((~one.suppressed, one.suppressed & taken)):
                tally.leaves[side] += np.bincount(codes[chosen], minlength=tally.leaves.shape[1])
            tally.cells += np.bincount(one.places[~one.suppressed], minlength=places)
        for reading in columns:
            shown = ~one.suppressed if dropped else np.ones(one.places.size, np.bool_)
            there = shown if restricted else np.ones(one.places.size, np.bool_)
            column = one.others.column(reading.name).filter(pa.array(there))
            tallies[reading.name].add(column, reading, shown[there])
        for a in kept:
            leaf_codes[a].append(one.leaves[a][taken])
        # places among those that are taken: how many others there are changes no draw
        seen = np.flatnonzero(taken)
        chosen = np.zeros(seen.size, np.bool_) if drawn is None else drawn.chosen[begin : begin + seen.size]
        seen, begin = seen[chosen], begin + seen.size
        parts.append(([codes[seen] for codes in one.leaves], one.places[seen], one.suppressed[seen]))
        for reading in targets:
            values[reading.name] += reading.values(one.others.column(reading.name).take(pa.array(seen)))
    order = np.empty(0, np.int64) if drawn is None else drawn.order
    return Read(
        rows,
        tallies,
        leaves,
        [np.concatenate([part[0][a] for part in parts])[order] for a in range(len(hierarchies))],
        np.concatenate([part[1] for part in parts])[order],
        np.concatenate([part[2] for part in parts])[order],
        {name: [found[place] for place in order.tolist()] for name, found in values.items()},
        list(map(np.concatenate, leaf_codes)),
    )
