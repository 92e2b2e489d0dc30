"""Statements of a database that is not at hand, run by another engine: compiled by the real dialect, then translated.

In: the name of a dialect of SQLAlchemy. Out: an engine that compiles by that dialect; each statement that it is given
is read by a parser of the language (sqlglot), written anew for DuckDB, and run there, in memory. What is translated has
the meaning that the parser gives it: joins, missing values, counts, orders. How a server compares texts, keeps a
transaction or plans a statement is not seen here.
"""

from __future__ import annotations

import os
import re
import sys
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa
import sqlglot
from sqlalchemy.dialects.mssql.base import MSDialect
from sqlalchemy.dialects.oracle.base import OracleDialect
from sqlglot import exp

LANGUAGES = {"mssql": "tsql", "oracle": "oracle", "snowflake": "snowflake", "bigquery": "bigquery", "trino": "trino"}
"""Of sqlglot, by the name of SQLAlchemy's dialect."""
HERE = {"mssql", "oracle"}
"""Those of which SQLAlchemy has the dialect; the others are tried in the thorough profile."""
ELSEWHERE = "DIALECTS"
"""Variable of the environment: a folder into which the dialects were installed that the tests do not need otherwise."""
_NAMED = re.compile(r"%\((\w+)(?::[\w()., ]+)?\)s")


def dialect_of(name: str) -> sa.Dialect:
    """Give a dialect as if it were connected; skip the test without its package."""
    if name == "mssql":
        dialect = MSDialect(paramstyle="qmark")
        dialect.server_version_info = (16, 0)
        dialect._setup_version_attributes()
        dialect.default_schema_name = "main"
        return dialect
    if name == "oracle":
        dialect = OracleDialect(paramstyle="qmark")
        dialect.server_version_info = (19, 0)
        dialect.default_schema_name = "main"
        return dialect
    if os.environ.get(ELSEWHERE) and os.environ[ELSEWHERE] not in sys.path:
        sys.path.append(os.environ[ELSEWHERE])
    module, attribute = {
        "snowflake": ("snowflake.sqlalchemy.snowdialect", "dialect"),
        "bigquery": ("sqlalchemy_bigquery.base", "BigQueryDialect"),
        "trino": ("trino.sqlalchemy.dialect", "TrinoDialect"),
    }[name]
    why = f"pip install --target DIR snowflake-sqlalchemy sqlalchemy-bigquery trino, and set {ELSEWHERE}=DIR"
    found = pytest.importorskip(module, reason=why)
    dialect = getattr(found, attribute)(paramstyle="pyformat" if name == "bigquery" else "qmark")
    dialect.default_schema_name = "main"
    return dialect


def translated(statement: str, name: str) -> str | None:
    """Give a statement of a dialect for DuckDB; None for one that sets the session."""
    if statement.startswith("ALTER SESSION"):
        return None
    # words that the parser does not know, and a name that it changes in some places
    statement = statement.replace("[#", "[")
    statement = statement.replace("PRIVATE TEMPORARY", "TEMPORARY")
    statement = re.sub(r"\s+ON COMMIT PRESERVE DEFINITION", "", statement)
    (parsed,) = sqlglot.parse(statement, read=LANGUAGES[name])
    assert parsed is not None
    assert not isinstance(parsed, exp.Command), statement
    return parsed.transform(_plain).sql("duckdb")


def _plain(node: exp.Expression) -> exp.Expression | None:
    """Take out what DuckDB does by itself, and give its words for what it calls otherwise."""
    match node:
        case exp.Collate() | exp.Encode():
            return node.this.transform(_plain)
        case exp.ColumnConstraint(kind=exp.CollateColumnConstraint()):
            return None
        case exp.DataType() if any(one.name.casefold() == "max" for one in node.expressions):
            return exp.DataType.build("text")
        case exp.Add(expression=exp.National()):
            return exp.DPipe(this=node.this.transform(_plain), expression=exp.Literal.string(node.expression.name))
        case exp.Dot(expression=exp.Anonymous() as called) | (exp.Anonymous() as called):
            return _called(called)
    return node


def _called(function: exp.Anonymous) -> exp.Expression:
    match function.name.upper():
        case "COLLATE" | "TO_UTF8":
            return function.expressions[0].transform(_plain)
        case "CRYPT_GEN_RANDOM" | "RANDOMBYTES" | "UUID_STRING":
            return exp.cast(exp.Uuid(), "text")
        case "HMAC_SHA256":
            return exp.func("sha256", exp.func("concat", *(one.transform(_plain) for one in function.expressions)))
    return function


class _Cursor:
    """A cursor that translates."""

    arraysize = 1
    description: Any = None
    rowcount = -1

    def __init__(self, connection: _Connection) -> None:
        self._of = connection

    def execute(self, statement: str, parameters: Any = ()) -> None:
        if isinstance(parameters, dict):
            values = [parameters[found[1]] for found in _NAMED.finditer(statement)]
            statement = _NAMED.sub("?", statement).replace("%%", "%")
        else:
            values = list(parameters)
        self._of.statements.append(statement)
        text = translated(statement, self._of.name)
        if text is None:
            return
        done = self._of.database.execute(text, values)
        self._of.translations.append(text)
        self.description = done.description
        self._rows = done

    def executemany(self, statement: str, many: Any) -> None:
        for parameters in many:
            self.execute(statement, parameters)

    def fetchone(self) -> Any:
        return self._rows.fetchone()

    def fetchmany(self, size: int = 1) -> Any:
        return self._rows.fetchmany(size)

    def fetchall(self) -> Any:
        return self._rows.fetchall()

    def setinputsizes(self, *_: Any) -> None:
        pass

    def close(self) -> None:
        pass


class _Connection:
    """A connection to a database in memory, which keeps the statements that it is given."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.database = duckdb.connect()
        self.database.execute("SET TimeZone = 'UTC'")
        self.statements: list[str] = []
        self.translations: list[str] = []

    def cursor(self) -> _Cursor:
        return _Cursor(self)

    def commit(self) -> None:
        if self._is_open:
            self.database.execute("COMMIT")
        self._is_open = False

    def rollback(self) -> None:
        if self._is_open:
            self.database.execute("ROLLBACK")
        self._is_open = False

    _is_open = False

    def begin(self) -> None:
        if not self._is_open:
            self.database.execute("BEGIN")
            self._is_open = True

    def close(self) -> None:
        pass


def engine_of(name: str) -> tuple[sa.Engine, _Connection]:
    """Give an engine of a dialect, and what it is connected to."""
    dialect = dialect_of(name)
    connection = _Connection(name)
    dialect.dbapi = SimpleNamespace(Error=duckdb.Error, paramstyle=dialect.paramstyle)
    dialect.do_begin = lambda _: connection.begin()
    dialect.do_rollback = lambda _: connection.rollback()
    dialect.do_commit = lambda _: connection.commit()
    dialect.is_disconnect = lambda *_: False
    dialect.do_set_input_sizes = None
    pool = sa.StaticPool(lambda: connection, reset_on_return=None, dialect=dialect)
    return sa.Engine(pool, dialect, sa.make_url(f"{name}://")), connection
