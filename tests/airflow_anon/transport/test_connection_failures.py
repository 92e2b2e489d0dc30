"""A database that cannot be reached: the task says what kind of failure it is, by both transports, without a secret."""

from __future__ import annotations

import json
import socket
import sqlite3
import struct
import threading

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_anon.operators.extract import ExtractTableOperator
from airflow_anon.transport.failure import database_errors

BOTH = pytest.mark.parametrize("transport", ["adbc", "sqlalchemy"])
PASSWORD = "pa55-Zq7"  # noqa: S105 (no real one)


def failure(monkeypatch, tmp_path, transport, **connection):
    """Extract over a connection, which must fail; give the exception."""
    postgres = {"conn_type": "postgres", "login": "reader", "password": PASSWORD, "schema": "clinic"}
    document = connection if "conn_type" in connection else {**postgres, **connection}
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(document))
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "5")
    operator = ExtractTableOperator(
        task_id="extract",
        conn_id="warehouse",
        table="person",
        attributes={"age": "quasi-identifying"},
        staging=str(tmp_path / "staging"),
        transport=transport,
    )
    with pytest.raises(AirflowException) as caught:
        operator.execute({})
    assert PASSWORD not in str(caught.value)
    assert str(caught.value).startswith("extracting table person over connection 'warehouse': ")
    return caught.value


@pytest.fixture
def server():
    """Give what starts a server that refuses TLS and answers whoever begins a session with these bytes."""
    sockets = []

    def start(answer=None):
        listening = socket.create_server(("127.0.0.1", 0))
        sockets.append(listening)
        threading.Thread(target=serve, args=(listening, answer), daemon=True).start()
        return listening.getsockname()[1]

    yield start
    for listening in sockets:
        listening.close()


def serve(listening, answer):
    while True:
        try:
            session, _ = listening.accept()
        except OSError:
            return
        with session:
            while request := session.recv(1024):
                if struct.unpack("!I", request[4:8])[0] in {80877103, 80877104}:  # TLS, or encryption by GSSAPI
                    session.sendall(b"N")
                elif answer is not None:
                    session.sendall(answer)
                    break


def error(state, text):
    body = b"".join(kind + part.encode() + b"\0" for kind, part in ((b"S", "FATAL"), (b"C", state), (b"M", text)))
    return b"E" + struct.pack("!I", len(body) + 5) + body + b"\0"


@BOTH
def test_refused(monkeypatch, tmp_path, transport):
    problem = failure(monkeypatch, tmp_path, transport, host="127.0.0.1", port=1)
    assert "the connection was refused: nothing listens at the host and port" in str(problem)
    assert not isinstance(problem, AirflowFailException)


@BOTH
def test_name_not_found(monkeypatch, tmp_path, transport):
    problem = failure(monkeypatch, tmp_path, transport, host="no-such-host.invalid", port=5432)
    assert "the name of the host was not found" in str(problem)


@BOTH
def test_tls(monkeypatch, tmp_path, transport, server):
    extra = {"sslmode": "require"}
    problem = failure(monkeypatch, tmp_path, transport, host="127.0.0.1", port=server(), extra=extra)
    assert "no encrypted connection (TLS) could be made" in str(problem)


@BOTH
@pytest.mark.parametrize(
    ("state", "text", "told"),
    [
        (
            "28P01",
            'password authentication failed for user "reader"',
            "the database did not accept the user or the password",
        ),
        ("28000", 'no pg_hba.conf entry for host "127.0.0.1"', "the database did not accept the user or the password"),
        ("3D000", 'database "clinic" does not exist', "there is no such database on the server"),
        ("53300", "sorry, too many clients already", "the database has no more connections free"),
        (
            "28000",
            'role "reader" is not permitted to log in',
            "the database did not accept the user or the password",
        ),
        (
            "42501",
            'permission denied for database "clinic"',
            "the database did not accept the user or the password",
        ),
        ("57P03", "the database system is starting up", "the server takes no connections now"),
        ("55000", 'database "clinic" is not currently accepting connections', "the server takes no connections now"),
        ("58P01", "could not open file", "no connection could be made; the database's own log says why"),
    ],
)
def test_what_the_server_answers(monkeypatch, tmp_path, transport, server, state, text, told):
    port = server(error(state, text))
    problem = failure(monkeypatch, tmp_path, transport, host="127.0.0.1", port=port, extra={"sslmode": "disable"})
    assert told in str(problem)
    assert not isinstance(problem, AirflowFailException)


@pytest.mark.parametrize(
    "problem",
    [
        ValueError("could not convert: refused password ssl"),
        sqlite3.OperationalError("near 'connection refused': syntax error"),
        sqlite3.DatabaseError("value 'no such table: Jane' is wrong"),
    ],
)
def test_a_text_that_only_looks_like_it_is_no_failed_connection(problem):
    with pytest.raises(AirflowException) as caught, database_errors("reading t"):
        raise problem
    assert str(caught.value).endswith("; its text may hold values and stays in the database's own log")
    assert not isinstance(caught.value, AirflowFailException)


class ServerError(Exception):
    """An error of a server, with its SQLSTATE."""

    def __init__(self, text, sqlstate):
        super().__init__(text)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(("state", "is_told"), [("42P01", True), ("42S02", True), ("3F000", True), ("42703", False)])
def test_how_a_table_is_found_is_told_to_whoever_reads(state, is_told):
    """PostgreSQL folds names of a query to lower case, but those of a job are quoted: "CLINIC.STAYS" is another one."""
    with pytest.raises(AirflowFailException) as caught, database_errors("reading t", reads=True):
        raise ServerError('relation "CLINIC.STAYS" does not exist', state)
    assert ("capitals count" in str(caught.value)) is is_told
    with pytest.raises(AirflowException) as caught, database_errors("writing t"):
        raise ServerError('relation "stays" does not exist', state)
    assert "capitals" not in str(caught.value)


def test_a_file_of_sqlite_that_is_not_there_is_told_with_how_its_path_is_written(tmp_path):
    with pytest.raises(AirflowException) as caught, database_errors("reading t", reads=True):
        sqlite3.connect(f"file:{tmp_path}/nowhere/w.db?mode=ro", uri=True)
    assert "unable to open database file; correct its path, which has four slashes" in str(caught.value)
    assert not isinstance(caught.value, AirflowFailException)


@BOTH
def test_a_missing_table_ends_the_task_at_once(monkeypatch, tmp_path, transport):
    sqlite3.connect(tmp_path / "w.db").close()
    problem = failure(monkeypatch, tmp_path, transport, conn_type="sqlite", host=str(tmp_path / "w.db"))
    assert isinstance(problem, AirflowFailException)
    assert "no such table: person; correct the name" in str(problem)
    assert str(problem).endswith(
        "capitals count, and a table outside of the search path needs its schema, as in clinic.stays"
    )
