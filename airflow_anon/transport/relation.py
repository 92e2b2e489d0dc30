"""The relation to read: a table or a query, its columns, and the columns that the job declares.

An undeclared column is an error and never passed through; an identifying column is never selected.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.connection import PLAIN, names_of

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.sql.compiler import IdentifierPreparer

ROLES = ("quasi-identifying", "sensitive", "identifying", "insensitive")

# Literals, quoted names and comments: a semicolon in them ends nothing.
_OPAQUE = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$",
    re.DOTALL,
)
_NAME_PART = re.compile(r'"((?:[^"]|"")+)"|([^."]+)')


@dataclass(frozen=True)
class Relation:
    """Exactly one of a table or a query, with a job's records or with its population."""

    table: str | None = None
    query: str | None = None
    is_population: bool = False

    @classmethod
    def named(cls, name: str, schema: str | None) -> Relation:
        """Return the table of this name, as it stands in the database."""
        parts = [part.replace('"', '""') for part in (schema, name) if part is not None]
        return cls(table=".".join(f'"{part}"' for part in parts))

    def __str__(self) -> str:
        if self.is_population:
            return "the population's query" if self.table is None else f"the population's table {self.table}"
        return f"table {self.table}" if self.table is not None else "the query"

    def from_clause(self, preparer: IdentifierPreparer) -> str:
        """Return the text after FROM, with names quoted by the dialect."""
        if self.table is not None:
            return f"{quoted_table(self.table, preparer)} source"
        # A line break ends a comment on the query's last line.
        return f"(\n{one_select(self.query or '')}\n) source"


def one_select(query: str) -> str:
    """Return the query, which must be a single SELECT or WITH statement.

    Raises
    ------
    AirflowFailException
        It is empty, another statement, or more than one statement.
    """
    bare = _OPAQUE.sub(lambda found: "" if found[0].startswith(("--", "/*")) else "''", query).strip()
    if not bare:
        raise AirflowFailException("query: is empty; write one SELECT statement")
    if ";" in bare:
        raise AirflowFailException("query: has a semicolon; write one SELECT statement and nothing after it")
    if not re.match(r"(select|with)\b", bare, re.IGNORECASE):
        raise AirflowFailException("query: must begin with SELECT or WITH")
    return query.strip()


def split_table(table: str) -> list[str]:
    """Split `schema.table`; a part with a dot must be in double quotes.

    Raises
    ------
    AirflowFailException
        The name is empty or cannot be split.
    """
    parts = [quoted.replace('""', '"') if quoted else plain for quoted, plain in _NAME_PART.findall(table)]
    if not parts or len(parts) > 3 or ".".join(m[0] for m in _NAME_PART.finditer(table)) != table:  # noqa: PLR2004 (catalog, schema, table)
        raise AirflowFailException(f"table {table!r}: write it as table, schema.table or catalog.schema.table")
    return parts


def table_key(conn_id: str, table: str) -> tuple[str, ...]:
    """Return what tells a table of a connection from others, however its name is quoted.

    Raises
    ------
    AirflowFailException
        As `split_table`.
    """
    return (conn_id, *split_table(table))


def quoted_table(table: str, preparer: IdentifierPreparer) -> str:
    """Return the name with each part quoted by the dialect."""
    return ".".join(preparer.quote(part) for part in split_table(table))


def describe(connection: Connection, relation: Relation) -> list[Sequence[Any]]:
    """Return the DBAPI description of the relation's columns (name, type code, …), reading no record."""
    clause = relation.from_clause(names_of(connection.dialect))
    result = connection.exec_driver_sql(f"SELECT * FROM {clause} WHERE 1 = 0", execution_options=PLAIN)
    described = [(name, *entry[1:]) for name, entry in zip(result.keys(), result.cursor.description, strict=True)]
    result.close()
    return described


def wanted_columns(present: Sequence[str], attributes: Mapping[str, str], relation: Relation) -> list[str]:
    """Return the columns to read: declared and not identifying, in the job's order.

    Parameters
    ----------
    present : sequence of str
        Names of the relation's columns.
    attributes : mapping
        Column to role.

    Raises
    ------
    AirflowFailException
        A column occurs twice, is not declared, or is declared and missing. An identifying column may be missing.
    """
    twice = sorted(name for name, count in Counter(present).items() if count > 1)
    if twice:
        raise AirflowFailException(f"{relation}: has more than one column {_named(twice)}; give each its own name")
    unnamed = sorted(set(present) - set(attributes))
    gone = sorted(set(attributes) - set(present))
    if relation.is_population:
        _check_population(unnamed, gone, attributes, relation)
    if unnamed:
        # A new name of an old column must not be taken for a new column, whose role somebody would choose anew.
        renamed = (
            f"; or, if it is a new name of {_named(gone)}, rename that, which is not there any more" if gone else ""
        )
        raise AirflowFailException(f"{relation}: {unnamed_columns(unnamed, gone)}{renamed}")
    wanted = [name for name, role in attributes.items() if role != "identifying"]
    missing = sorted(set(wanted) - set(present))
    if missing:
        raise AirflowFailException(
            f"{relation}: lacks the {_columns(missing)}, which the job names; correct the name under attributes, "
            f"or add it to the {'table' if relation.table is not None else 'query'}"
        )
    if not wanted:
        raise AirflowFailException(f"{relation}: every column is identifying, so there is nothing to read")
    return wanted


def _check_population(
    unnamed: Sequence[str], missing: Sequence[str], attributes: Mapping[str, str], relation: Relation
) -> None:
    """Refuse a population that does not have exactly the required columns."""
    found = [f"{verb} the {_columns(names)}" for verb, names in (("has", unnamed), ("lacks", missing)) if names]
    if found:
        raise AirflowFailException(
            f"{relation}: {' and '.join(found)}; it must have {_named(list(attributes))} and no other: write a query "
            "that selects them, with 1 AS persons where a row is one person"
        )


def unnamed_columns(unnamed: Sequence[str], gone: Sequence[str]) -> str:
    """Say that a source has columns that the job does not name; those of another case are told by the job's spelling.

    Parameters
    ----------
    unnamed : sequence of str
        Columns of the source without a role, at least one.
    gone : sequence of str
        Columns of the job that the source does not have.
    """
    each = "it" if len(unnamed) == 1 else "each"
    spelled = {name.strip().casefold(): name for name in gone}
    alike = [
        f"{name!r} is {spelled[name.strip().casefold()]!r} of the job"
        for name in unnamed
        if name.strip().casefold() in spelled
    ]
    told = f"; {', '.join(alike)} but for case or blanks: write it there as it is in the source" if alike else ""
    return (
        f"has the {_columns(unnamed)}, which the job does not name; give {each} a role under attributes (identifying "
        f"to leave it out), or leave it out of the query{told}"
    )


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {_named(names)}"


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
