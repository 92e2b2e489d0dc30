"""The OpenLineage names of a job's tables and folders, by its naming conventions, and the origin of each column.

In: a connection with a table or a query, or the output of a job. Out: namespaces and names. The text of a query is
not passed on, because its literals may name a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from airflow_anon.share.folder_share import local_path
from airflow_anon.transport.connection import hook_of
from airflow_anon.transport.object_store import is_in_store
from airflow_anon.transport.relation import split_table

DEFAULT_SCHEMA = "public"


class Name(NamedTuple):
    """A dataset as OpenLineage identifies it."""

    namespace: str
    name: str


class Column(NamedTuple):
    """A column of a dataset."""

    dataset: Name
    field: str


@dataclass(frozen=True)
class Origin:
    """Where records come from.

    Attributes
    ----------
    datasets : tuple of Name
        The tables or the file that is read.
    columns : mapping
        Name of a column as read, to the columns it is computed from; columns that could not be traced are absent.
    """

    datasets: tuple[Name, ...]
    columns: Mapping[str, tuple[Column, ...]]


def origin_of(
    columns: Iterable[str], *, conn_id: str | None, table: str | None, query: str | None, path: str | None = None
) -> Origin:
    """Return the origin of a table, of a query, or of a file."""
    if conn_id is None:
        return _origin_of_one(folder_name(Path(path or "")), columns)
    database = _Database(conn_id)
    if table is not None:
        return _origin_of_one(database.named(table), columns)
    return _origin_of_query(database, query or "", set(columns))


def joined(origins: Sequence[Origin]) -> Origin:
    """Return the origin of several tables; a column that several have comes from all of them."""
    columns: dict[str, tuple[Column, ...]] = {}
    for origin in origins:
        for name, found in origin.columns.items():
            columns[name] = tuple(dict.fromkeys([*columns.get(name, ()), *found]))
    return Origin(tuple(dict.fromkeys(name for origin in origins for name in origin.datasets)), columns)


def output_names(output: Any, job_name: str) -> list[Name]:
    """Return the share folders of a job and its table in a SQL share, if the output names them.

    The folder holds all releases: a dataset keeps its name, and the release id is its version.
    """
    names = []
    for path in () if output.path is None else (output.path, *output.also):
        in_store = is_in_store(path)
        names.append(
            store_name(f"{path}/{job_name}") if in_store else folder_name(local_path(path, "output path") / job_name)
        )
    if output.conn_id is not None:
        names.append(_Database(output.conn_id).named(output.table))
    return names


def folder_name(path: Path) -> Name:
    """Return the name of a local path."""
    return Name("file", str(path.resolve()))


def store_name(address: str) -> Name:
    """Return the name of an address in a store: its bucket, and what is in it; its connection is left out."""
    scheme, _, rest = address.partition("://")
    bucket, _, key = rest.rpartition("@")[2].partition("/")
    return Name(f"{scheme}://{bucket}", key)


def _origin_of_one(name: Name, columns: Iterable[str]) -> Origin:
    return Origin((name,), {column: (Column(name, column),) for column in columns})


def _origin_of_query(database: _Database, query: str, columns: set[str]) -> Origin:
    from openlineage.common.sql import parse  # type: ignore[import-untyped]  # noqa: PLC0415 (only OpenLineage asks)

    parsed = parse([query], dialect=database.dialect, default_schema=database.default_schema)
    traced: dict[str, tuple[Column, ...]] = {}
    for entry in parsed.column_lineage if parsed is not None else ():
        found = [(database.of_parsed(column.origin), column.name) for column in entry.lineage if column.origin]
        if entry.descendant.name in columns and found:
            traced[entry.descendant.name] = tuple(Column(name, field) for name, field in found)
    # Tables used inside a WITH are known only as origins of columns.
    tables = [database.of_parsed(table) for table in (parsed.in_tables if parsed is not None else ())]
    tables += [column.dataset for columns_of in traced.values() for column in columns_of]
    return Origin(tuple(dict.fromkeys(tables)), traced)


class _Database:
    """The part of a connection that names its tables."""

    def __init__(self, conn_id: str) -> None:
        self.hook = hook_of(conn_id)
        self.connection = self.hook.connection
        self.is_file = self.hook.conn_type == "sqlite"
        self.dialect = self.hook.get_openlineage_database_dialect(self.connection)

    @property
    def namespace(self) -> str:
        if self.is_file:
            return f"sqlite://{Path(self.connection.host or '').resolve()}"
        info = self.hook.get_openlineage_database_info(self.connection)
        if info is None:
            return f"{self.hook.conn_type}://{self.hook.get_openlineage_authority_part(self.connection)}"
        return f"{info.scheme}://{info.authority}" if info.authority else str(info.scheme)

    @property
    def default_schema(self) -> str:
        """Schema of a table without one; for a database that does not answer, its usual default."""
        if not self.is_file:
            with suppress(Exception):
                return self.hook.get_openlineage_default_schema() or DEFAULT_SCHEMA
        return DEFAULT_SCHEMA

    def named(self, table: str) -> Name:
        """Return the name of `table`, `schema.table` or `catalog.schema.table`."""
        return self._name(split_table(table))

    def of_parsed(self, table: Any) -> Name:
        """Return the name of a table as the SQL parser gives it."""
        return self._name([part for part in (table.database, table.schema, table.name) if part])

    def _name(self, parts: list[str]) -> Name:
        if self.is_file:
            return Name(self.namespace, parts[-1])
        schema = [self.default_schema] if len(parts) == 1 else []
        whole = [*schema, *parts]
        if len(whole) == 2 and self.connection.schema:  # noqa: PLR2004 (schema and table)
            # The schema of an Airflow connection is the database.
            whole = [self.connection.schema, *whole]
        return Name(self.namespace, ".".join(whole))
