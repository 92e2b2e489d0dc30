"""Linked tables as one table of records: what a job of several tables counts, searches and verifies.

In: tables by name, which share the column of persons. Out: one `Table` with the records of all of them, one table after
the other; the column `TABLE` says of which table a record is, and a column that its table lacks is missing. So a class
is of one table, a person's records in all tables make one picture, and one level of a column holds in every table that
has it. `unlinked` takes such a table apart again, into one file per table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from engine.errors import InvalidData
from engine.message import Count, Message
from engine.tables.sources.column_text import as_text
from engine.tables.sources.column_types import plain_type, type_name
from engine.tables.sources.file_schema import schema_of_readers
from engine.tables.sources.grouping import grouped
from engine.tables.sources.linked_name import TABLE
from engine.tables.sources.person_texts import person_texts
from engine.tables.sources.released import open_release
from engine.tables.sources.table import Table


class LinkedTables:
    """The records of several tables.

    Parameters
    ----------
    tables : mapping of name to Table
    columns : mapping of name to sequence of str
        The columns of each table, of which it may lack some that are not released.
    order : sequence of str
        All columns but `TABLE`, in the order of the schema.
    texts : collection of str
        Columns that are read as text, so that tables may have them in several types.

    Raises
    ------
    InvalidData
        A column has types in two tables that cannot be one.
    """

    def __init__(
        self,
        tables: Mapping[str, Table],
        columns: Mapping[str, Sequence[str]],
        order: Sequence[str],
        texts: Collection[str],
    ) -> None:
        self.tables = tables
        self._has = {name: set(columns[name]) & set(table.schema.names) for name, table in tables.items()}
        fields = [pa.field(TABLE, pa.string())]
        for column in order:
            kinds = {name: tables[name].schema.field(column).type for name in tables if column in self._has[name]}
            if kinds:
                fields.append(pa.field(column, pa.string() if column in texts else _one_type(column, kinds)))
        self.schema = pa.schema(fields)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        wanted = list(columns)
        schema = pa.schema([self.schema.field(name) for name in wanted])
        for name, table in self.tables.items():
            own = [column for column in wanted if column in self._has[name]]
            # a batch without columns would not tell how many records it has
            for batch in table.batches(own or table.schema.names[:1]):
                made = [self._column(name, batch, field) for field in schema]
                yield pa.RecordBatch.from_arrays(made, schema=schema)

    def _column(self, name: str, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        if field.name == TABLE:
            return pa.array([name], pa.string()).take(pa.array(np.zeros(batch.num_rows, np.int8)))
        if field.name not in self._has[name]:
            return pa.nulls(batch.num_rows, field.type)
        column = batch.column(field.name)
        if pa.types.is_string(field.type):
            return as_text(column, field.name).cast(field.type)
        return column if column.type == field.type else column.cast(field.type)


class StackedTable:
    """A table that holds the records of linked tables already, such as a staged one: each cell is looked at.

    Parameters
    ----------
    table : Table
        With the column `TABLE`.
    columns : mapping of table name to sequence of str
        The columns that each table has.
    """

    def __init__(self, table: Table, columns: Mapping[str, Sequence[str]]) -> None:
        self._table = table
        self._columns = columns
        self.schema = table.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`.

        Raises
        ------
        InvalidData
            A record is of another table, or has a value in a column that its table lacks.
        """
        wanted = list(columns)
        for batch in self._table.batches(list(dict.fromkeys([*wanted, TABLE]))):
            of_table = as_text(batch.column(TABLE), TABLE)
            known = pc.is_in(of_table, value_set=pa.array(list(self._columns), pa.string()))
            if not pc.all(known, min_count=0).as_py():
                raise InvalidData(f"column {TABLE!r}: some records are of a table that the job does not name")
            for name in wanted:
                having = [table for table, own in self._columns.items() if name in own]
                if name != TABLE and len(having) < len(self._columns):
                    lacking = pc.invert(pc.is_in(of_table, value_set=pa.array(having, pa.string())))
                    if pc.any(pc.and_(lacking, pc.is_valid(batch.column(name))), min_count=0).as_py():
                        raise InvalidData(f"column {name!r}: has values in records of a table that lacks it")
            yield batch.select(wanted)


def unlinked(stacked: Path, columns: Mapping[str, Sequence[str]], folder: Path) -> None:
    """Write the records of each table of a stacked Parquet file into a file of its own, in their order.

    Parameters
    ----------
    stacked : Path
    columns : mapping of table name to sequence of str
        The columns that each table has in its file.
    folder : Path
        Where the files `NAME.parquet` are written; what the stacked file says of its columns and of itself, they say.
    """
    with pa.parquet.ParquetFile(stacked) as file:
        whole = file.schema_arrow
        schemas = {name: pa.schema([whole.field(one) for one in own], whole.metadata) for name, own in columns.items()}
        writers = {
            name: pa.parquet.ParquetWriter(folder / file_name(name), schema.remove_metadata(), store_schema=False)
            for name, schema in schemas.items()
        }
        try:
            for batch in file.iter_batches():
                of_table = as_text(batch.column(TABLE), TABLE)
                for name, own in columns.items():
                    found = batch.filter(pc.equal(of_table, name)).select(list(own))
                    if found.num_rows:
                        writers[name].write_batch(found)
            for name, writer in writers.items():
                writer.add_key_value_metadata(schema_of_readers(schemas[name]))
        finally:
            for writer in writers.values():
                writer.close()


