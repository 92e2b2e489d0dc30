"""What a database error may say in a log."""

from __future__ import annotations

import sqlite3

import pytest
import sqlalchemy as sa
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_anon.ledger import LedgerUnreachable, database
from airflow_anon.transport.failure import database_errors, explain


class ServerError(Exception):
    """As psycopg raises it."""

    def __init__(self, message, sqlstate):
        super().__init__(message)
        self.sqlstate = sqlstate


class ClosedError(Exception):
    """As drivers raise it without an SQLSTATE."""


@pytest.mark.parametrize(
    ("problem", "shown"),
    [
        (ServerError('relation "x" does not exist\nLINE 1: secret', "42P01"), 'relation "x" does not exist'),
        (ServerError("deadlock detected\nDETAIL:  Process 1 waits", "40P01"), "deadlock detected"),
        (ServerError("cannot execute INSERT in a read-only transaction", "25006"), "in a read-only transaction"),
        (ServerError("tables can have at most 1600 columns", "54011"), "at most 1600 columns"),
        (ServerError('invalid input syntax: "secret"', "22P02"), None),
        (ServerError("Key (id)=(secret) already exists", "23505"), None),
        (sqlite3.OperationalError("no such table: person"), "no such table: person"),
        (ValueError("could not convert: secret"), None),
        # psycopg2 of a server that was stopped, and psycopg
        (ClosedError("server closed the connection unexpectedly\n\tThis probably means secret"), "unexpectedly"),
        (ClosedError("consuming input failed: server closed the connection unexpectedly\nsecret"), "unexpectedly"),
        # as PyMySQL raises them
        (ClosedError(1205, "Lock wait timeout exceeded; try restarting transaction"), "Lock wait timeout exceeded"),
        (ClosedError(1213, "Deadlock found when trying to get lock; try restarting transaction"), "Deadlock found"),
        (ClosedError(1153, "Got a packet bigger than 'max_allowed_packet' bytes"), "max_allowed_packet"),
        (ClosedError(2006, "MySQL server has gone away (BrokenPipeError(32, 'Broken pipe'))"), "has gone away"),
        (ClosedError(1366, "Incorrect integer value: 'Lock wait timeout exceeded secret' for column"), None),
        (ClosedError(1062, "Duplicate entry 'secret' for key 'PRIMARY'"), None),
    ],
)
def test_only_texts_that_name_objects_are_quoted(problem, shown):
    text = explain(problem)
    assert "secret" not in text
    assert text.startswith(type(problem).__name__)
    assert (shown in text) if shown else ("stays in the database's own log" in text)


def test_a_full_disk_of_sqlite_is_told_as_it_is():
    """It has no log of its own, where somebody could look."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x TEXT)")
    connection.execute("PRAGMA max_page_count = 2")
    with pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("INSERT INTO t VALUES (?)", ("secret" * 10_000,))
    assert explain(caught.value) == "OperationalError: database or disk is full; make room on its disk"


def test_a_file_that_may_not_be_written_is_told_with_what_to_do(tmp_path):
    path = tmp_path / "share.sqlite"
    sqlite3.connect(path).execute("CREATE TABLE t (x)")
    with pytest.raises(sqlite3.OperationalError) as caught:
        sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute("INSERT INTO t VALUES (1)")
    assert explain(caught.value) == (
        "OperationalError: attempt to write a readonly database; let the user that runs this write the file and "
        "its folder, or mount it for writing"
    )


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("attempt to write a readonly database", "write the file and its folder"),
        ("unable to open database file", "four slashes"),
        ("database or disk is full", "make room"),
        ("database is locked", "let that end"),
    ],
)
def test_ledger_and_share_in_sqlite_are_told_the_same_fix(tmp_path, text, fix):
    """Both may be one folder that somebody mounted wrongly: two texts would look like two faults."""
    engine = database.engine_of(f"sqlite:///{tmp_path}/ledger.sqlite")
    database.make_file(engine)
    with pytest.raises(LedgerUnreachable) as caught, database.writing(engine):
        raise sqlite3.OperationalError(text)
    told = explain(sqlite3.OperationalError(text))
    assert str(caught.value).endswith(told)
    assert told.startswith(f"OperationalError: {text}; ")
    assert fix in told


@pytest.mark.postgres
@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("CHECK (x <> 'secret')", "constraint 't_x_check', table 't'"),
        ("UNIQUE", "constraint 't_x_key', table 't'"),
        ("CHECK (x IS NULL)", "constraint 't_x_check', table 't'"),
    ],
)
def test_what_was_violated_is_named_and_no_value(postgres_database, driver, made, told):
    url = sa.make_url(postgres_database).set(drivername=f"postgresql+{driver}")
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE t (x text {made})")
    with pytest.raises(sa.exc.IntegrityError) as caught, engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES ('secret'), ('secret')")
    text = explain(caught.value)
    assert f" of {told}; its text may hold values" in text
    assert "secret" not in text


def test_password_is_blanked_and_the_cause_cut():
    """A connection string in the text loses its password; the traceback ends at our exception."""
    with pytest.raises(AirflowException) as raised, database_errors("reading t", secret="pa55"):  # noqa: S106 (no real one)
        raise ServerError("no such host in postgres://u:pa55@h", "08001")
    assert str(raised.value) == "reading t: ServerError (SQLSTATE 08001): no such host in postgres://u:***@h"
    assert raised.value.__suppress_context__


def test_exceptions_of_airflow_pass():
    with pytest.raises(AirflowFailException, match="column 'a'"), database_errors("reading t"):
        raise AirflowFailException("column 'a'")
