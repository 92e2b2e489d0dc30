"""Distinct tuples of a stream, in codes that values get as they appear.

In: a `Table`, the `Columns` to read. Out: the tuples with their records, and the dictionaries of their codes. What the
process holds is compared with what it may hold after each batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.arrow_arrays import flags_of, of_flags, of_texts
from engine.errors import InvalidData, InvalidJob
from engine.memory import PROCESS, needed_beyond, resident, too_little
from engine.message import Count, Message
from engine.tables.altered.subset import Subset
from engine.tables.counting.columns import Columns, Dictionary
from engine.tables.counting.tuple_counts import TupleCounts
from engine.tables.sources.column_text import as_text
from engine.tables.sources.persons import PersonTable, counted_batches
from engine.tables.sources.table import Table

_EMPTY = "the table is empty: it has no records, so there is nothing to de-identify"
_TEXT = 250
"""Bytes of a distinct value beside its characters: as a key of a dictionary, in a hierarchy, and where it is sorted."""
_NAMED = 3
"""Columns that an error names."""


def _bytes_of_tuple(columns: int) -> int:
    """Return the memory that counting and searching need per distinct tuple, as docs/scale.md measures it."""
    return 16 * (columns + 6)


def _bytes_until_sorted(columns: int) -> int:
    """Return the least memory per distinct tuple that follows on counting: what was counted is unpacked and sorted."""
    return 4 * columns + 48


class Tuples(Protocol):
    """Counts the combinations of values of some columns of a table, outside of the engine."""

    def __call__(self, table: Table, columns: Sequence[str], /) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        """Yield combinations with the records of each, int64, shape (rows,); one may come more than once."""


class Beside(Protocol):
    """Looks at released records while they are counted, so that the source is not read once more."""

    columns: tuple[str, ...]

    def see(self, batch: pa.RecordBatch) -> None:
        """Look at a batch, which has `columns` and may have others."""


class ProvisionalTuples:
    """Distinct tuples of provisional codes: quasi-identifiers, sensitive values, and whether the record is released."""

    def __init__(self, columns: Columns, memory: int | None = None) -> None:
        self._columns = columns
        self._memory = memory
        quasi = [Dictionary(name, column.missing) for name, column in columns.quasi_identifiers.items()]
        self._sensitive = [Dictionary(name, column.missing) for name, column in columns.sensitive.items()]
        self._quasi = quasi
        self.dictionaries = (*quasi, *self._sensitive)
        self._counted = TupleCounts()
        self._tuples: tuple[NDArray[np.int32], NDArray[np.int64]] | None = None
        self._sampled = False
        self._held = 0 if memory is None else resident()
        self._process = max(PROCESS, self._held)

    def read(self, table: Table, subset: Subset | None, beside: Beside | None) -> None:
        """Count the records of the source, and refuse missing values in columns that must have none."""
        names = [dictionary.name for dictionary in self.dictionaries]
        watched = [name for name in self._columns.refuse_nulls if name not in names]
        nulls = dict.fromkeys(self._columns.refuse_nulls, 0)
        matcher = None if subset is None else subset.matcher()
        matched = () if subset is None else subset.columns
        seen = () if beside is None else beside.columns
        records = 0
        for batch in table.batches(list(dict.fromkeys([*names, *watched, *matched, *seen]))):
            released = np.ones(batch.num_rows, np.bool_) if matcher is None else matcher.released(batch)
            records += batch.num_rows
            for name in self._columns.refuse_nulls:
                nulls[name] += int(self._missing(name, batch.column(name)).sum())
            if batch.num_rows:
                self._add(self._batch(batch, released))
            if beside is not None:
                beside.see(batch if matcher is None else batch.filter(of_flags(released)))
        if not records:
            raise InvalidData(_EMPTY)
        if matcher is not None:
            matcher.finish()
        _refuse(nulls)

    def read_counted(
        self, table: Table, tuples: Tuples, beside: Beside | None, missing: Mapping[str, int] | None
    ) -> None:
        """Do the same as `read` by combinations that are counted already.

        Other columns are read as they are, unless their missing values are counted already too.
        """
        names = [dictionary.name for dictionary in self.dictionaries]
        nulls = dict.fromkeys(self._columns.refuse_nulls, 0)
        counted = 0
        for batch, records in tuples(table, names):
            counted += int(records.sum())
            for name in nulls:
                if name in names:
                    nulls[name] += int(records[self._missing(name, batch.column(name))].sum())
            if batch.num_rows:
                self._add(self._batch(batch, np.ones(batch.num_rows, np.bool_)), records)
        watched = [name for name in nulls if name not in names]
        if missing is not None:
            nulls |= {name: missing[name] for name in watched}
            watched = []
        found = self._read_others(table, watched, beside, nulls)
        if found not in {None, counted}:
            raise InvalidData("the source changed while it was read: records were added or are gone; run again")
        if not counted:
            raise InvalidData(_EMPTY)
        _refuse(nulls)

    def _read_others(
        self, table: Table, watched: Sequence[str], beside: Beside | None, nulls: dict[str, int]
    ) -> int | None:
        """Count the missing values of further columns, and show them to `beside`; return their records, if any."""
        columns = list(dict.fromkeys([*watched, *(() if beside is None else beside.columns)]))
        if not columns:
            return None
        found = 0
        for batch in table.batches(columns):
            found += batch.num_rows
            for name in watched:
                nulls[name] += int(self._missing(name, batch.column(name)).sum())
            if beside is not None:
                beside.see(batch)
        return found

    def _add(self, columns: list[NDArray[np.int32]], records: NDArray[np.int64] | None = None) -> None:
        self._counted.add(columns, [*(len(one.codes) for one in self.dictionaries), 2], records)
        if self._memory is None:
            return
        values = sum(len(one.codes) for one in self.dictionaries)
        characters = sum(one.characters for one in self.dictionaries)
        needed = self._process + self._counted.size * _bytes_of_tuple(len(columns)) + values * _TEXT + characters
        if needed > self._memory:
            raise self._too_many(self._memory, needed)
        before, self._held = self._held, resident()
        # the next batch may take as much as this one
        growth = max(self._counted.size * _bytes_until_sorted(len(columns)), self._held - before)
        beyond = needed_beyond(self._memory, growth)
        if beyond is not None:
            raise self._too_many(self._memory, beyond)

    def _too_many(self, limit: int, needed: int) -> InvalidJob:
        """Say that the tuples so far do not fit into the memory, and which columns make them many."""
        most = sorted(self.dictionaries, key=lambda one: -len(one.codes))[:_NAMED]
        columns = [Message.of("{name!r} ({n})", name=one.name, n=Count(len(one.codes))) for one in most]
        return too_little(
            limit,
            Message.of("so far there are {n} distinct combinations of values", n=Count(self._counted.size)),
            needed,
            Message.of(
                "the columns with most distinct values are {columns}; raise memory_limit, take a column out of the "
                "quasi-identifiers, or make its values coarser in the source",
                columns=Message.joined(", ", columns),
            ),
        )

    def _batch(self, batch: pa.RecordBatch, released: NDArray[np.bool_]) -> list[NDArray[np.int32]]:
        """Return the codes of a batch; sensitive values are read only of released records, and may else be absent."""
        quasi = [dictionary.encode(batch.column(dictionary.name), grow=True) for dictionary in self._quasi]
        sensitive = []
        for dictionary in self._sensitive:
            codes = np.zeros(batch.num_rows, np.int32)
            if released.any():
                column = batch.column(dictionary.name)
                if released.all():
                    codes = dictionary.encode(column, grow=True)
                else:
                    codes[released] = dictionary.encode(column.filter(of_flags(released)), grow=True)
            sensitive.append(codes)
        return [*quasi, *sensitive, released.astype(np.int32)]

    def _missing(self, name: str, column: pa.Array) -> NDArray[np.bool_]:
        """Tell which values are missing, including texts that mean a missing value, shape (records,)."""
        missing = pc.is_null(column)
        texts = self._columns.missing_texts(name)
        if texts:
            listed = of_texts(sorted(texts))
            missing = pc.or_(missing, pc.is_in(as_text(column, name), value_set=listed))
        return flags_of(missing)

    def read_population(self, table: Table | PersonTable) -> None:
        """Count the records of the population's table in addition to those of the source."""
        self._sampled = True
        for batch, persons in counted_batches(table, [dictionary.name for dictionary in self._quasi]):
            if batch.num_rows:
                self._add(self._batch(batch, np.zeros(batch.num_rows, np.bool_)), persons)

    def released(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the tuples and the released records of each."""
        codes, counts = self._total()
        return codes[:, :-1], np.where(codes[:, -1] == 1, counts, 0)

    def population(self) -> NDArray[np.int64]:
        """Return the records of the population of each tuple."""
        codes, counts = self._total()
        return np.where(codes[:, -1] == 0, counts, 0) if self._sampled else counts

    def _total(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        if self._tuples is None:
            self._tuples = self._counted.total()
        return self._tuples


def _refuse(nulls: Mapping[str, int]) -> None:
    found = [
        Message.of("column {name!r}: missing values: {missing}", name=name, missing=Count(count))
        for name, count in nulls.items()
        if count
    ]
    if found:
        advice = "; the job says nulls: error; fill them in the source or set nulls: value"
        raise InvalidData(Message(Message.joined(", ", found), advice))
