"""A table holds the releases of one job: another job that names it is refused before anything of its own is there."""

from __future__ import annotations

import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from sqlalchemy import create_engine, text

from airflow_anon.ledger.address import open_ledger
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.publication.publishing import Staged, job, run_context
from tests.conftest import role_without_rights

pytestmark = pytest.mark.airflow


class World:
    """Two jobs, each with a share folder, and with a table that may be the same."""

    def __init__(self, folder, url, monkeypatch):
        self.folder, self.url = folder, url
        monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{folder}/ledger.sqlite")
        monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(url))

    def night(self, name, day, table="stays", path=True):
        output = {"conn_id": "research_share", "table": table}
        if path:
            output["path"] = str(self.folder / "share")
        staged = Staged(self.folder / f"staged-{name}-{day}-{table}")
        staged.publish(output, run_context(day, run_id=f"{name}-{day}"), job={**job(output), "name": name})

    def ask(self, *statements):
        engine = create_engine(self.url)
        with engine.begin() as connection:
            results = [connection.execute(text(statement)) for statement in statements]
            found = results[-1].all() if results[-1].returns_rows else []
        engine.dispose()
        return found

    def booked(self):
        return self.ask("SELECT job FROM stays_release ORDER BY release_id")


@pytest.fixture
def world(research_url, tmp_path, monkeypatch):
    return World(tmp_path, research_url, monkeypatch)


@pytest.fixture
def postgres(postgres_database, tmp_path, monkeypatch):
    return World(tmp_path, postgres_database, monkeypatch)


TOLD = r"'stays': holds releases of job ward-a, .* job ward-b .* name another table"


@pytest.mark.parametrize("path", [True, False])
def test_the_second_job_is_refused_and_the_first_goes_on(world, path):
    world.night("ward-a", 1)
    with pytest.raises(AirflowFailException, match=TOLD):
        world.night("ward-b", 2, path=path)
    assert not (world.folder / "share/ward-b").exists()
    assert open_ledger().pending() == []
    assert world.booked() == [("ward-a",)]
    world.night("ward-a", 3)
    world.night("ward-b", 4, table="visits")
    assert world.booked() == [("ward-a",), ("ward-a",)]


def test_books_of_an_earlier_version(world):
    """The ledger knows whose the release is; of one that it does not know nobody can tell."""
    world.night("ward-a", 1)
    world.ask("ALTER TABLE stays_release DROP COLUMN job")
    with pytest.raises(AirflowFailException, match=TOLD):
        world.night("ward-b", 2)
    world.night("ward-a", 3)
    assert world.booked() == [(None,), ("ward-a",)]
    world.ask("UPDATE stays_release SET job = NULL, manifest_sha256 = 'of no entry'")
    world.night("ward-b", 4)
    assert world.booked()[-1] == ("ward-b",)


def test_what_the_job_that_is_no_more_has_left_can_be_emptied(world):
    world.night("ward-a", 1)
    world.ask("DELETE FROM stays", "DELETE FROM stays_release")
    world.night("ward-b", 2)
    assert world.booked() == [("ward-b",)]


@pytest.mark.postgres
def test_the_same_table_with_its_schema(postgres):
    postgres.night("ward-a", 1)
    with pytest.raises(AirflowFailException, match=TOLD):
        postgres.night("ward-b", 2, table="public.stays")
    postgres.night("ward-b", 3, table="Stays")
    assert postgres.ask('SELECT job FROM "Stays_release"') == [("ward-b",)], "PostgreSQL takes it for another one"


def test_the_same_table_in_other_letters(tmp_path, monkeypatch):
    world = World(tmp_path, f"sqlite:///{tmp_path}/research.db", monkeypatch)
    world.night("ward-a", 1)
    with pytest.raises(AirflowFailException, match="'Stays': holds releases of job ward-a"):
        world.night("ward-b", 2, table="Stays")


@pytest.mark.postgres
def test_who_may_only_fill_the_books_of_an_earlier_version_goes_on(postgres, monkeypatch):
    postgres.night("ward-a", 1)
    postgres.ask("ALTER TABLE stays_release DROP COLUMN job")
    engine = create_engine(postgres.url)
    with role_without_rights(engine) as (role, url):
        postgres.ask(
            f"GRANT ALL ON SCHEMA public TO {role}",
            f"GRANT SELECT, INSERT, DELETE ON stays, stays_release TO {role}",
        )
        monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(url))
        postgres.night("ward-a", 2)
        with pytest.raises(AirflowFailException, match=TOLD):
            postgres.night("ward-b", 3)
    engine.dispose()
    assert postgres.ask("SELECT count(*) FROM stays_release") == [(2,)]


def test_two_jobs_that_publish_for_the_first_time_at_once(world):
    """The second one has looked before the first has published; under the lock it looks again."""
    data = world.folder / "data.parquet"
    pq.write_table(pa.table({"age": ["*"]}), data)
    first, second = (SqlShare(hook_of("research_share"), "stays", job=name) for name in ("ward-a", "ward-b"))
    looked, published = threading.Event(), threading.Event()
    staging_table = second._staging_table

    def waits(*arguments):
        looked.set()
        assert published.wait(30)
        return staging_table(*arguments)

    second._staging_table = waits
    told = []

    def publishes():
        try:
            second.publish("r2", "2" * 64, data)
        except AirflowFailException as problem:
            told.append(str(problem))

    thread = threading.Thread(target=publishes)
    thread.start()
    assert looked.wait(30)
    assert first.publish("r1", "1" * 64, data) == "loaded"
    published.set()
    thread.join(30)
    assert "holds releases of job ward-a" in told[0]
    assert world.booked() == [("ward-a",)]
