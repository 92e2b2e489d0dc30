"""What waits to be published in PostgreSQL is not logged, so that no subscriber gets it; what is published is."""

from __future__ import annotations

import pytest
from sqlalchemy import NullPool, create_engine, text

from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.share.test_sql_obstacles import data

pytestmark = [pytest.mark.postgres]


@pytest.fixture
def engine(postgres_database, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(postgres_database))
    return create_engine(postgres_database, poolclass=NullPool)


def logged(engine):
    """Tell of each table whether its records are logged."""
    with engine.connect() as connection:
        asked = (
            "SELECT CASE WHEN starts_with(relname, 'load_') THEN 'waits' ELSE relname END, relpersistence = 'p' "
            "FROM pg_class WHERE relkind = 'r' AND relnamespace = CAST('public' AS regnamespace)"
        )
        return dict(map(tuple, connection.execute(text(asked))))


def test_records_are_logged_once_they_are_published(engine, tmp_path, monkeypatch):
    """In a new table, in one that is there, and in one that is replaced since the release has other columns."""
    share = SqlShare(hook_of("share"), "people")
    switch, seen = share._switch, []

    def switching(*given):
        seen.append(logged(engine).pop("waits"))
        return switch(*given)

    monkeypatch.setattr(share, "_switch", switching)
    nights = [[("m", "2*")], [("w", "3*"), ("w", "3*")], [("m", "2*", "x")]]
    for place, rows in enumerate(nights):
        file = data(tmp_path, rows, ("sex", "area", "more")[: len(rows[0])])
        assert share.publish(f"r{place}", str(place) * 64, file) == "loaded"
        assert logged(engine) == {"people": True, "people_release": True}
        with engine.connect() as connection:
            assert [tuple(row) for row in connection.execute(text("SELECT * FROM people"))] == rows
    assert seen == [False] * len(nights)
