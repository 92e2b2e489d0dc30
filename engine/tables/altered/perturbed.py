"""Columns with noise or after randomization: each record draws by the keyed hash of its place in the source.

In: a source, how its columns are perturbed, which of its records are released, a key of this run. Out: a `Table` that
shows the drawn values, the same in each reading. How wide noise is and which categories there are say only the records
that are released: an extreme value of another one must not show. Who does not have the key, which is kept nowhere, can
neither repeat a draw nor take it off: the draws of two columns, and of two runs, have nothing in common.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.altered.noise import Spread
from engine.tables.altered.pram import Categories, invariant_matrix
from engine.tables.altered.row_cap import row_hash
from engine.tables.derived_keys import derived_key
from engine.tables.sources.column_types import plain_type
from engine.tables.sources.table import Table

_BITS = 52
"""Of a hash that make a draw: a double holds the middle of each of so many steps exactly, so that none is 0 or 1."""


@dataclass(frozen=True)
class NoiseOf:
    """Noise whose standard deviation is so many per cent of that of the column."""

    percent: float

    def read(self, name: str, source: Table, kind: pa.DataType) -> Spread:
        """Read the column once."""
        return Spread.of(name, (batch.column(0) for batch in source.batches([name])), kind, self.percent)


@dataclass(frozen=True)
class PramOf:
    """Randomization by an invariant matrix; `missing` are texts that mean a missing value."""

    pd: float
    alpha: float
    missing: frozenset[str] = frozenset()

    def read(self, name: str, source: Table, kind: pa.DataType) -> Categories:
        """Read the column once."""
        columns = (_plain(batch.column(0), kind) for batch in source.batches([name]))
        return Categories.of(name, columns, kind, self.missing, partial(self._matrix, name))

    def _matrix(self, name: str, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        if self.pd * counts.size < 1:
            # of two categories that always change and are drawn back, none has changed
            raise InvalidData(
                f"column {name!r}: has {counts.size} categories, and pram.pd is {self.pd:g}: below 1/{counts.size}, "
                f"less changes the lower it is; set it to {math.ceil(1000 / counts.size) / 1000:g} or more"
            )
        return invariant_matrix(counts, self.pd, self.alpha)


class PerturbedTable:
    """A source with perturbed columns.

    Parameters
    ----------
    columns : mapping of column to NoiseOf or PramOf
    key : bytes
        Secret and random, of this run.
    released : Table, optional
        These columns of the records that are released, if not all are.

    Raises
    ------
    InvalidData
        A column has no numbers that differ, or no categories, or too many.
    """

    def __init__(
        self,
        source: Table,
        columns: Mapping[str, NoiseOf | PramOf],
        key: bytes,
        released: Table | None = None,
    ) -> None:
        self._source = source
        self._keys = {name: perturbation_key(key, name) for name in columns}
        self.schema = pa.schema(
            [one.with_type(plain_type(one.type)) if one.name in columns else one for one in source.schema]
        )
        self._drawn = {
            name: how.read(name, source if released is None else released, self.schema.field(name).type)
            for name, how in columns.items()
        }

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`.

        Raises
        ------
        InvalidData
            Also if a number with noise does not fit its column.
        """
        begin = 0
        for batch in self._source.batches(columns):
            made = [
                self._perturbed(name, column, begin) if name in self._drawn else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            begin += batch.num_rows
            yield pa.RecordBatch.from_arrays(made, names=batch.schema.names) if made else batch

    def _perturbed(self, name: str, column: pa.Array, begin: int) -> pa.Array:
        how, uniform = self._drawn[name], draws(begin, len(column), self._keys[name])
        if isinstance(how, Spread):
            return how.added(name, column, uniform)
        return how.drawn(_plain(column, self.schema.field(name).type), uniform)


def perturbation_key(key: bytes, name: str) -> bytes:
    """Return the key of the draws of a column."""
    return derived_key(key, "perturbation", name)


def draws(begin: int, records: int, key: bytes) -> NDArray[np.float64]:
    """Return the draws of the records from the place `begin` on, float64, shape (records,), above 0 and below 1."""
    hashes = np.fromiter((row_hash(place, key) for place in range(begin, begin + records)), np.uint64, records)
    return ((hashes >> np.uint64(64 - _BITS)).astype(np.float64) + 0.5) / 2.0**_BITS


def _plain(column: pa.Array, kind: pa.DataType) -> pa.Array:
    column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    return column if column.type == kind else column.cast(kind)
