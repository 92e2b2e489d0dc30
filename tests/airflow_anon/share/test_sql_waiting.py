"""What waits to be published in PostgreSQL is not logged, so that no subscriber gets it; what is published is."""

from __future__ import annotations

import pytest
from airflow.sdk.exceptions import AirflowFailException
from sqlalchemy import NullPool, create_engine, text

from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.share.test_sql_obstacles import data
from tests.conftest import role_without_rights

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


GIVES_AWAY = """
CREATE FUNCTION give_away() RETURNS event_trigger LANGUAGE plpgsql AS $$DECLARE made record; BEGIN
FOR made IN SELECT object_identity FROM pg_event_trigger_ddl_commands() WHERE object_type = 'table' LOOP
EXECUTE format('ALTER TABLE %s OWNER TO {role}', made.object_identity); END LOOP; END$$
"""
ON_CREATE = (
    "CREATE EVENT TRIGGER give_away ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION give_away()"
)


def test_a_table_that_an_event_trigger_gives_to_others_gets_no_record(engine, tmp_path):
    """They could change what is loaded before it is published."""
    with role_without_rights(engine) as (role, _):
        share = SqlShare(hook_of("share"), "people")
        assert share.publish("r1", "1" * 64, data(tmp_path, [("m", "2*")])) == "loaded"
        with engine.begin() as connection:
            connection.exec_driver_sql(GIVES_AWAY.format(role=role).replace("%", "%%"))
            connection.exec_driver_sql(ON_CREATE)
        with pytest.raises(AirflowFailException, match=f"belongs to {role}, whose members could read and change"):
            share.publish("r2", "2" * 64, data(tmp_path, [("w", "3*")]))
        assert logged(engine) == {"people": True, "people_release": True}
        with engine.begin() as connection:
            connection.exec_driver_sql("ALTER EVENT TRIGGER give_away DISABLE")
        assert share.publish("r2", "2" * 64, data(tmp_path, [("w", "3*")])) == "loaded"
