"""What a reader of a schema of PostgreSQL gets to see of a release that waits, and of one that was recalled."""

from __future__ import annotations

import logging

import pytest
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.exc import ProgrammingError

from airflow_anon.share import sql_statistics
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.share.test_sql_obstacles import ask, data
from tests.conftest import role_without_rights

pytestmark = [pytest.mark.postgres]

ROWS = [("m", f"area {place}") for place in range(200)]
NEW_READERS = "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO "


@pytest.fixture
def engine(postgres_database, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(postgres_database))
    return create_engine(postgres_database, poolclass=NullPool)


@pytest.fixture
def reader(engine):
    """Give an engine of a role that may read every new table of the schema."""
    with role_without_rights(engine) as (role, url):
        ask(engine, NEW_READERS + role)
        yield create_engine(url, poolclass=NullPool)


def share():
    return SqlShare(hook_of("share"), "people")


def test_readers_of_all_new_tables_see_no_release_before_it_is_published(engine, reader, tmp_path, monkeypatch):
    """In a new table, in one that is there, and in one that is replaced since the release has other columns."""
    this = share()
    switch, refused = this._switch, []

    def switching(staging, *given):
        assert ask(engine, f"SELECT count(*) FROM {staging.name}")[0][0]
        with pytest.raises(ProgrammingError, match="permission denied"):
            ask(reader, f"SELECT count(*) FROM {staging.name}")
        refused.append(staging.name)
        return switch(staging, *given)

    monkeypatch.setattr(this, "_switch", switching)
    nights = [[("m", "2*")], [("w", "3*"), ("w", "3*")], [("m", "2*", "x")]]
    for place, rows in enumerate(nights):
        file = data(tmp_path, rows, ("sex", "area", "more")[: len(rows[0])])
        assert this.publish(f"r{place}", str(place) * 64, file) == "loaded"
        assert [tuple(row) for row in ask(reader, "SELECT * FROM people")] == rows
    assert len(refused) == len(nights)


def told(reader):
    """Give the values of columns of all tables that a reader finds in statistics."""
    asked = "coalesce(CAST(most_common_vals AS text), '') || coalesce(CAST(histogram_bounds AS text), '')"
    return "".join(row[0] for row in ask(reader, f"SELECT {asked} FROM pg_stats WHERE tablename = 'people'"))


@pytest.mark.parametrize("clears", [(18,), (1_000,)])
def test_statistics_tell_nothing_of_a_recalled_release(engine, reader, tmp_path, monkeypatch, caplog, clears):
    """By the function of version 18, and as before it."""
    monkeypatch.setattr(sql_statistics, "_CLEARS", clears)
    assert share().publish("r1", "1" * 64, data(tmp_path, ROWS)) == "loaded"
    ask(engine, "ANALYZE people")
    assert "area 17" in told(reader)
    with caplog.at_level(logging.WARNING):
        assert share().empty("r1", "1" * 64)
    assert ask(reader, "SELECT count(*) FROM people")[0][0] == 0
    assert told(reader) == ""
    assert caplog.messages == []
    assert share().publish("r2", "2" * 64, data(tmp_path, ROWS[:3])) == "loaded"
    assert len(ask(reader, "SELECT * FROM people")) == 3


def test_statistics_of_partitions_tell_nothing_either(engine, reader, tmp_path):
    """By the function of version 18 alone: no record without values fits a partition."""
    ask(engine, "CREATE TABLE people (sex text, area text) PARTITION BY LIST (sex)")
    ask(engine, "CREATE TABLE people_of_m PARTITION OF people FOR VALUES IN ('m')", "CREATE TABLE others (x text)")
    assert share().publish("r1", "1" * 64, data(tmp_path, ROWS)) == "loaded"
    ask(engine, "INSERT INTO others SELECT area FROM people", "ANALYZE people, others")
    asked = "SELECT tablename FROM pg_stats WHERE histogram_bounds IS NOT NULL AND schemaname = 'public'"
    assert {row[0] for row in ask(reader, asked)} == {"people", "people_of_m", "others"}
    assert share().empty("r1", "1" * 64)
    assert {row[0] for row in ask(reader, asked)} == {"others"}


@pytest.mark.parametrize("clears", [(18,), (1_000,)])
def test_where_statistics_cannot_be_taken_away_the_records_go_and_a_warning_says_so(
    engine, reader, tmp_path, monkeypatch, caplog, clears
):
    """By a role that does not own the table, and by its owner where a record without values is refused."""
    monkeypatch.setattr(sql_statistics, "_CLEARS", clears)
    assert share().publish("r1", "1" * 64, data(tmp_path, ROWS)) == "loaded"
    ask(engine, "ALTER TABLE people ALTER COLUMN area SET NOT NULL")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE people"))
    with role_without_rights(engine) as (role, url):
        ask(
            engine,
            f"GRANT ALL ON SCHEMA public TO {role}",
            f"GRANT SELECT, INSERT, DELETE, UPDATE ON people, people_release TO {role}",
        )
        monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(url))
        with caplog.at_level(logging.WARNING):
            assert share().empty("r1", "1" * 64)
    assert ask(engine, "SELECT count(*) FROM people")[0][0] == 0
    assert "pg_stats still tells values of its columns" in caplog.text
    assert "area 17" in told(reader)
    assert "area 1" not in caplog.text
