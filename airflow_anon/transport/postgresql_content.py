"""The content hash of a table of PostgreSQL by COPY, whose text Arrow reads in a fraction of a driver's time.

In: the connection of a transaction, a table, and the hash of its content. Out: the records are added to the hash, batch
by batch. A table with a column of another type than its kind says is not read here, so that nothing else passes for a
record of a release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_anon.transport.connection import names_of
from airflow_anon.transport.postgresql_copy import copied, driver_errors, driver_of, serves
from airflow_anon.transport.relation import Relation, describe

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_anon.transport.content_hash import Coded, ContentHash

BATCH_BYTES = 1 << 22
"""Of text, which is read at once."""


class _Reading(NamedTuple):
    """How cells of a type are read: the SQL of their text, by the name of the column, and the cell that a text is."""

    sql: str
    cell: Callable[[str], Any]


def _written(text: str) -> str:
    # what is before the year 1 ends with BC, and is no date of a release
    return text.removesuffix(" AD")


def _dated(of_column: str, form: str) -> str:
    """Write a date or moment the same whatever the settings of the role are, and an infinite one as no other."""
    finite = f"pg_catalog.to_char({of_column}, '{form}')"
    return f"CASE WHEN isfinite({{0}}) THEN {finite} ELSE CAST({{0}} AS text) END"


_MOMENT = 'YYYY-MM-DD"T"HH24:MI:SS.US AD'
_READINGS: dict[str, dict[int, _Reading]] = {
    "text": dict.fromkeys((25, 1043), _Reading("{0}", str)),
    "integer": dict.fromkeys((20, 21, 23), _Reading("{0}", int)),
    "number": {701: _Reading("{0}", float)},
    "boolean": {16: _Reading("{0}", lambda text: text == "t")},
    "decimal": {1700: _Reading("{0}", Decimal)},
    "date": {1082: _Reading(_dated("{0}", "YYYY-MM-DD AD"), _written)},
    "moment": {
        1114: _Reading(_dated("{0}", _MOMENT), _written),
        1184: _Reading(_dated("{0} AT TIME ZONE 'UTC'", _MOMENT), _written),
    },
}
"""By the kind and the type, as the server numbers it. Texts are `text` and `varchar`; others, such as `char`, bytes and
times of a day are left to the driver."""


def add_content(connection: Connection, name: str, schema: str | None, content: ContentHash) -> bool:
    """Add the records of a table to the hash of its content; false, and nothing is added, where only a driver can.

    Raises
    ------
    DBAPIError
        Of SQLAlchemy: the server ends the statement.
    """
    question = _question(connection, name, schema, content)
    if question is None:
        return False
    with driver_errors(connection, question.sql):
        _COPIES[connection.dialect.driver](
            connection, question.sql, lambda text: content.add_coded(_coded(text, question.readings))
        )
    return True


def read_content(
    connection: Connection, name: str, schema: str | None, content: ContentHash
) -> Iterator[Sequence[Coded]] | None:
    """Yield the records of a table batch by batch, each once it is added to the hash of the content.

    Returns
    -------
    iterator of sequences of pairs, or None
        Of each column its different cells and whose they are, see `ContentHash.add_coded`; nothing else is to be asked
        over the connection before its end. None where only a driver can read the table, or the driver waits for its
        end.

    Raises
    ------
    DBAPIError
        As of `add_content`.
    """
    if not serves(connection):
        return None
    question = _question(connection, name, schema, content)
    return None if question is None else _read(connection, question, content)


def _read(connection: Connection, question: _Question, content: ContentHash) -> Iterator[Sequence[Coded]]:
    with (
        driver_errors(connection, question.sql),
        closing(copied(driver_of(connection), question.sql, BATCH_BYTES)) as parts,
    ):
        for part in parts:
            coded = _coded(part, question.readings)
            content.add_coded(coded)
            yield coded


class _Question(NamedTuple):
    """The statement that sends the records of a table, and how cells of its columns are read."""

    sql: str
    readings: Sequence[_Reading]


def _question(connection: Connection, name: str, schema: str | None, content: ContentHash) -> _Question | None:
    """Return how a table is read; None where only a driver can."""
    dialect = connection.dialect
    if dialect.name != "postgresql" or dialect.driver not in _COPIES:
        return None
    names, relation = names_of(dialect), Relation.named(name, schema)
    types = {column: code for column, code, *_ in describe(connection, relation)}
    found = [_READINGS.get(kind, {}).get(types.get(column)) for column, kind in content.kinds.items()]
    readings = [reading for reading in found if reading is not None]
    if len(readings) < len(found):
        return None
    columns = (reading.sql.format(names.quote(column)) for reading, column in zip(readings, content.kinds, strict=True))
    records = f"SELECT {', '.join(columns)} FROM {relation.from_clause(names)}"
    return _Question(f"COPY ({records}) TO STDOUT (FORMAT csv, FORCE_QUOTE *, ENCODING 'UTF8')", readings)


def _coded(text: bytes | bytearray, readings: Sequence[_Reading]) -> Sequence[Coded]:
    """Return the columns of some records; see `ContentHash.add_coded`."""
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)
    import pyarrow.csv as pc  # noqa: PLC0415 (heavy imports belong into execute)

    names = [str(place) for place in range(len(readings))]
    table = pc.read_csv(
        pa.BufferReader(pa.py_buffer(text)),
        # in one block, since a record may be longer than a usual one
        pc.ReadOptions(column_names=names, block_size=len(text) + 1, use_threads=False),
        pc.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        # what is missing has no quotes
        pc.ConvertOptions(
            column_types=dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string())),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    coded = (column.combine_chunks() for column in table.columns)
    return [
        ([reading.cell(text) for text in column.dictionary.to_pylist()], column.indices)
        for reading, column in zip(readings, coded, strict=True)
    ]


class _Parts:
    """A file that takes the text of records, and gives on parts of whole ones."""

    def __init__(self, take: Callable[[bytearray], None]) -> None:
        self._take = take
        self._held = bytearray()

    def write(self, text: bytes) -> int:
        """Take a part of the text, which the server ends where it likes."""
        self._held += text
        # within a cell the number of quotes is odd
        if len(self._held) >= BATCH_BYTES and self._held.endswith(b"\n") and self._held.count(b'"') % 2 == 0:
            self.end()
        return len(text)

    def end(self) -> None:
        """Give on what is here."""
        if self._held:
            self._take(self._held)
            self._held = bytearray()


def _copied(connection: Connection, asked: str, take: Callable[[bytearray], None]) -> None:
    with closing(copied(driver_of(connection), asked, BATCH_BYTES)) as parts:
        for part in parts:
            take(part)


def _copied_by_psycopg2(connection: Connection, asked: str, take: Callable[[bytearray], None]) -> None:
    parts = _Parts(take)
    with closing(driver_of(connection).cursor()) as cursor:
        cursor.copy_expert(asked, parts, BATCH_BYTES)
    parts.end()


_COPIES: dict[str, Callable[[Connection, str, Callable[[bytearray], None]], None]] = {
    "psycopg": _copied,
    "psycopg2": _copied_by_psycopg2,
}
"""By the name of the driver."""
