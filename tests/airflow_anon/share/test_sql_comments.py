"""Comments of a table of a SQL share, read from the catalogue of a PostgreSQL server; SQLite has none."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import create_engine, inspect, text

from airflow_anon.share.sql_comments import Comments
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from tests.airflow_anon.nights.night import connection_of

ODD = '100% of "Age"\'s'
NOTES = {"table": "the table", "sex": "it's \\ 5% exact", ODD: "a-b: ages; 'from' a to b"}


@pytest.fixture
def engine(postgres_database, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(postgres_database))
    made = create_engine(postgres_database)
    yield made
    made.dispose()


def data(folder, *more):
    names = ("table", "sex", ODD, *more)
    pq.write_table(pa.table({name: pa.array(["person"]) for name in names}), folder / "data.parquet")
    return folder / "data.parquet"


def publish(release, file, name="People", linked=None):
    comments = Comments(f"table of {release}", NOTES)
    return SqlShare(hook_of("share"), name, linked=linked, comments=comments).publish(release, "1" * 64, file)


def columns_of(engine, name="People"):
    return {one["name"]: one["comment"] for one in inspect(engine).get_columns(name)}


def ask(engine, statement):
    with engine.begin() as connection:
        return connection.exec_driver_sql(statement)


@pytest.mark.postgres
def test_table_and_columns_say_what_they_hold(engine, tmp_path):
    assert publish("r1", data(tmp_path)) == "loaded"
    assert inspect(engine).get_table_comment("People")["text"] == "De-identified table of r1"
    assert columns_of(engine) == {name: f"De-identified: {note}" for name, note in NOTES.items()}
    for release, more in (("r2", ()), ("r3", ("further",))):
        publish(release, data(tmp_path, *more))
        assert inspect(engine).get_table_comment("People")["text"] == f"De-identified table of {release}"
        assert columns_of(engine)["sex"] == f"De-identified: {NOTES['sex']}"


@pytest.mark.postgres
def test_views_of_linked_tables_have_them_too(engine, tmp_path):
    publish("r1", data(tmp_path), linked={"person": ["sex"], "visit": [ODD]})
    assert columns_of(engine, "People_visit") == {ODD: f"De-identified: {NOTES[ODD]}"}
    with engine.connect() as connection:
        said = connection.scalar(text("SELECT obj_description(CAST('\"People_visit\"' AS regclass), 'pg_class')"))
    assert said == "De-identified table of r1"


@pytest.mark.postgres
def test_what_somebody_else_has_written_stays(engine, tmp_path):
    publish("r1", data(tmp_path))
    ask(engine, """COMMENT ON COLUMN "People".sex IS 'asked at admission'""")
    ask(engine, """COMMENT ON TABLE "People" IS 'ours'""")
    publish("r2", data(tmp_path))
    assert inspect(engine).get_table_comment("People")["text"] == "ours"
    assert columns_of(engine)["sex"] == "asked at admission"
    assert columns_of(engine)[ODD] == f"De-identified: {NOTES[ODD]}"


@pytest.mark.postgres
def test_a_release_that_is_not_switched_changes_no_comment(engine, tmp_path):
    publish("r1", data(tmp_path))
    share = SqlShare(hook_of("share"), "People", comments=Comments("table of r2", NOTES))

    def stopped():
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        share.publish("r2", "2" * 64, data(tmp_path), held=stopped)
    assert inspect(engine).get_table_comment("People")["text"] == "De-identified table of r1"


@pytest.mark.postgres
def test_who_does_not_own_the_table_loads_it_without_comments(engine, postgres_database, monkeypatch, tmp_path):
    publish("r1", data(tmp_path))
    ask(engine, """COMMENT ON TABLE "People" IS NULL""")
    ask(engine, "CREATE ROLE loader_of_people LOGIN")
    try:
        ask(engine, "GRANT ALL ON SCHEMA public TO loader_of_people")
        ask(engine, 'GRANT SELECT, INSERT, DELETE ON "People" TO loader_of_people')
        ask(engine, 'ALTER TABLE "People_release" OWNER TO loader_of_people')
        url = engine.url.set(username="loader_of_people").render_as_string(hide_password=False)
        monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(url))
        assert publish("r2", data(tmp_path)) == "loaded"
        assert inspect(engine).get_table_comment("People")["text"] is None
    finally:
        ask(engine, "DROP OWNED BY loader_of_people")
        ask(engine, "DROP ROLE loader_of_people")


def test_a_database_without_comments_gets_its_records(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(f"sqlite:///{tmp_path}/share.db"))
    assert publish("r1", data(tmp_path)) == "loaded"
