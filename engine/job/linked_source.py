"""Opens the source of a job with tables: its tables' files, tables in memory, or a file with the records of all.

In: a job, and optionally what is taken instead of its sources. Out: one `Table` of all records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from engine.backends.warehouse import Warehouse
from engine.errors import InvalidData, InvalidJob
from engine.job.job import Job
from engine.message import Message
from engine.tables.sources.data_set import open_source_path
from engine.tables.sources.linked import LinkedTables, StackedTable
from engine.tables.sources.linked_name import TABLE
from engine.tables.sources.source import open_data
from engine.tables.sources.table import Table


def linked_source(job: Job, given: Any = None) -> Table:
    """Open the tables of a job.

    Parameters
    ----------
    given : mapping of table name to pyarrow Table, RecordBatchReader, DataFrame or path of a file, optional
        Taken instead of the job's sources; or an opened table with the records of all.

    Raises
    ------
    InvalidJob
        The job names no files.
    InvalidData
        A table is not given or cannot be opened, or a column has types in two of them that cannot be one.
    """
    if isinstance(given, Warehouse) or (given is not None and callable(getattr(given, "batches", None))):
        opened: Table = given
        return opened
    if given is not None and not isinstance(given, Mapping):
        raise InvalidData(
            f"table: is a {type(given).__name__}; a job with tables takes a mapping of their names to tables"
        )
    assert job.tables is not None  # noqa: S101 (the caller asks only for such a job)
    if given is None and job.source is not None and job.source.path is not None:
        return stacked_source(job, open_source_path(job.source.path, job.source.form))
    tables = _opened(job) if given is None else _given(job, given)
    order = [name for name in job.attributes if name != TABLE]
    return LinkedTables(tables, job.columns_of_tables, order, job.quasi_identifiers)


def stacked_source(job: Job, table: Table) -> Table:
    """Return a table that has the records of all tables already, each cell of which is looked at when it is read.

    Raises
    ------
    InvalidData
        It does not say of which table its records are.
    """
    if TABLE not in table.schema.names:
        raise InvalidData(f"source: lacks the column {TABLE!r}, which says of which table of the job a record is")
    return StackedTable(table, {name: (TABLE, *own) for name, own in job.columns_of_tables.items()})


def refuse_lacking_subject(tables: Mapping[str, Table], subject: str | None) -> None:
    """Refuse tables without the column of persons.

    Raises
    ------
    InvalidData
        Names them.
    """
    lacking = [name for name, table in tables.items() if subject not in table.schema.names]
    if lacking:
        raise InvalidData(
            f"subject {subject!r}: {', '.join(f'tables.{name}' for name in lacking)} lack this column, so that nobody "
            "can tell whose the records there are; extract it"
        )


def _opened(job: Job) -> dict[str, Table]:
    found = {}
    for name, table in (job.tables or {}).items():
        if table.source is None or table.source.path is None:
            raise InvalidJob(
                f"tables.{name}.source: names no path; give the tables, or run the job where its connection is known"
            )
        found[name] = _named(name, partial(open_source_path, table.source.path, table.source.form))
    return found


def _given(job: Job, given: Mapping[str, Any]) -> dict[str, Table]:
    names = list(job.tables or {})
    if set(given) != set(names):
        raise InvalidData(f"table: must give each of the tables {', '.join(names)}, and no other one")
    return {name: _named(name, partial(_opened_data, given[name])) for name in names}


def _opened_data(data: Any) -> Table:
    return open_source_path(str(data)) if isinstance(data, str | Path) else open_data(data)


def _named(name: str, opening: Callable[[], Table]) -> Table:
    """Open a table; an error says which one it is."""
    try:
        return opening()
    except InvalidData as problem:
        raise InvalidData(Message(f"tables.{name}: ", problem.message)) from None
