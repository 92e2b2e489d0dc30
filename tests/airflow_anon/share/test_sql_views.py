"""Views of the table that holds linked tables in a SQL share, on SQLite and PostgreSQL."""

from __future__ import annotations

from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowFailException
from sqlalchemy import create_engine, inspect, text

from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from tests.airflow_anon.nights.night import connection_of
from tests.conftest import role_without_rights

LINKED = {"person": ["sex"], "visit": ["ward", "area"]}
WIDER = {"person": ["sex", "area"], "visit": ["ward", "area"]}


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def engine(request, tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/share.db"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_database")
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(url))
    made = create_engine(url)
    yield made
    made.dispose()


def data(folder, rows, columns=("sex", "ward", "area")):
    names = ["table", *columns]
    table = pa.table({name: pa.array([row[place] for row in rows], pa.string()) for place, name in enumerate(names)})
    pq.write_table(table, folder / "data.parquet")
    return folder / "data.parquet"


ROWS = [("person", "f", None, None), ("person", "m", None, None), ("visit", None, "w1", "n")]
LATER = [("person", "m", None, None), ("visit", None, "w2", "n"), ("visit", None, "w3", "s")]


def share(linked=LINKED):
    return SqlShare(hook_of("share"), "patients", linked=linked)


def seen(engine, view):
    with engine.connect() as connection:
        return sorted(tuple(row) for row in connection.execute(text(f"SELECT * FROM {view}")))


def ask(engine, *statements):
    with engine.begin() as connection:
        return [connection.execute(text(one)) for one in statements]


def test_each_linked_table_has_a_view_of_its_records_and_columns(engine, tmp_path):
    assert share().publish("r1", "1" * 64, data(tmp_path, ROWS)) == "loaded"
    assert seen(engine, "patients_person") == [("f",), ("m",)]
    assert seen(engine, "patients_visit") == [("w1", "n")]
    assert share().publish("r2", "2" * 64, data(tmp_path, LATER)) == "loaded"
    assert seen(engine, "patients_person") == [("m",)]
    assert seen(engine, "patients_visit") == [("w2", "n"), ("w3", "s")]
    assert set(inspect(engine).get_view_names()) == {"patients_person", "patients_visit"}
    assert set(inspect(engine).get_table_names()) == {"patients", "patients_release"}


LEAK = """CREATE FUNCTION leak(text) RETURNS bool LANGUAGE plpgsql COST 0.0000001 AS
$$BEGIN INSERT INTO leaked VALUES ($1); RETURN true; END$$"""


@pytest.mark.postgres
@pytest.mark.parametrize("before", [False, True], ids=["new views", "views of an earlier version"])
def test_who_may_read_one_view_sees_no_record_of_another_linked_table(postgres_database, monkeypatch, tmp_path, before):
    """A column that two tables have is one in the table of all, and a cheap function would be called on all of it."""
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(postgres_database))
    linked = {"person": ["area"], "visit": ["ward", "area"]}
    rows = [("person", None, None, "north"), ("visit", None, "w1", "south")]
    share(linked).publish("r1", "1" * 64, data(tmp_path, rows))
    engine = create_engine(postgres_database)
    if before:
        views = ("patients_person", "patients_visit")
        ask(engine, *(f"ALTER VIEW {view} RESET (security_barrier)" for view in views))
        share(linked).publish("r2", "2" * 64, data(tmp_path, rows))
    with role_without_rights(engine) as (role, url):
        ask(engine, f"GRANT SELECT ON patients_person TO {role}", f"GRANT ALL ON SCHEMA public TO {role}")
        reader = create_engine(url)
        with reader.begin() as connection:
            for statement in ("CREATE TABLE leaked (area text)", LEAK):
                connection.exec_driver_sql(statement)
            found = connection.exec_driver_sql("SELECT area FROM patients_person WHERE leak(area)").all()
            leaked = connection.exec_driver_sql("SELECT area FROM leaked").all()
        reader.dispose()
    engine.dispose()
    assert [tuple(row) for row in found] == [("north",)]
    assert [tuple(row) for row in leaked] == [("north",)]


@pytest.mark.postgres
@pytest.mark.parametrize("wider", [False, True], ids=["the same columns", "other columns"])
def test_views_keep_their_privileges(postgres_database, monkeypatch, tmp_path, wider):
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(postgres_database))
    engine = create_engine(postgres_database)
    share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    ask(engine, "GRANT SELECT ON patients_person TO PUBLIC")
    before = oid(engine)
    rows = [(*row, None) for row in LATER] if wider else LATER
    later = data(tmp_path, rows, ("sex", "ward", "area", "more") if wider else ("sex", "ward", "area"))
    share(WIDER if wider else LINKED).publish("r2", "2" * 64, later)
    assert (oid(engine) == before) is not wider
    asked = "SELECT has_table_privilege('public', '{}', 'SELECT')"
    with engine.connect() as connection:
        told = [connection.scalar(text(asked.format(name))) for name in ("patients_person", "patients")]
    assert told == [True, False]
    assert seen(engine, "patients_person") == ([("m", None)] if wider else [("m",)])
    engine.dispose()


def oid(engine):
    with engine.connect() as connection:
        return connection.scalar(text("SELECT 'patients_person'::regclass::oid"))


@pytest.mark.parametrize(
    "foreign", ["CREATE TABLE patients_person (x INTEGER)", "CREATE VIEW patients_person AS SELECT 1 AS x"]
)
def test_what_is_not_ours_is_not_replaced(engine, tmp_path, foreign):
    ask(engine, foreign)
    with pytest.raises(AirflowFailException, match="'patients_person' must become views of it, and are there already"):
        share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    assert "patients" not in inspect(engine).get_table_names()


def test_readers_see_the_views_of_one_release_or_the_other(engine, tmp_path):
    """A switch that fails before it is committed changes neither the table nor a view."""
    share().publish("r1", "1" * 64, data(tmp_path, ROWS))

    @contextmanager
    def refused():
        raise AirflowFailException("taken back")
        yield

    with pytest.raises(AirflowFailException, match="taken back"):
        share(WIDER).publish("r2", "2" * 64, data(tmp_path, LATER), held=refused)
    assert seen(engine, "patients_person") == [("f",), ("m",)]
    assert seen(engine, "patients_visit") == [("w1", "n")]
