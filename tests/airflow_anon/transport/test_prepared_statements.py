"""No statement is left on a server, where a pooler would give it to another transaction."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from airflow_anon.ledger.database import engine_of as ledger_engine
from airflow_anon.transport.connection import engine_of, hook_of
from tests.airflow_anon.nights.night import connection_of

pytestmark = pytest.mark.postgres


def left_after_many(engine):
    """Give the statements that the server knows after one was sent more often than psycopg waits for."""
    with engine.connect() as connection:
        for number in range(20):
            assert connection.scalar(sa.select(sa.literal(number))) == number
        return connection.exec_driver_sql("SELECT statement FROM pg_prepared_statements").all()


def psycopg(url):
    return sa.make_url(url).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def test_a_plain_engine_of_this_driver_leaves_one(postgres_database):
    """Otherwise the tests below would show nothing."""
    assert len(left_after_many(sa.create_engine(psycopg(postgres_database), poolclass=sa.NullPool))) == 1


def test_a_connection_of_airflow(postgres_database, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_CLINIC", connection_of(postgres_database))
    engine = engine_of(hook_of("clinic"))
    assert engine.dialect.driver == "psycopg"
    assert left_after_many(engine) == []


def test_a_ledger(postgres_database):
    assert left_after_many(ledger_engine(psycopg(postgres_database))) == []
