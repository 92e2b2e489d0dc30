"""The one statement that reads what changed since a mark, and how many rows there are now.

In: a table or query, its columns, and how it tells changes. Out: rows with the columns of the job and five of ours: the
number of rows now, the highest and the lowest mark, the clock, and what became of the row. One statement sees one state
of the database, so the number counts what the rows come to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.change_marks import DIALECTS, Marks, is_deleted, marks_of
from airflow_anon.transport.column import Column
from airflow_anon.transport.connection import PLAIN, engine_of, names_of
from airflow_anon.transport.database_read import Reading
from airflow_anon.transport.relation import Relation, describe, one_select

if TYPE_CHECKING:
    from sqlalchemy.sql.compiler import IdentifierPreparer

STAYS, WRITTEN, GONE = 0, 1, 2
TOTAL, TOP, BOTTOM, NOW, STATE = (f"airflow_anon_{name}" for name in ("total", "top", "bottom", "now", "state"))
OURS = (TOTAL, TOP, BOTTOM, NOW, STATE)
_KEY, _RAW = "airflow_anon_key", "airflow_anon_raw"


@dataclass(frozen=True)
class Settings:
    """How a source tells changes: the section `incremental` of a job."""

    key: str
    changed: str
    overlap: int
    kept_in: str
    full_every: int
    query: str | None = None
    deleted: str | None = None
    list_keys: bool = False

    @property
    def not_asked(self) -> set[str]:
        """Identifying columns that need not differ from row to row, or are known to."""
        return {name for name in (self.key, self.changed, self.deleted) if name is not None}


@dataclass(frozen=True)
class Told:
    """How one relation tells changes, in SQL.

    Attributes
    ----------
    relation : Relation
        As the job names it, rows that are marked as deleted included.
    marks : Marks
        Of the relation, or of the log.
    deleted : str
        SQL that is true of a row that is marked as deleted; "" without such a column.
    """

    settings: Settings
    relation: Relation
    marks: Marks
    preparer: IdentifierPreparer
    deleted: str = ""

    @property
    def present(self) -> Relation:
        """The rows that are not marked as deleted."""
        if not self.deleted:
            return self.relation
        return Relation(query=f"SELECT * FROM {self.clause} WHERE NOT ({self.deleted})")

    @property
    def clause(self) -> str:
        """The relation after FROM."""
        return self.relation.from_clause(self.preparer)

    @property
    def log(self) -> str:
        """What has the marks, after FROM."""
        return self.clause if self.settings.query is None else _log(self.settings.query).from_clause(self.preparer)

    def state_now(self) -> str:
        """Return a statement for the highest mark and the clock."""
        return f"SELECT MAX({self.marks.mark}), {self.marks.now or 'NULL'} FROM {self.log}"

    def changes(self, reading: Reading, mark: int) -> Reading:
        """Return the reading of what changed at or above a mark; `reading` is that of all rows."""
        since = self.marks.since(mark)
        whole = [Column(name, self.preparer.quote(name), _int64()) for name in OURS]
        columns = [replace(column, expression=self.preparer.quote(column.name)) for column in reading.columns]
        changed = self._logged(reading.columns, since) if self.settings.query else self._own(reading.columns, since)
        query = f"SELECT * FROM (\n{self._totals()}\n) totals LEFT JOIN (\n{changed}\n) changed ON 1 = 1"
        return replace(reading, relation=Relation(query=query), columns=[*whole, *columns])

    def _totals(self) -> str:
        counted = f"SELECT COUNT(*) FROM {self.present.from_clause(self.preparer)}"
        bottom = f"MIN({self.marks.mark})" if self.settings.query else "CAST(NULL AS BIGINT)"
        now = self.marks.now or "CAST(NULL AS BIGINT)"
        return (
            f"SELECT ({counted}) AS {TOTAL}, MAX({self.marks.mark}) AS {TOP}, {bottom} AS {BOTTOM}, {now} AS {NOW} "
            f"FROM {self.log}"
        )

    def _own(self, columns: Sequence[Column], since: str) -> str:
        """Return SQL for the rows that the relation itself says were written."""
        if self.settings.list_keys:
            state, where = f"CASE WHEN {since} THEN {WRITTEN} ELSE {STAYS} END", ""
        else:
            state, where = f"CASE WHEN {self.deleted} THEN {GONE} ELSE {WRITTEN} END", f" WHERE {since}"
        listed = [
            self._listed(column, None if column.name == self.settings.key or where else since) for column in columns
        ]
        return f"SELECT {', '.join([f'{state} AS {STATE}', *listed])} FROM {self.clause}{where}"

    def _listed(self, column: Column, since: str | None) -> str:
        """Return SQL for a column; with `since` it is missing in rows that stay."""
        value = column.expression if since is None else f"CASE WHEN {since} THEN {column.expression} END"
        return f"{value} AS {self.preparer.quote(column.name)}"

    def _logged(self, columns: Sequence[Column], since: str) -> str:
        """Return SQL for the rows whose keys the log has; a key without a row is gone."""
        quote, key = self.preparer.quote, self.settings.key
        told = next(column.expression for column in columns if column.name == key)
        written = f"SELECT DISTINCT {quote(key)} AS {_RAW}, {told} AS {_KEY} FROM {self.log} WHERE {since}"
        rows = ", ".join([f"{quote(key)} AS {_RAW}", *(self._listed(column, None) for column in columns)])
        listed = ", ".join(
            f"written.{_KEY} AS {quote(key)}" if column.name == key else f"present.{quote(column.name)}"
            for column in columns
        )
        return (
            f"SELECT CASE WHEN present.{_RAW} IS NULL THEN {GONE} ELSE {WRITTEN} END AS {STATE}, {listed} FROM "
            f"({written}) written LEFT JOIN (SELECT {rows} FROM {self.clause}) present "
            f"ON present.{_RAW} = written.{_RAW}"
        )


def told_by(hook: Any, relation: Relation, given: Mapping[str, Any]) -> Told:
    """Inspect how a relation tells changes; no record leaves the database.

    Raises
    ------
    AirflowFailException
        The database is not one whose changes can be read, or a column is missing or of an unfit type.
    """
    settings = Settings(**given)
    engine = engine_of(hook)
    if engine.dialect.name not in DIALECTS:
        raise AirflowFailException(
            f"incremental: is for {' and '.join(DIALECTS)}, and the connection is of {engine.dialect.name}; take it out"
        )
    with engine.connect().execution_options(**PLAIN) as connection:
        description = describe(connection, relation)
        deleted = "" if settings.deleted is None else is_deleted(connection, relation, description, settings.deleted)
        if settings.query is None:
            marks = marks_of(connection, relation, description, settings.changed, "incremental.changed")
        else:
            log = _log(settings.query)
            found = describe(connection, log)
            marks = marks_of(connection, log, found, settings.changed, "incremental.changed")
            if settings.key not in {entry[0] for entry in found}:
                raise AirflowFailException(
                    f"incremental.query: lacks the key {settings.key!r}; select it, with AS if it has another name"
                )
    return Told(settings, relation, marks, names_of(engine.dialect), deleted)


def _log(query: str) -> Relation:
    try:
        one_select(query)
    except AirflowFailException as problem:
        raise AirflowFailException(f"incremental.{problem}") from None
    return Relation(query=query)


def _int64() -> Any:
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    return pa.int64()
