"""COPY over libpq: whole records, and a connection that goes on after whatever ends it early."""

from __future__ import annotations

import contextlib

import psycopg
import pytest
import sqlalchemy as sa

from airflow_anon.transport.postgresql_copy import copied
from tests.conftest import empty_database

pytestmark = pytest.mark.postgres

MANY = "COPY (SELECT n, E'a\\nb' AS t FROM generate_series(1, 100000) AS n) TO STDOUT (FORMAT csv)"


@pytest.fixture
def connection(postgres_url):
    with empty_database(postgres_url) as url:
        url_of_driver = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(url_of_driver) as connection:
            connection.execute("SELECT 1")
            yield connection


def goes_on(connection):
    connection.rollback()
    return connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("part_bytes", [1, 1000, 1 << 30])
def test_parts_are_whole_records_and_together_all_of_them(connection, part_bytes):
    asked = "COPY (SELECT n, E'a\nb' AS t FROM generate_series(1, 500) AS n) TO STDOUT (FORMAT csv)"
    parts = list(copied(connection, asked, part_bytes))
    records = [f'{number},"a\nb"\n' for number in range(1, 501)]
    assert b"".join(parts).decode() == "".join(records)
    assert all(part.endswith(b'"\n') for part in parts)
    assert all(len(part) >= part_bytes for part in parts[:-1])
    assert goes_on(connection)


def test_nothing_comes_of_no_records(connection):
    assert list(copied(connection, "COPY (SELECT 1 WHERE false) TO STDOUT", 1)) == []
    assert goes_on(connection)


def test_who_stops_early_can_ask_again(connection):
    with contextlib.closing(copied(connection, MANY, 1)) as parts:
        next(parts)
    # it was cancelled, and not read to its end
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
    assert goes_on(connection)


def test_who_stops_at_the_last_part_can_ask_again(connection):
    with contextlib.closing(copied(connection, "COPY (SELECT 1) TO STDOUT", 1 << 20)) as parts:
        assert next(parts) == b"1\n"
    assert goes_on(connection)


def test_a_statement_that_is_refused_is_an_error_of_the_driver(connection):
    with pytest.raises(psycopg.errors.UndefinedTable):
        list(copied(connection, "COPY nothing TO STDOUT", 1))
    assert goes_on(connection)


def test_an_error_in_the_middle_is_one_of_the_driver(connection):
    asked = "COPY (SELECT 1 / (50000 - n) FROM generate_series(1, 100000) AS n) TO STDOUT"
    parts = copied(connection, asked, 1)
    assert next(parts) == b"0\n"
    with pytest.raises(psycopg.errors.DivisionByZero):
        list(parts)
    assert goes_on(connection)


def test_another_statement_is_no_copy(connection):
    with pytest.raises(psycopg.Error):
        list(copied(connection, "SELECT 1", 1))
    assert goes_on(connection)


def test_a_connection_that_is_ended_is_an_error_of_the_driver(connection, postgres_url):
    asked = "COPY (SELECT n, pg_sleep(0.001) FROM generate_series(1, 100000) AS n) TO STDOUT"
    parts = copied(connection, asked, 1)
    next(parts)
    with sa.create_engine(postgres_url, poolclass=sa.NullPool).connect() as other:
        other.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": connection.info.backend_pid})
    with pytest.raises(psycopg.Error):
        list(parts)
    assert connection.broken
