"""Persons who are gone and still released: their last records, which the vault holds, come after those of tonight.

In: a source, and what the vault holds of the newest release. Out: the source with these records. The vault has no
identifier: in the column of persons is the keyed id, in a form that no identifier has, with the number of releases
since the person was in the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.sources.column_text import texts_of_chunks
from engine.tables.sources.column_types import plain_type
from engine.tables.sources.person_texts import person_texts
from engine.tables.sources.table import Table

_MARK = "\0"
_NAMED = re.compile(rf"{_MARK}(\d{{4}})([0-9a-f]{{32}})")
_PLACE, _NIGHTS = "\0place", "\0nights"


@dataclass(frozen=True, eq=False)
class KeptRows:
    """The records of the n persons of a release, as the source had them.

    Attributes
    ----------
    places : int64, shape (n,)
        Place of each person in the vault.
    nights : int64, shape (n,)
        Releases since the person was in the source; 0 for who was in it.
    rows : pyarrow Table
        The released columns.
    """

    places: NDArray[np.int64]
    nights: NDArray[np.int64]
    rows: pa.Table

    def where(self, chosen: NDArray[np.bool_]) -> KeptRows:
        """Return those of some persons, bool, shape (n,)."""
        return KeptRows(self.places[chosen], self.nights[chosen], self.rows.filter(pa.array(chosen)))

    def packed(self) -> bytes:
        """Return them as bytes: an Arrow stream."""
        table = self.rows.append_column(_PLACE, pa.array(self.places)).append_column(_NIGHTS, pa.array(self.nights))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(table)
        content: bytes = sink.getvalue().to_pybytes()
        return content

    @classmethod
    def unpacked(cls, content: bytes) -> KeptRows:
        """Return what `packed` made bytes of."""
        table = pa.ipc.open_stream(content).read_all()
        places, nights = (np.asarray(table[name].to_numpy(), np.int64) for name in (_PLACE, _NIGHTS))
        return cls(places, nights, table.drop_columns([_PLACE, _NIGHTS]))


class WithGone:
    """A source, and after its records those of persons who are gone.

    Parameters
    ----------
    source : Table
    subject : str
        The column of persons.
    gone : KeptRows
    names : sequence of str
        The person of each of these records: of `name_of_gone`.

    Raises
    ------
    InvalidData
        A column has another type than when the person was in the source.
    """

    def __init__(self, source: Table, subject: str, gone: KeptRows, names: Sequence[str]) -> None:
        self._source, self._subject = source, subject
        fields = [
            field.with_type(pa.string() if field.name == subject else plain_type(field.type)) for field in source.schema
        ]
        self.schema: pa.Schema = pa.schema(fields)
        self._gone = pa.table([_column(gone, names, subject, field) for field in fields], schema=self.schema)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        names = list(columns)
        for batch in self._source.batches(names):
            if self._subject not in names:
                yield batch
                continue
            place = names.index(self._subject)
            persons = person_texts(batch.column(place), self._subject)
            yield batch.set_column(place, self.schema.field(self._subject), persons)
        yield from self._gone.select(names).to_batches()


def _column(gone: KeptRows, names: Sequence[str], subject: str, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    if field.name == subject:
        return pa.array(names, pa.string())
    if field.name not in gone.rows.column_names:
        return pa.nulls(len(names), field.type)
    before = gone.rows[field.name]
    try:
        now = before.cast(field.type)
        # such as 007, which as a number is another value
        is_same = now.type == before.type or texts_of_chunks(now, field.name) == texts_of_chunks(before, field.name)
    except (pa.ArrowException, InvalidData):  # the message may quote a value
        is_same = False
    if not is_same:
        raise InvalidData(
            f"column {field.name!r}: has another type than in the release before, whose records are kept "
            "(series.departures: keep); change it back, or set series.begin to the name of a new series"
        )
    return now


def rows_of(table: Table, columns: Sequence[str], chosen: NDArray[np.bool_]) -> pa.Table:
    """Return some records of a table, bool, shape (n,), with text and other plain types in place of dictionaries."""
    schema = pa.schema([(name, plain_type(table.schema.field(name).type)) for name in columns])
    batches, begin = [], 0
    for batch in table.batches(list(columns)):
        batches.append(batch.filter(pa.array(chosen[begin : begin + batch.num_rows])).cast(schema))
        begin += batch.num_rows
    if begin != chosen.size:
        raise InvalidData("the source changed while it was read: records were added or are gone; run again")
    return pa.Table.from_batches(batches, schema)


def name_of_gone(nights: int, keyed: bytes) -> str:
    """Return what stands in the column of persons for somebody of whom only the keyed id is known."""
    return f"{_MARK}{nights:04}{keyed.hex()}"


def ids_of_gone(persons: pa.ChunkedArray) -> Iterator[tuple[int, bytes]]:
    """Yield place and keyed id of those who are of `name_of_gone`, among texts."""
    for place, found in _gone(persons):
        yield place, bytes.fromhex(found[2])


def nights_gone(persons: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return for each person the releases since he or she was in the source, 0 for who is in it, int64, shape (n,)."""
    nights = np.zeros(len(persons), np.int64)
    for place, found in _gone(persons):
        nights[place] = int(found[1])
    return nights


def _gone(persons: pa.ChunkedArray) -> Iterator[tuple[int, re.Match[str]]]:
    marked = np.flatnonzero(pc.starts_with(persons, _MARK).to_numpy(zero_copy_only=False))
    for place, person in zip(marked.tolist(), persons.take(pa.array(marked)).to_pylist(), strict=True):
        found = _NAMED.fullmatch(person)
        if found is not None:
            yield place, found
