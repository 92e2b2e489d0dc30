"""A role that reads a part of a table is told so."""

from __future__ import annotations

import logging

import pytest
import sqlalchemy as sa

from airflow_anon.transport.connection import hook_of
from airflow_anon.transport.database_read import look_at
from airflow_anon.transport.relation import Relation
from tests.airflow_anon.nights.night import connection_of
from tests.conftest import role_without_rights

pytestmark = pytest.mark.postgres
SOURCE = 'clinic."Stays 100%"'


def warned(caplog, monkeypatch, url, relation):
    """Look at a relation as that role, and give what the log says of it."""
    monkeypatch.setenv("AIRFLOW_CONN_CLINIC", connection_of(url))
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        look_at(hook_of("clinic"), relation, {"age": "quasi-identifying", "ward": "insensitive"}, "auto", 100)
    return [record.getMessage() for record in caplog.records if "row-level security" in record.getMessage()]


def test_where_a_policy_decides(postgres_database, monkeypatch, caplog):
    engine = sa.create_engine(postgres_database, poolclass=sa.NullPool)
    with role_without_rights(engine) as (role, url):
        with engine.begin() as connection:
            for statement in (
                "CREATE SCHEMA clinic",
                f"CREATE TABLE {SOURCE} (age int, ward text)",
                f"GRANT USAGE ON SCHEMA clinic TO {role}",
                f"GRANT SELECT ON {SOURCE} TO {role}",
            ):
                connection.exec_driver_sql(statement.replace("%", "%%"))
        assert warned(caplog, monkeypatch, url, Relation(table=SOURCE)) == []
        with engine.begin() as connection:
            connection.exec_driver_sql(f"ALTER TABLE {SOURCE.replace('%', '%%')} ENABLE ROW LEVEL SECURITY")
        (told,) = warned(caplog, monkeypatch, url, Relation(table=SOURCE))
        assert told.startswith(f"table {SOURCE}: row-level security decides which of its records are read")
        # whoever owns it reads all; a query is not looked into
        assert warned(caplog, monkeypatch, postgres_database, Relation(table=SOURCE)) == []
        assert warned(caplog, monkeypatch, url, Relation(query=f"SELECT * FROM {SOURCE}")) == []