def unlinked_table(stacked: pa.Table, columns: Mapping[str, Sequence[str]]) -> dict[str, pa.Table]:
    """Return the records of each table of a stacked table; see `unlinked`."""
    return {name: stacked.filter(pc.equal(stacked[TABLE], name)).select(list(own)) for name, own in columns.items()}


def linked_release(
    release: Path | Mapping[str, Any],
    columns: Mapping[str, Sequence[str]],
    order: Sequence[str],
    texts: Collection[str],
) -> LinkedTables:
    """Put the tables of a release together again, from their files in a folder or from memory.

    Parameters
    ----------
    columns : mapping of table name to sequence of str
        The columns that each table must have, and no others; in files they are in this order.
    order, texts
        See `LinkedTables`.

    Raises
    ------
    InvalidData
        A table is missing or cannot be read, or has other columns; or the files have a column in several types.
    """
    found: dict[str, Table] = {}
    if isinstance(release, Mapping) and set(release) != set(columns):
        raise InvalidData(f"release: must have the tables {', '.join(columns)}, and no other one")
    for name, own in columns.items():
        part = release[name] if isinstance(release, Mapping) else release / file_name(name)
        found[name] = open_release(part)
        if sorted(found[name].schema.names) != sorted(own):
            raise InvalidData(f"release: table {name} must have the columns {', '.join(own)}, and no others")
    if not isinstance(release, Mapping):
        _refuse_other_files(found, columns, texts)
    return LinkedTables(found, columns, [name for name in order if name != TABLE], texts)


def _refuse_other_files(
    tables: Mapping[str, Table], columns: Mapping[str, Sequence[str]], texts: Collection[str]
) -> None:
    """Refuse files that `unlinked` does not write: other than in memory, nothing changes order or types in between."""
    of_column: dict[str, pa.DataType] = dict.fromkeys(texts, pa.string())
    for name, table in tables.items():
        if table.schema.names != list(columns[name]):
            raise InvalidData(f"release: table {name} must have its columns in the order {', '.join(columns[name])}")
        for field in table.schema:
            if of_column.setdefault(field.name, field.type) != field.type:
                raise InvalidData(
                    f"release: column {field.name!r} of table {name} is {type_name(field.type)}; it must be "
                    f"{type_name(of_column[field.name])}, as in all tables"
                )


def file_name(table: str) -> str:
    """Return the name of a table's file in a release folder."""
    return f"{table}.parquet"


def refuse_shared_keys(source: Table, subject: str, columns: Sequence[str]) -> None:
    """Refuse keys between tables whose values belong to several persons.

    Whole persons are left out of a release: a record whose key is that of another person's record could lose it.

    Raises
    ------
    InvalidData
        Names each such column with the number of its values.
    """
    for name in columns:
        pairs = pa.concat_tables(
            [pa.table({"person": pa.array([], pa.string()), "key": pa.array([], pa.string())})]
            + [
                pa.table({"person": person_texts(batch.column(0), subject), "key": as_text(batch.column(1), name)})
                for batch in source.batches([subject, name])
            ]
        )
        distinct = grouped(pairs.filter(pc.is_valid(pairs["key"])), ["key", "person"]).aggregate([])
        shared = distinct.num_rows - pc.count_distinct(distinct["key"]).as_py()
        if shared:
            raise InvalidData(
                Message.of(
                    "column {name!r}: values of a further person: {shared}; the column joins tables of the job: "
                    "where one of these persons is left out, records of the other would lose what they refer to; "
                    "correct the source, or leave action out there",
                    name=name,
                    shared=Count(shared),
                )
            )


def _one_type(column: str, kinds: Mapping[str, pa.DataType]) -> pa.DataType:
    """Return the type of a column over all tables that have it."""
    plain = {name: plain_type(kind) for name, kind in kinds.items()}
    found = set(plain.values())
    if len(found) == 1:
        return found.pop()
    if all(map(pa.types.is_integer, found)):
        return pa.int64()
    if all(pa.types.is_string(kind) or pa.types.is_large_string(kind) for kind in found):
        return pa.string()
    told = ", ".join(f"{type_name(kind)} in {name}" for name, kind in plain.items())
    raise InvalidData(
        f"column {column!r}: has several types over the tables of the job ({told}), so that equal values would differ; "
        "give it one type, such as by CAST in a query"
    )
