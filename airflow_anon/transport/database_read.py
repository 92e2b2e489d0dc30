"""Record batches of a relation as a stream, by ADBC or by SQLAlchemy; memory does not grow with the table."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.transport.adbc import Driver, connect, driver_for, unfit_setting
from airflow_anon.transport.column import Column
from airflow_anon.transport.column_types import typed_columns
from airflow_anon.transport.connection import PLAIN, engine_of, names_of
from airflow_anon.transport.mariadb_session import ending, is_mariadb
from airflow_anon.transport.postgresql_session import read_as_it_is
from airflow_anon.transport.relation import Relation, describe, wanted_columns
from airflow_anon.transport.row_security import warn_of_row_security

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Connection, CursorResult, Engine

Transport = Literal["adbc", "sqlalchemy"]
_log = logging.getLogger(__name__)


@dataclass
class Reading:
    """A relation that was inspected and can be read once.

    Attributes
    ----------
    transport : {"adbc", "sqlalchemy"}
    columns : list of Column
        The columns to read, in the order of the output.
    present : tuple of str
        Names of all columns of the relation.
    cancel : callable, optional
        Ends a running read from another thread or a signal handler; set while reading.
    """

    hook: Any
    relation: Relation
    columns: list[Column]
    transport: Transport
    batch_rows: int
    engine: Engine
    present: tuple[str, ...] = ()
    cancel: Callable[[], None] | None = field(default=None, init=False)

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """Yield record batches with the wanted columns; closing the generator closes the connection."""
        driver = driver_for(self.engine.dialect.name)
        if self.transport == "adbc" and driver is not None:
            return self._adbc_batches(driver)
        return self._sqlalchemy_batches()

    def _select(self) -> str:
        preparer = names_of(self.engine.dialect)
        listed = ", ".join(f"{column.expression} AS {preparer.quote(column.name)}" for column in self.columns)
        return f"SELECT {listed} FROM {self.relation.from_clause(preparer)}"

    def _adbc_batches(self, driver: Driver) -> Generator[pa.RecordBatch, None, None]:
        statement_options = {driver.batch_option: self.batch_rows} if driver.batch_option else None
        sentinel = sentinel_row(self.columns) if self.engine.dialect.name == "sqlite" else None
        select = self._select() if sentinel is None else f"{sentinel}\n{self._select()}"
        with (
            closing(connect(driver, self.hook)) as connection,
            closing(connection.cursor(adbc_stmt_kwargs=statement_options)) as cursor,
        ):
            self.cancel = cursor.adbc_cancel
            cursor.execute(select)
            batches = iter(cursor.fetch_record_batch())
            if sentinel is not None:
                batches = without_sentinel(batches)
            for batch in batches:
                yield conformed(batch, self.columns)

    def _sqlalchemy_batches(self) -> Generator[pa.RecordBatch, None, None]:
        options = {**PLAIN, "stream_results": True, "max_row_buffer": self.batch_rows}
        with self.engine.connect().execution_options(**options) as connection:
            self.cancel = canceller(connection)
            read_as_it_is(connection)
            result = connection.exec_driver_sql(self._select())
            try:
                while rows := result.fetchmany(self.batch_rows):
                    yield batch_of_rows(rows, self.columns)
            except BaseException:
                if is_mariadb(connection.dialect):
                    self._end(result)
                raise

    def _end(self, result: CursorResult[Any]) -> None:
        """End a read that nobody wants to the end: this driver would take all further records before it closes."""
        from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 (heavy imports belong into execute)

        with suppress(SQLAlchemyError):
            if self.cancel is not None:
                self.cancel()
            while result.fetchmany(self.batch_rows):
                pass


def look_at(
    hook: Any,
    relation: Relation,
    attributes: Mapping[str, str],
    transport: Literal["auto", "adbc", "sqlalchemy"],
    batch_rows: int,
) -> Reading:
    """Compare the relation's columns with the job's and decide how to read them; no record leaves the database.

    Raises
    ------
    AirflowFailException
        The columns differ from the job's (see `relation.wanted_columns`), or ADBC is required and there is no driver,
        or a setting with which it fails.
    """
    engine = engine_of(hook)
    driver = driver_for(engine.dialect.name)
    if transport == "adbc" and driver is None:
        raise AirflowFailException(
            f"transport 'adbc': no ADBC driver for {engine.dialect.name} is installed; install it or use 'auto'"
        )
    chosen: Transport = "sqlalchemy" if driver is None or transport == "sqlalchemy" else "adbc"
    with engine.connect().execution_options(**PLAIN) as connection:
        description = describe(connection, relation)
        present = tuple(entry[0] for entry in description)
        wanted = wanted_columns(present, attributes, relation)
        columns = typed_columns(connection, relation, description, wanted)
        warn_of_row_security(connection, relation)
        unfit = unfit_setting(connection) if chosen == "adbc" else None
    if unfit is not None and transport == "adbc":
        raise AirflowFailException(
            f"transport 'adbc': its driver mistakes types of columns, since {unfit}; or use 'auto'"
        )
    if unfit is not None:
        _log.warning("%s: is read without ADBC, which takes longer, since %s", relation, unfit)
        chosen = "sqlalchemy"
    return Reading(hook, relation, columns, chosen, batch_rows, engine, present)


def sentinel_row(columns: Sequence[Column]) -> str:
    """Return SQL for a first row that shows each column's type.

    SQLite's ADBC driver takes a column's type from the first batch and fails later if the batch had only nulls.
    """
    literals = {"int64": "0", "double": "0.0", "string": "''", "binary": "x''"}
    listed = ", ".join(literals[str(column.type)] for column in columns)
    return f"SELECT {listed} UNION ALL"


def without_sentinel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches without the first row, which must be that of `sentinel_row`.

    Raises
    ------
    AirflowException
        It is another row, so a record would be lost.
    """
    first = next(batches)
    if any(column[0].as_py() not in {0, "", b""} for column in first.columns):
        raise AirflowException("SQLite returned the records in another order than asked; set transport='sqlalchemy'")
    yield first.slice(1)
    yield from batches


