"""The research subset of a source: which of its records are released.

In: a file whose columns are columns of the source, with one row per released record. Out: a `Table` of these records in
the order of the source. Rows are compared as text; an empty text is a missing value. If several records match, as many
are released as the file has such rows, in the order of the source. A file may list the released records by a few
columns, such as a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.kernels.tuples import find_tuples, index_tuples, take_listed
from engine.message import Count, Message
from engine.tables.sources.column_text import as_text
from engine.tables.sources.table import Table


class Subset:
    """Finds the released records, batch by batch.

    Parameters
    ----------
    source : Table
        The population.
    listed : Table
        The rows of the file.
    where : str
        Name of the file in error texts.

    Raises
    ------
    InvalidData
        The file is empty, or has a column that the source lacks.
    """

    def __init__(self, source: Table, listed: Table, where: str) -> None:
        self._where = where
        self.columns = tuple(listed.schema.names)
        foreign = sorted(set(self.columns) - set(source.schema.names))
        if foreign:
            # the message has no names: without a header they are the values of the first record
            raise InvalidData(
                f"subset {where}: columns of it that are not in the source: {len(foreign)} of {len(self.columns)}; "
                "check its header and the delimiter, and leave out what the source does not have"
            )
        self._values = [_Values(name) for name in self.columns]
        codes = [self._codes(batch, grow=True) for batch in listed.batches(self.columns)]
        rows = np.concatenate([np.empty((0, len(self.columns)), np.int32), *codes])
        if not rows.size:
            raise InvalidData(f"subset {where}: has no rows, so that nothing would be released; list the records in it")
        group, first, self._slots = index_tuples(rows)
        self._known = rows[first]
        self._rows = np.bincount(group, minlength=first.size).astype(np.int64)

    def matcher(self) -> Matcher:
        """Start a reading of the source."""
        return Matcher(self, self._rows.copy())

    def find(self, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """Return the listed row that each record matches, -1 for none, shape (records,)."""
        return find_tuples(self._codes(batch, grow=False), self._known, self._slots)

    def refuse_rest(self, rest: NDArray[np.int64]) -> None:
        """Raise InvalidData if rows of the file were not found in the source."""
        if rest.any():
            raise InvalidData(
                Message.of(
                    "subset {where}: rows of it that are no records of the source: {unmatched} of {rows}; make it from "
                    "the same source, with values written alike",
                    where=self._where,
                    unmatched=Count(rest.sum()),
                    rows=Count(self._rows.sum()),
                )
            )

    def _codes(self, batch: pa.RecordBatch, *, grow: bool) -> NDArray[np.int32]:
        codes = [values.encode(batch.column(values.name), grow=grow) for values in self._values]
        return np.ascontiguousarray(np.column_stack(codes))


class _Values:
    """Codes of the values of one column of the file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._known: dict[str, int] = {}

    def encode(self, column: pa.Array, *, grow: bool) -> NDArray[np.int32]:
        encoded = pc.fill_null(as_text(column, self.name), "").dictionary_encode()
        values = encoded.dictionary.to_pylist()
        if grow:
            here = [self._known.setdefault(value, len(self._known)) for value in values]
        else:
            here = [self._known.get(value, -1) for value in values]
        positions: NDArray[np.int32] = encoded.indices.to_numpy(zero_copy_only=False)
        return np.array(here, np.int32)[positions]


class Matcher:
    """One reading of the source, from its start."""

    def __init__(self, subset: Subset, rest: NDArray[np.int64]) -> None:
        self._subset = subset
        self._rest = rest

    def released(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Return which records of the next batch are released, shape (records,)."""
        return take_listed(self._subset.find(batch), self._rest)

    def finish(self) -> None:
        """Raise InvalidData if the file has rows that matched no record."""
        self._subset.refuse_rest(self._rest)


class ReleasedTable:
    """The records of a source that a subset lists, as a `Table`."""

    def __init__(self, source: Table, subset: Subset) -> None:
        self._source = source
        self._subset = subset
        self.schema = source.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        matcher = self._subset.matcher()
        for batch in self._source.batches(list(dict.fromkeys([*columns, *self._subset.columns]))):
            released = pa.array(matcher.released(batch))
            yield batch.filter(released).select(list(columns))
        matcher.finish()
