"""A warehouse table that changes from night to night, as rows of Python and in a real database; and its extraction."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from sqlalchemy import Engine, text

from airflow_anon.operators.extract import ExtractTableOperator
from airflow_anon.transport.address import path_of
from airflow_anon.transport.kept_table import keep

OVERLAP = 3
ROLES = {
    "mrn": "identifying",
    "age": "quasi-identifying",
    "stay": "insensitive",
    "diagnosis": "sensitive",
    "version": "identifying",
    "is_deleted": "identifying",
}
WAYS = {
    "deleted": {"changed": "version", "deleted": "is_deleted"},
    "list_keys": {"changed": "version", "list_keys": True},
    "query": {"changed": "number", "query": "SELECT mrn, number FROM person_log -- every write"},
}
_COLUMNS = "age INTEGER, stay NUMERIC(9, 2), diagnosis TEXT, version BIGINT, is_deleted {flag}"
CREATE = (
    f"CREATE TABLE person (mrn {{key}} PRIMARY KEY, {_COLUMNS})",
    "CREATE TABLE person_log (mrn {key}, number BIGINT)",
)


class ChangingSource:
    """The table `person` behind the connection `warehouse`.

    Parameters
    ----------
    way : str
        Of `WAYS`: what a deletion does to the table.
    """

    def __init__(self, engine: Engine, folder: Path, way: str) -> None:
        self.engine, self.folder, self.way = engine, folder, way
        self.rows: dict[int, tuple[Any, ...]] = {}
        self.version = 10
        self.night = 0
        postgres = engine.dialect.name == "postgresql"
        with engine.begin() as connection:
            # nobody needs these databases after a power cut
            if not postgres:
                connection.execute(text("PRAGMA journal_mode = MEMORY"))
            for statement in CREATE:
                given = {"key": "uuid" if postgres else "TEXT", "flag": "boolean" if postgres else "INTEGER"}
                connection.execute(text(statement.format(**given)))
        # the log reaches back to before the first night
        self._log(0, 1 - OVERLAP)
        self.write(0, (50, None, "I10"))

    @property
    def settings(self) -> dict[str, Any]:
        """The section `incremental`."""
        places = {"key": "mrn", "overlap": OVERLAP, "kept_in": str(self.folder / "kept"), "full_every": 1000}
        return {**places, "query": None, "deleted": None, "list_keys": False, **WAYS[self.way]}

    def name(self, key: int) -> str:
        """Return the key as the table has it."""
        return f"00000000-0000-4000-8000-{key:012}"

    def write(self, key: int, values: tuple[Any, ...], late: int = 0) -> None:
        """Insert or update a row; `late` as one whose transaction began that many writes ago."""
        self.version += 1
        self.rows[key] = values
        self._delete(key)
        with self.engine.begin() as connection:
            connection.execute(
                text("INSERT INTO person VALUES (:mrn, :age, :stay, :diagnosis, :version, :gone)"),
                {
                    "mrn": self.name(key),
                    **dict(zip(("age", "stay", "diagnosis"), values, strict=True)),
                    "version": self.version - late,
                    "gone": False,
                },
            )
        self._log(key, self.version - late)

    def remove(self, key: int) -> None:
        """Delete a row, or mark it as deleted."""
        self.version += 1
        if self.rows.pop(key, None) is None:
            return
        if self.way == "deleted":
            with self.engine.begin() as connection:
                connection.execute(
                    text("UPDATE person SET is_deleted = :yes, version = :version WHERE mrn = :mrn"),
                    {"yes": True, "version": self.version, "mrn": self.name(key)},
                )
        else:
            self._delete(key)
        self._log(key, self.version)

    def _delete(self, key: int) -> None:
        with self.engine.begin() as connection:
            connection.execute(text("DELETE FROM person WHERE mrn = :mrn"), {"mrn": self.name(key)})

    def _log(self, key: int, number: int) -> None:
        with self.engine.begin() as connection:
            values = {"mrn": self.name(key), "number": number}
            connection.execute(text("INSERT INTO person_log VALUES (:mrn, :number)"), values)

    def extract(self, **arguments: Any) -> dict[str, Any]:
        """Run the operator of the next night."""
        self.night += 1
        given = {"incremental": self.settings, "table": "person", "attributes": ROLES, **arguments}
        operator = ExtractTableOperator(
            task_id="extract", conn_id="warehouse", staging=str(self.folder / f"night {self.night}"), **given
        )
        return operator.execute({})

    def in_full(self, **arguments: Any) -> dict[str, Any]:
        """Run it as a job without the section does, for the same rows."""
        query = "SELECT * FROM person"
        if self.way == "deleted":
            query += " WHERE NOT is_deleted"
        return self.extract(incremental=None, table=None, query=query, pseudonymized=["mrn"], **arguments)

    def keep(self, result: dict[str, Any]) -> None:
        """Keep the rows of a night, as its publication does."""
        staged = path_of(result["path"])
        sealed = json.loads((staged.parent / "kept.json").read_bytes())
        counted = ["counts.parquet"] if sealed["counts_sha256"] else []
        with ExitStack() as stack:
            names = ["source.parquet", "hashes.bin", *counted]
            keep(
                self.folder / "kept",
                sealed,
                *(stack.enter_context((staged.parent / name).open("rb")) for name in names),
            )

    def present(self) -> list[tuple[Any, ...]]:
        """Return the rows that a full read gives, sorted."""
        return sorted((self.name(key), *map(_text, values)) for key, values in self.rows.items())


def rows_of(result: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the staged rows, sorted."""
    table = pq.read_table(result["path"])
    assert table.schema.names == ["mrn", "age", "stay", "diagnosis"]
    return sorted((row["mrn"], *map(_text, (row["age"], row["stay"], row["diagnosis"]))) for row in table.to_pylist())


def _text(value: Any) -> str:
    """Return a number without the form that its column has."""
    return "none" if value is None else f"{float(value):.2f}" if not isinstance(value, str) else value
