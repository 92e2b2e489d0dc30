"""A source and the table of its release in one database, in one transaction that sees one snapshot.

In: a connection within its transaction, the columns of the source with their types, the name of the table to write.
Out: what the engine asks of a `Warehouse`. Helper tables (distinct values with numbers, what becomes of them) stand in
the schema of the release and are gone before the transaction ends; a role needs to read the source and to create there.
Where CREATE TABLE commits, so that no transaction sees one moment to its end, the source is copied by one statement;
the copy and the helper tables are then the session's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from airflow_anon.dialects.mariadb import MARIADB
from airflow_anon.share.made_table import content_of, people_name
from airflow_anon.share.sql_grants import refuse_other_owner
from airflow_anon.share.sql_types import sql_columns, sql_type
from airflow_anon.transport.column import Column
from airflow_anon.transport.column_types import typed_columns
from airflow_anon.transport.connection import PLAIN, names_of
from airflow_anon.transport.mariadb_columns import told_columns
from airflow_anon.transport.parquet import plain_type
from airflow_anon.transport.postgresql_content import read_content
from airflow_anon.transport.postgresql_session import read_as_it_is
from airflow_anon.transport.relation import Relation, describe
from airflow_anon.warehouse import statements
from airflow_anon.warehouse.rights import prepare_snapshot, refuse_other_letters
from airflow_anon.warehouse.staged_persons import StagedPersons
from airflow_anon.warehouse.statements import MARK, Expression, Labelled
from airflow_anon.warehouse.trial import try_changes, try_expressions, try_persons
from engine import (
    ColumnFigures,
    Count,
    InvalidData,
    Message,
    PersonCounts,
    PersonsRead,
    ReleaseRules,
    Warehouse,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from airflow_anon.transport.content_hash import Coded, ContentHash

BATCH_ROWS = 65_536
_BPCHAR = 1042
_LARGEST = 2**63 - 1


class SqlWarehouse(Warehouse):
    """The warehouse of a job.

    Parameters
    ----------
    connection : Connection
        In a transaction of the isolation that the dialect asks for, with which the caller keeps or drops what was made.
    relation : Relation
        The source.
    columns : sequence of str
        Those that are read, in the order of the job.
    table : Table
        Name and schema of the table to write; it must not exist.
    subject : str, optional
        The column that says whose a record is; it is read by the database alone.
    is_kept : bool
        Whether the table of the release outlives the connection.

    Attributes
    ----------
    content : ContentHash or None
        Of the release, once `classes` has read all of it; None where that reads less.

    Raises
    ------
    AirflowFailException
        The database is none that this was proven on, or does other things than are known of it; the transaction sees no
        snapshot; the role may not create tables in the schema; or the database lacks letters by which persons are told.
    """

    def __init__(
        self,
        connection: Connection,
        relation: Relation,
        columns: Sequence[str],
        table: sa.Table,
        subject: str | None = None,
        *,
        is_kept: bool = True,
    ) -> None:
        self._how = prepare_snapshot(connection, table.schema)
        if subject is not None:
            refuse_other_letters(connection)
        self._connection = connection
        self._target = table
        self._is_kept = is_kept
        found = typed(connection, relation, [*columns, *_present(connection, relation, columns, subject)])
        kinds = pa.schema([(column.name, column.type) for column in found])
        self._kinds = kinds
        self._schema = pa.schema([kinds.field(name) for name in columns])
        dialect = connection.dialect
        expressions = [
            Expression(column.name, column.expression, sql_type(field, dialect.name))
            for column, field in zip(found, kinds, strict=True)
        ]
        source = statements.source_of(relation, expressions, dialect)
        if self._how.copies:
            try_expressions(connection, self._helper_table, self._text)
            if subject is not None:
                try_persons(connection, self._helper_table, self._filled, self._text)
            source = self._copied(source)
        self._source = self._records = source
        self._persons: StagedPersons | None = None
        self._numbers: dict[str, sa.Table] = {}
        self._values: dict[str, pa.Array] = {}
        self._has_missing: set[str] = set()
        self.content: ContentHash | None = None

    @property
    def _text(self) -> Any:
        """The type of a text in tables of the database."""
        return sql_type(pa.field("text", pa.string()), self._connection.dialect.name)

    def _copied(self, source: sa.Subquery) -> sa.Subquery:
        """Copy the source, by one statement that sees one moment; give the copy."""
        columns = [sa.Column(column.name, column.type) for column in source.c]
        table = self._helper_table("source", columns)
        try:
            self._connection.execute(statements.copy_into(table, source))
        except sa.exc.DataError:
            self._refuse_large_numbers(source)
            raise
        return sa.select(table).subquery("records")

    def _refuse_large_numbers(self, source: sa.Subquery) -> None:
        """Name the column whose whole numbers no table of ours holds; a database does not say it in one way."""
        for field in filter(lambda one: pa.types.is_integer(one.type), self._kinds):
            largest = self._connection.scalar(sa.select(sa.func.max(source.c[field.name])))
            if largest is not None and largest > _LARGEST:
                raise _unlike(repr(field.name), str(field.type)) from None

    @property
    def schema(self) -> pa.Schema:
        """See `Warehouse.schema`."""
        return self._schema

    @cached_property
    def rows(self) -> int:
        """Number of records of the source, by a count of its own."""
        return int(self._connection.scalar(sa.select(sa.func.count()).select_from(self._source)) or 0)

    @property
    def _counted_rows(self) -> int:
        """Number of records that stay."""
        return self.rows - (0 if self._persons is None else self._persons.read.further.rows)

    @property
    def sums(self) -> sa.Row[Any]:
        """Number of records of the source, and the sums of their hashes; see `Dialect.sums`."""
        return self.ask(self._how.sums)

    def ask(self, question: Callable[[sa.Subquery], sa.Select[Any]]) -> sa.Row[Any]:
        """Return the one row that answers a question about the source."""
        return self._connection.execute(question(self._source)).one()

    def type_of(self, column: str) -> pa.DataType | None:
        """See `Warehouse.type_of`."""
        return self._kinds.field(column).type if column in self._kinds.names else None

    def read_persons(self, subject: str, most: int | None) -> PersonsRead:
        """See `Warehouse.read_persons`."""
        self._persons = StagedPersons(
            self._connection, self._source, self._schema, subject, most, self._helper_table, self._filled
        )
        self._records = self._persons.records
        return self._persons.read

    def tuples_of_persons(self, columns: Sequence[str]) -> Iterator[PersonCounts]:
        """See `Warehouse.tuples_of_persons`."""
        for values, (persons, counts) in self._combinations(columns, self._of_persons.person):
            yield PersonCounts(values, persons, counts)

    def people(self, columns: Sequence[str]) -> Iterator[tuple[PersonCounts, NDArray[np.bool_]]]:
        """See `Warehouse.people`."""
        for rows in self._partitions(self._of_persons.people_of(columns), columns):
            *cells, persons, further, counts = zip(*rows, strict=True)
            arrays = [_array(found, self._schema.field(name)) for found, name in zip(cells, columns, strict=True)]
            values = pa.record_batch(arrays, names=list(columns))
            counted = PersonCounts(values, np.array(persons, np.int64), np.array(counts, np.int64))
            yield counted, np.array(further, np.int64) == 1

    @property
    def _of_persons(self) -> StagedPersons:
        if self._persons is None:
            raise InvalidData("subject: the records of the warehouse have no persons yet; run the job anew")
        return self._persons

    def tuples(self, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        """See `Warehouse.tuples`; values come as dictionaries that are read once."""
        for values, (counts,) in self._combinations(columns):
            yield values, counts

    def values(self, column: str) -> Iterator[tuple[pa.Array, NDArray[np.int64]]]:
        """See `Warehouse.values`."""
        self._refuse_odd_values()
        field = self._schema.field(column)
        for rows in self._partitions(statements.classes_of(self._source, [column]), [column]):
            cells, counts = zip(*rows, strict=True)
            yield _array(cells, field), np.array(counts, np.int64)

    def figures(self, column: str, missing: frozenset[str], fewer_than: int) -> ColumnFigures:
        """See `Warehouse.figures`."""
        found = self._records.c[column]
        if missing and not isinstance(found.type, sa.String):
            raise InvalidData(
                f"attributes.{column}.missing: backend sql compares texts with columns of text, and this is one of "
                f"{self._schema.field(column).type}; make it text in a query, or set backend: auto"
            )
        told = self._connection.execute(statements.figures_of(found, sorted(missing), fewer_than)).one()
        records, distinct, pairs, rare = (int(figure or 0) for figure in told)
        return ColumnFigures(records, self._counted_rows - records, distinct, pairs, rare)

    def release(self, rules: ReleaseRules) -> None:
        """See `Warehouse.release`."""
        columns = sql_columns(self._plain(rules), self._connection.dialect.name)
        target = self._kept_table(self._target.name, columns)
        if self._persons is not None:
            # before either has a record: where CREATE commits, one would be kept without the other
            self._persons.make_people(people_name(self._target.name), rules.counted, self._kept_table)
        if self._how.copies:
            try_changes(self._connection, target)
        labelled, weights = self._labelled(rules)
        suppressed = self._helper_table("suppressed", statements.suppressed_columns(len(weights)))
        classes = rules.suppressed.astype(np.int64) @ np.array(weights, np.int64).T
        self._fill(suppressed, classes.tolist(), [column.name for column in suppressed.c])
        gone = self._left_out(rules)
        self._connection.execute(
            statements.release_into(
                target,
                self._records,
                labelled,
                suppressed,
                drop=rules.drop,
                ordered=self._how.ordered,
                in_order=self._how.in_order,
                once=self._how.once,
                persons=gone,
            )
        )
        # not what the driver says of the statement: some say nothing
        written = self._connection.scalar(sa.select(sa.func.count()).select_from(target))
        helpers = [suppressed, *(one.labels for one in labelled.values()), *self._numbers.values()]
        if not self._how.copies:
            for table in [*helpers, *([] if gone is None else [gone[1]])]:
                table.drop(self._connection)
        if written != rules.records:
            raise InvalidData(
                Message.of(
                    "the source changed while it was counted: {written} records would be released, and {counted} were "
                    "counted; a view whose content depends on the time or on chance cannot be released in its "
                    "warehouse: read a table, or set backend: auto",
                    written=Count(written),
                    counted=Count(rules.records),
                )
            )
        if self._persons is not None:
            self._persons.keep()

    def _left_out(self, rules: ReleaseRules) -> tuple[str, sa.Table] | None:
        """Write who is left out with all records; None where classes are suppressed."""
        if rules.left_out is None:
            return None
        gone = self._helper_table("gone", [sa.Column("id", sa.BigInteger)])
        self._fill(gone, [[number] for number in rules.left_out.tolist()], ["id"])
        return self._of_persons.person, gone

    @property
    def made(self) -> list[str]:
        """Names of the tables that are there once the release is written: its own, and whose its records are."""
        return [self._target.name, *([] if self._persons is None else [people_name(self._target.name)])]

    @property
    def released(self) -> pa.Schema:
        """See `Warehouse.released`."""
        return pa.schema([(column.name, column.type) for column in self._released_columns])

    def classes(self, columns: Sequence[str], count: str) -> Iterator[pa.RecordBatch]:
        """See `Warehouse.classes`; where its own counts are not judged, each record counts as one.

        A table whose content is to be hashed is read anyway, where the driver gives it batch by batch: what is judged
        is then counted from the same reading (`content`), and by the task.
        """
        kinds = {column.name: column.type for column in self._released_columns}
        read = self._read_content([kinds[name] for name in columns])
        if read is not None:
            yield from _as_ones(read, list(kinds), {name: kinds[name] for name in columns}, count)
            return
        ask = statements.classes_of if self._how.counts_release else statements.records_of
        asked = ask(self._written, columns)
        schema = pa.schema([*((name, kinds[name]) for name in columns), (count, pa.int64())])
        for rows in self._partitions(asked, columns):
            arrays = [_array(cells, field) for cells, field in zip(zip(*rows, strict=True), schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _read_content(self, counted: Sequence[pa.DataType]) -> Iterator[Sequence[Coded]] | None:
        """Return an iterator over the records of the release, which hashes them; None where they are counted by SQL."""
        if not (self._is_kept and self._how.counts_release and all(map(_is_plain, counted))):
            return None
        content = content_of(self.released)
        read_as_it_is(self._connection)
        read = read_content(self._connection, self._target.name, self._target.schema, content)
        return None if read is None else self._until_read(read, content)

    def _until_read(self, read: Iterator[Sequence[Coded]], content: ContentHash) -> Iterator[Sequence[Coded]]:
        yield from read
        self.content = content

    @cached_property
    def _written(self) -> sa.Table:
        """The table that was written, with the columns that the database says it has."""
        kinds = [(column.name, column.type) for column in self._released_columns]
        columns = sql_columns(pa.schema(kinds), self._connection.dialect.name)
        return sa.Table(self._target.name, sa.MetaData(), *columns, schema=self._target.schema)

    @cached_property
    def _released_columns(self) -> list[Column]:
        return typed(self._connection, Relation.named(self._target.name, self._target.schema), None, is_ours=True)

    def _plain(self, rules: ReleaseRules) -> pa.Schema:
        """Return the columns of the release in the types in which a share keeps them."""
        return pa.schema(
            [
                (name, pa.string() if name in rules.labels_of else plain_type(name, self._schema.field(name).type))
                for name in rules.columns
            ]
        )

    def _helper_table(self, what: str, columns: Sequence[sa.Column[Any]]) -> sa.Table:
        """Create a helper table."""
        how = self._how
        name = f"{how.temporary_name}{self._target.name}_{what}"
        schema = self._target.schema
        prefixes = [*how.temporary, *how.unlogged]
        return self._made(sa.Table(name, sa.MetaData(), *columns, schema=schema, prefixes=prefixes, **how.options))

    def _kept_table(self, name: str, columns: Sequence[sa.Column[Any]]) -> sa.Table:
        """Create a table that outlives the connection, if the release does."""
        prefixes = [*(() if self._is_kept else self._how.temporary), *self._how.unlogged]
        return self._made(sa.Table(name, sa.MetaData(), *columns, schema=self._target.schema, prefixes=prefixes))

    def _made(self, table: sa.Table) -> sa.Table:
        table.create(self._connection)
        refuse_other_owner(self._connection, names_of(self._connection.dialect).format_table(table))
        return table

    def _number(self, name: str) -> None:
        """Give the distinct values of a column numbers, and read them."""
        if name in self._numbers:
            return
        column = self._records.c[name]
        table = self._helper_table(f"values{len(self._numbers)}", statements.numbered(column))
        self._connection.execute(statements.number_values(table, column))
        self._filled(table, ["id"], ["value"])
        asked = sa.select(table.c.value).order_by(table.c.id)
        field = self._schema.field(name)
        parts = [_array([value for (value,) in rows], field) for rows in self._partitions(asked, [name])]
        self._values[name] = pa.concat_arrays(parts) if parts else pa.array([], field.type)
        self._numbers[name] = table

    def _refuse_odd_values(self) -> None:
        """Refuse values that no driver reads as they are: of some it silently makes others."""
        odd: list[tuple[str, str, sa.ColumnElement[bool]]] = []
        for field in self._schema:
            column = self._source.c[field.name]
            if pa.types.is_date(field.type) or pa.types.is_timestamp(field.type):
                odd.append((field.name, "moment of the years 1 to 9999", statements.is_far(column)))
            else:
                condition = self._how.odd(column)
                odd += [] if condition is None else [(field.name, str(field.type), condition)]
        found = self.ask(lambda _: statements.occur([condition for _, _, condition in odd])) if odd else ()
        for (name, kind, _), occurs in zip(odd, found, strict=True):
            if occurs:
                raise _unlike(repr(name), kind)

    def _filled(self, table: sa.Table, *keys: Sequence[str]) -> None:
        """Prepare a table for being looked up by some columns."""
        for statement in self._how.filled(names_of(self._connection.dialect), table, keys):
            self._connection.exec_driver_sql(statement, execution_options=PLAIN)

    def _combinations(
        self, columns: Sequence[str], *also: str
    ) -> Iterator[tuple[pa.RecordBatch, list[NDArray[np.int64]]]]:
        """Count combinations of values, and of other numbers; yield the values, the other numbers and the records."""
        self._refuse_odd_values()
        for name in columns:
            self._number(name)
        sizes = [len(self._values[name]) + 1 for name in columns]
        weights = statements.strides(sizes)
        numbers = {name: self._numbers[name] for name in columns}
        asked = statements.counts_of(self._records, numbers, weights, *also)
        for rows in self._partitions(asked, columns):
            told = [np.array(cells, np.int64) for cells in zip(*rows, strict=True)]
            arrays = []
            for place, name in enumerate(columns):
                number, weight = statements.stride_of(weights, place)
                arrays.append(self._coded(name, told[number] // weight % sizes[place]))
            yield pa.record_batch(arrays, names=list(columns)), told[len(weights) :]

    def _coded(self, name: str, numbers: NDArray[np.int64]) -> pa.DictionaryArray:
        missing = numbers == 0
        if missing.any():
            self._has_missing.add(name)
        places = pa.array((numbers - 1).astype(np.int32), mask=missing)
        return pa.DictionaryArray.from_arrays(places, self._values[name])

    def _labelled(self, rules: ReleaseRules) -> tuple[dict[str, Labelled], list[list[int]]]:
        """Write what becomes of the values of the quasi-identifiers; return it, and the strides of their codes."""
        told = {name: self._told(name, rules) for name in rules.labels_of}
        most = {name: int(max([0, *one.codes])) for name, one in told.items()}
        # classes without a record are among the suppressed ones beside a population
        beside = rules.suppressed.max(axis=0, initial=0).tolist()
        code_weights = statements.strides([1 + max(pair) for pair in zip(most.values(), beside, strict=True)])
        texts = {
            name: sorted({MARK, *(label for label in one.labels if label is not None)}) for name, one in told.items()
        }
        place_weights = statements.strides([len(some) + 1 for some in texts.values()])
        labelled = {}
        for place, (name, one) in enumerate(told.items()):
            rank: dict[str | None, int] = {text: number for number, text in enumerate([*texts[name], None])}
            code_in, code_weight = statements.stride_of(code_weights, place)
            place_in, place_weight = statements.stride_of(place_weights, place)
            rows = [
                (number, code * code_weight, rank[label] * place_weight, label, int(refused))
                for number, (code, label, refused) in enumerate(
                    zip(one.codes.tolist(), one.labels, one.refused.tolist(), strict=True), start=1
                )
            ]
            missing = rows.pop()[1:] if name in self._has_missing else None
            refuses = bool(one.refused.any())
            table = self._helper_table(f"labels{place}", statements.labels_columns(self._text))
            self._fill(table, rows, ["id"])
            star = rank[MARK] * place_weight
            labelled[name] = Labelled(self._numbers[name], table, missing, refuses, code_in, place_in, star)
        return labelled, code_weights

    def _told(self, name: str, rules: ReleaseRules) -> Any:
        values = self._values[name]
        if name in self._has_missing:
            values = pa.concat_arrays([values, pa.nulls(1, values.type)])
        return rules.labels_of[name](values)

    def _fill(self, table: sa.Table, rows: Sequence[Sequence[Any]], key: Sequence[str]) -> None:
        names = [column.name for column in table.c]
        for start in range(0, len(rows), BATCH_ROWS):
            part = [dict(zip(names, row, strict=True)) for row in rows[start : start + BATCH_ROWS]]
            self._connection.execute(table.insert(), part)
        self._filled(table, key)

    def _partitions(self, asked: sa.Select[Any], columns: Sequence[str]) -> Iterator[Sequence[Sequence[Any]]]:
        """Read an answer about some columns in parts, by a cursor of the server where there are any."""
        options = {"stream_results": True, "max_row_buffer": BATCH_ROWS}
        parts: Iterator[Sequence[Sequence[Any]]] | None = None
        while True:
            try:
                if parts is None:
                    parts = self._connection.execute(asked, execution_options=options).partitions(BATCH_ROWS)
                rows = next(parts, None)
            except (OverflowError, ValueError):  # of the driver
                raise _unlike(", ".join(map(repr, columns)), "date, number or text that a driver reads") from None
            if rows is None:
                return
            yield rows


def _is_plain(kind: pa.DataType) -> bool:
    """Whether a cell that was sent as text has this type in Arrow."""
    return pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)


def _as_ones(
    read: Iterator[Sequence[Coded]], names: Sequence[str], kinds: Mapping[str, pa.DataType], count: str
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of records that were read, each of which counts as one."""
    for coded in read:
        of_name = dict(zip(names, coded, strict=True))
        arrays = []
        for name, kind in kinds.items():
            cells, places = of_name[name]
            arrays.append(pa.DictionaryArray.from_arrays(places, _array(cells, pa.field(name, kind))))
        ones = pa.array(np.ones(len(coded[0][1]), np.int64))
        yield pa.RecordBatch.from_arrays([*arrays, ones], names=[*kinds, count])