def conformed(batch: pa.RecordBatch, columns: Sequence[Column]) -> pa.RecordBatch:
    """Return the batch with the columns' names and, if known, their types."""
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    arrays = []
    for array, column in zip(batch.columns, columns, strict=True):
        plain = array.storage if isinstance(array, pa.ExtensionArray) else array
        if column.type is not None and plain.type != column.type:
            plain = _cast(plain, column)
        arrays.append(plain)
    return pa.record_batch(arrays, names=[column.name for column in columns])


def _cast(array: pa.Array, column: Column) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    try:
        return array.cast(column.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise AirflowFailException(
            f"column {column.name!r}: holds a value that is no {column.type}; cast it to text in a query"
        ) from None


def batch_of_rows(rows: Sequence[Sequence[Any]], columns: Sequence[Column]) -> pa.RecordBatch:
    """Turn rows of Python values into a batch; a column without a known type gets the type of its values.

    Raises
    ------
    AirflowFailException
        Names a column whose values have no common plain type.
    """
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    arrays = []
    for column, values in zip(columns, zip(*rows, strict=True), strict=True):
        try:
            arrays.append(pa.array(values if column.values is None else column.values(values), type=column.type))
        except (pa.ArrowException, OverflowError, ValueError, TypeError):  # noqa: PERF203 (names the column)
            kind = f"no {column.type}" if column.type is not None else "of another type than the others"
            raise AirflowFailException(
                f"column {column.name!r}: holds a value that is {kind}; cast it to text in a query"
            ) from None
    return pa.record_batch(arrays, names=[column.name for column in columns])


def canceller(connection: Connection) -> Callable[[], None] | None:
    """Return a function that interrupts a running statement of this connection, if its driver can."""
    if is_mariadb(connection.dialect):
        return ending(connection)
    raw = connection.connection.driver_connection
    return getattr(raw, "cancel", None) or getattr(raw, "interrupt", None)
