"""The table of a release, read again for its recount by what the database says it is.

In: a connection, and the name of a table that was written. Out: its columns with their types; its classes with their
records; and, where the driver gives the table batch by batch, the hash of its content from the same reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from airflow_anon.share.made_table import content_of
from airflow_anon.share.sql_types import sql_columns
from airflow_anon.transport.postgresql_content import read_content
from airflow_anon.transport.postgresql_session import read_as_it_is
from airflow_anon.transport.relation import Relation
from airflow_anon.warehouse import statements
from airflow_anon.warehouse.read_parts import array_of, read_parts
from airflow_anon.warehouse.typed_columns import typed

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_anon.transport.content_hash import Coded, ContentHash


class WrittenRelease:
    """The table of a release.

    Parameters
    ----------
    table : Table
        Its name and schema.
    counts : bool
        Whether the database's own counts of it are judged; else each record counts as one.
    is_kept : bool
        Whether it outlives the connection, so that its content is to be hashed.

    Attributes
    ----------
    content : ContentHash or None
        Of the release, once `classes` has read all of it; None where that reads less.
    """

    def __init__(self, connection: Connection, table: sa.Table, *, counts: bool, is_kept: bool) -> None:
        self._connection = connection
        self._named = table
        self._counts = counts
        self._is_kept = is_kept
        self.content: ContentHash | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        """Its columns and their types, as the database tells them."""
        relation = Relation.named(self._named.name, self._named.schema)
        found = typed(self._connection, relation, None, is_ours=True)
        return pa.schema([(column.name, column.type) for column in found])

    def classes(self, columns: Sequence[str], count: str) -> Iterator[pa.RecordBatch]:
        """Yield the combinations of values of some columns, with the records of each as `count`.

        A table whose content is to be hashed is read anyway, where the driver gives it batch by batch: what is judged
        is then counted from the same reading (`content`), and by the task.
        """
        fields = [self.schema.field(name) for name in columns]
        read = self._read_content([field.type for field in fields])
        if read is not None:
            yield from _as_ones(read, self.schema.names, fields, count)
            return
        ask = statements.classes_of if self._counts else statements.records_of
        schema = pa.schema([*fields, (count, pa.int64())])
        for rows in read_parts(self._connection, ask(self._table, columns), columns):
            arrays = [array_of(cells, field) for cells, field in zip(zip(*rows, strict=True), schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    @property
    def _table(self) -> sa.Table:
        columns = sql_columns(self.schema, self._connection.dialect.name)
        return sa.Table(self._named.name, sa.MetaData(), *columns, schema=self._named.schema)

    def _read_content(self, counted: Sequence[pa.DataType]) -> Iterator[Sequence[Coded]] | None:
        """Return an iterator over the records, which hashes them; None where they are counted by SQL."""
        if not (self._is_kept and self._counts and all(map(_is_plain, counted))):
            return None
        content = content_of(self.schema)
        read_as_it_is(self._connection)
        read = read_content(self._connection, self._named.name, self._named.schema, content)
        return None if read is None else self._until_read(read, content)

    def _until_read(self, read: Iterator[Sequence[Coded]], content: ContentHash) -> Iterator[Sequence[Coded]]:
        yield from read
        self.content = content


def _is_plain(kind: pa.DataType) -> bool:
    """Whether a cell that was sent as text has this type in Arrow."""
    return pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)


def _as_ones(
    read: Iterator[Sequence[Coded]], names: Sequence[str], fields: Sequence[pa.Field], count: str
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of records that were read, each of which counts as one."""
    for coded in read:
        of_name: Mapping[str, Coded] = dict(zip(names, coded, strict=True))
        arrays = []
        for field in fields:
            cells, places = of_name[field.name]
            arrays.append(pa.DictionaryArray.from_arrays(places, array_of(cells, field)))
        ones = pa.array(np.ones(len(coded[0][1]), np.int64))
        yield pa.RecordBatch.from_arrays([*arrays, ones], names=[*(field.name for field in fields), count])