def _present(connection: Connection, relation: Relation, columns: Sequence[str], subject: str | None) -> list[str]:
    """Return the column of persons, if the source has it and it is not read already."""
    there = {entry[0] for entry in describe(connection, relation)}
    return [] if subject is None or subject in columns or subject not in there else [subject]


def typed(
    connection: Connection, relation: Relation, names: Sequence[str] | None, *, is_ours: bool = False
) -> list[Column]:
    """Return how columns of a relation are read, all of them without `names`; of a table of ours as it was made.

    As an extraction reads them, but for what a cast within the database would change: padded text keeps its spaces,
    and a number of single precision is widened there as a driver of Arrow widens it.
    """
    if connection.dialect.name == MARIADB.name:
        return told_columns(connection, relation, names, is_ours=is_ours)
    description = describe(connection, relation)
    wanted = [entry[0] for entry in description] if names is None else names
    codes = {entry[0]: entry[1] for entry in description}
    return [_exact(column, codes[column.name]) for column in typed_columns(connection, relation, description, wanted)]


def _exact(column: Column, code: Any) -> Column:
    sql = column.expression
    if code == _BPCHAR:
        # a cast to text would cut the spaces at the end
        return Column(column.name, f"CASE WHEN {sql} IS NOT NULL THEN concat({sql}) END", column.type)
    if column.type == pa.float64():
        return Column(column.name, f"CAST({sql} AS double precision)", column.type)
    return column


def _array(cells: Sequence[Any], field: pa.Field) -> pa.Array:
    try:
        return pa.array(cells, type=field.type)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        raise _unlike(repr(field.name), str(field.type)) from None


def _unlike(columns: str, kind: str) -> InvalidData:
    return InvalidData(
        f"column {columns}: holds a value that is no {kind}, such as an infinite date or a number that is none, which "
        "two backends would write differently; correct it, or make the column text in a query"
    )
