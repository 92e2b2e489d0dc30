"""What databases write and do differently where a job runs inside them.

In: nothing. Out: the form of a value of the registry. What it holds is SQL, types and facts; the statements are the
same for all (`warehouse.statements`). Outside PostgreSQL no value is believed: what a database makes of it is tried
before anything is counted (`warehouse.trial`), and what it released is read and counted outside of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.sql.compiler import IdentifierPreparer

Code = int | str
"""A SQLSTATE, or the number that a database gives an error."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What errors of a database mean, and what to do.

    Attributes
    ----------
    refused, cancelled, ended, busy : collection of SQLSTATEs or numbers
        The role lacks a right; a statement was ended; the transaction or the connection was; another session keeps what
        was waited for.
    full : collection of SQLSTATEs or numbers
        There is no room for what a statement makes.
    unfit : mapping of SQLSTATE or number to str
        What the server must be, and is not.
    grants : str
        The rights that a role needs.
    room : str
        Where there must be room.
    longest_statement, longest_transaction : str
        Settings that end a statement, and a transaction or connection that waits.
    """

    refused: Collection[Code]
    cancelled: Collection[Code]
    ended: Collection[Code]
    busy: Collection[Code] = ()
    full: Collection[Code] = ()
    unfit: Mapping[Code, str] = field(default_factory=dict)
    grants: str
    room: str = "its disk"
    longest_statement: str
    longest_transaction: str


def _as_it_is(asked: sa.Select[Any]) -> sa.Select[Any]:
    return asked


def _by(asked: sa.Select[Any], keys: Sequence[sa.ColumnElement[Any]]) -> sa.Select[Any]:
    return asked.order_by(*keys)


def _key(_: str, key: str) -> str:
    return key


def _nothing(*_: Any) -> list[str]:
    return []


def _never(_: sa.ColumnElement[Any]) -> sa.ColumnElement[bool] | None:
    return None


def _not_known(_: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    raise sa.exc.CompileError("subject: this database has no expression that tells persons")


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """A database in which a job runs, or could.

    Attributes
    ----------
    name : str
        That of SQLAlchemy's dialect.
    unproven : str or None
        Why no job runs in it; None where every test of a whole night ran on a server.
    bytewise : callable of SQL and its type to SQL
        A text that equals another one only if their bytes do.
    shown : callable of SQL and SQL to SQL
        The text of a group of texts that are equal so, by the text and what was grouped by.
    secret_random : callable of SQL to SQL
        Bits that are new for each record and that nobody can work out; given a secret text, for databases whose random
        numbers are not of cryptographic strength.
    keyed_random : bool
        Whether it needs that text.
    ordered : callable of Select and keys to Select
        Orders records by some keys, as fast as this database can.
    in_order : callable of Select to Select
        Keeps the ORDER BY of a SELECT whose records are inserted.
    once : callable of Select to Select
        Makes a subquery whose columns are worked out once per record, and not again wherever they are used.
    types : mapping of kind, as of `sql_type`, to callable
        Types of columns where those of SQLAlchemy would change a value.
    sums : callable of Subquery to Select
        The number of records, and four sums of parts of their SHA-256.
    settings : sequence of str
        Statements with which a transaction begins.
    grouping : sequence of str
        Statements after which groups are made as fast as this database can, for the rest of the transaction.
    combines : bool
        Whether it is faster to group records by values, and to number these in the groups, than to number the values
        of all records and to group by numbers.
    isolation : str
        Of the transaction that counts and releases.
    copies : bool
        Whether the source is copied first, by one statement, into a table of the session: where CREATE TABLE commits,
        no transaction sees one moment to its end.
    temporary : sequence of str
        Words before TABLE with which helper tables are the session's own and gone with it; empty where a transaction
        that is rolled back takes them away.
    unlogged : sequence of str
        Words before TABLE with which what is written there before it is published reaches no log of changes: logical
        replication would send it to whoever gets the schema of the release.
    temporary_name : str
        With which names of such tables begin.
    options : mapping
        Of SQLAlchemy's `Table`, for helper tables.
    filled : callable of preparer, Table and groups of column names to list of str
        Statements for a helper table that is full and will be looked up by these columns.
    odd : callable of column to condition or None
        Values of a column that a driver reads as others.
    plain : callable of column to SQL
        A text in lower case without blanks, the same whatever the locale or collation is (`letters`).
    counts_release : bool
        Whether its own counts of the release are judged; else its records are read and counted by the task.
    closes_tables : bool
        Whether a table can be closed to those who may read its schema; else releases wait in the schema of the
        connection, and are published in another one.
    alone : callable of Connection and str, or None
        Admits one publisher of a name, until the connection is closed. None where a lock of the transaction does.
    without_transactions : callable of Connection, schema and names of tables to list of str
        Those of the tables whose changes are not rolled back.
    told : Told or None
    """

    name: str
    unproven: str | None = None
    bytewise: Callable[[str, Any], str]
    shown: Callable[[str, str], str] = _key
    secret_random: Callable[[str], str]
    keyed_random: bool = False
    ordered: Callable[[sa.Select[Any], Sequence[sa.ColumnElement[Any]]], sa.Select[Any]] = _by
    in_order: Callable[[sa.Select[Any]], sa.Select[Any]] = _as_it_is
    once: Callable[[sa.Select[Any]], sa.Select[Any]] = _as_it_is
    types: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    sums: Callable[[sa.Subquery], sa.Select[Any]]
    settings: Sequence[str] = ()
    grouping: Sequence[str] = ()
    combines: bool = False
    isolation: str
    copies: bool
    temporary: Sequence[str] = ()
    unlogged: Sequence[str] = ()
    temporary_name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    filled: Callable[[IdentifierPreparer, sa.Table, Sequence[Sequence[str]]], list[str]] = _nothing
    odd: Callable[[sa.ColumnElement[Any]], sa.ColumnElement[bool] | None] = _never
    plain: Callable[[sa.ColumnElement[Any]], sa.ColumnElement[Any]] = _not_known
    counts_release: bool = False
    closes_tables: bool = False
    alone: Callable[[Connection, str], None] | None = None
    without_transactions: Callable[[Connection, str | None, Sequence[str]], list[str]] = _nothing
    told: Told | None = None


def written(
    records: sa.Subquery,
    text_of: Callable[[sa.ColumnElement[Any]], sa.ColumnElement[Any]],
    length_of: Callable[[sa.ColumnElement[Any]], sa.ColumnElement[Any]] = sa.func.length,
) -> list[Any]:
    """Return parts of a text that no other record has: for each column whether it is missing, its length, its text."""
    parts: list[Any] = []
    for column in records.c:
        text = text_of(column)
        known = sa.literal("v", sa.String(1)) + sa.cast(length_of(text), sa.String(20)) + ":" + text
        parts.append(sa.case((column.is_(None), sa.literal("n", sa.String(1))), else_=known))
    return parts
