"""A source and the table of its release in one database, in one transaction that sees one snapshot.

In: a connection within its transaction, the columns of the source with their types, the name of the table to write.
Out: what the engine asks of a `Warehouse`. Helper tables (distinct values with numbers, what becomes of them) stand in
the schema of the release and are gone before the transaction ends; a role needs to read the source and to create there.
Where CREATE TABLE commits, so that no transaction sees one moment to its end, the source is copied by one statement;
the copy and the helper tables are then the session's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from airflow_anon.share.made_table import people_name
from airflow_anon.share.sql_types import sql_columns, sql_type
from airflow_anon.transport.parquet import plain_type
from airflow_anon.transport.relation import Relation, describe
from airflow_anon.warehouse import statements
from airflow_anon.warehouse.helper_tables import HelperTables
from airflow_anon.warehouse.numbered_values import NumberedValues
from airflow_anon.warehouse.odd_values import refuse_large_numbers, refuse_odd_values
from airflow_anon.warehouse.read_parts import array_of, read_parts
from airflow_anon.warehouse.release_statement import release_into
from airflow_anon.warehouse.rights import prepare_snapshot, refuse_other_letters
from airflow_anon.warehouse.staged_persons import StagedPersons
from airflow_anon.warehouse.statements import Expression
from airflow_anon.warehouse.told_labels import tell_labels
from airflow_anon.warehouse.trial import try_changes, try_expressions, try_persons
from airflow_anon.warehouse.typed_columns import typed
from airflow_anon.warehouse.written_release import WrittenRelease
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

    from airflow_anon.transport.content_hash import ContentHash


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
        self._helpers = HelperTables(connection, table, self._how, is_kept=is_kept)
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
            try_expressions(connection, self._helpers.make, self._helpers.text)
            if subject is not None:
                try_persons(connection, self._helpers.make, self._helpers.filled, self._helpers.text)
            source = self._copied(source)
        self._source = self._records = source
        self._persons: StagedPersons | None = None
        self._values = NumberedValues(connection, self._schema, self._helpers, combines=self._how.combines)
        self._written = WrittenRelease(connection, table, counts=self._how.counts_release, is_kept=is_kept)

    def _copied(self, source: sa.Subquery) -> sa.Subquery:
        """Copy the source, by one statement that sees one moment; give the copy."""
        columns = [sa.Column(column.name, column.type) for column in source.c]
        table = self._helpers.make("source", columns)
        try:
            self._connection.execute(statements.copy_into(table, source))
        except sa.exc.DataError:
            refuse_large_numbers(self._connection, source, self._kinds)
            raise
        return sa.select(table).subquery("records")

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
            self._connection, self._source, self._schema, subject, most, self._helpers.make, self._helpers.filled
        )
        self._records = self._persons.records
        return self._persons.read

    def tuples_of_persons(self, columns: Sequence[str]) -> Iterator[PersonCounts]:
        """See `Warehouse.tuples_of_persons`."""
        for values, (persons, counts) in self._combinations(columns, self._of_persons.person):
            yield PersonCounts(values, persons, counts)

    def people(self, columns: Sequence[str]) -> Iterator[tuple[PersonCounts, NDArray[np.bool_]]]:
        """See `Warehouse.people`."""
        for rows in read_parts(self._connection, self._of_persons.people_of(columns), columns):
            *cells, persons, further, counts = zip(*rows, strict=True)
            arrays = [array_of(found, self._schema.field(name)) for found, name in zip(cells, columns, strict=True)]
            values = pa.record_batch(arrays, names=list(columns))
            counted = PersonCounts(values, np.array(persons, np.int64), np.array(counts, np.int64))
            yield counted, np.array(further, np.int64) == 1

    def _combinations(
        self, columns: Sequence[str], *also: str
    ) -> Iterator[tuple[pa.RecordBatch, list[NDArray[np.int64]]]]:
        refuse_odd_values(self._connection, self._source, self._schema)
        yield from self._values.combinations(self._records, columns, *also)

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
        refuse_odd_values(self._connection, self._source, self._schema)
        field = self._schema.field(column)
        for rows in read_parts(self._connection, statements.classes_of(self._source, [column]), [column]):
            cells, counts = zip(*rows, strict=True)
            yield array_of(cells, field), np.array(counts, np.int64)

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
        target = self._helpers.make_kept(self._target.name, columns)
        if self._persons is not None:
            # before either has a record: where CREATE commits, one would be kept without the other
            self._persons.make_people(people_name(self._target.name), rules.counted, self._helpers.make_kept)
        if self._how.copies:
            try_changes(self._connection, target)
        labelled, suppressed = tell_labels(rules, self._values, self._helpers)
        gone = self._left_out(rules)
        self._connection.execute(
            release_into(
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
        helpers = [suppressed, *(one.labels for one in labelled.values()), *self._values.tables.values()]
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
        gone = self._helpers.make("gone", [sa.Column("id", sa.BigInteger)])
        self._helpers.fill(gone, [[number] for number in rules.left_out.tolist()], ["id"])
        return self._of_persons.person, gone

    @property
    def made(self) -> list[str]:
        """Names of the tables that are there once the release is written: its own, and whose its records are."""
        return [self._target.name, *([] if self._persons is None else [people_name(self._target.name)])]

    @property
    def released(self) -> pa.Schema:
        """See `Warehouse.released`."""
        return self._written.schema

    def classes(self, columns: Sequence[str], count: str) -> Iterator[pa.RecordBatch]:
        """See `Warehouse.classes`; where its own counts are not judged, each record counts as one."""
        yield from self._written.classes(columns, count)

    @property
    def content(self) -> ContentHash | None:
        """Hash of the release, once `classes` has read all of it; None where that reads less."""
        return self._written.content

    def _plain(self, rules: ReleaseRules) -> pa.Schema:
        """Return the columns of the release in the types in which a share keeps them."""
        return pa.schema(
            [
                (name, pa.string() if name in rules.labels_of else plain_type(name, self._schema.field(name).type))
                for name in rules.columns
            ]
        )


def _present(connection: Connection, relation: Relation, columns: Sequence[str], subject: str | None) -> list[str]:
    """Return the column of persons, if the source has it and it is not read already."""
    there = {entry[0] for entry in describe(connection, relation)}
    return [] if subject is None or subject in columns or subject not in there else [subject]
