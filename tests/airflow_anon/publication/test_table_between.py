"""The table of a job changes between the tries of a run: a release is where its entry says, so a recall ends it."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from sqlalchemy import create_engine, inspect, text

from airflow_anon.ledger import Ledger
from airflow_anon.ledger.address import open_ledger
from airflow_anon.publication.errors import table_errors
from airflow_anon.publication.settle import settle
from airflow_anon.publication.withdraw import recall
from airflow_anon.run.release_id import release_id
from airflow_anon.share.sql_share import SqlShare
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.publication.publishing import Staged, run_context

pytestmark = pytest.mark.airflow
UMASK = 0o022


class World:
    """A job whose output changes."""

    def __init__(self, folder, url, monkeypatch):
        self.folder, self.url = folder, url
        monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{folder}/ledger.sqlite")
        monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(url))

    def night(self, table=None, day=1, **output):
        staging = self.folder / f"staging{day}"
        staged = Staged.there(staging) if staging.exists() else Staged(staging)
        share = {"path": str(self.folder / "share"), **output}
        place = {} if table is None else {"conn_id": "research_share", "table": table}
        staged.publish({**{key: value for key, value in share.items() if value}, **place}, run_context(day))

    def rows(self, table="stays"):
        engine = create_engine(self.url)
        with engine.connect() as connection:
            there = inspect(connection).has_table(table)
            count = connection.scalar(text(f"SELECT count(*) FROM {table}")) if there else None
        engine.dispose()
        return count

    @staticmethod
    def table_of_entry(day=1):
        ledger = open_ledger()
        table = ledger.document(ledger.released("stays", release_id(run_context(day))).sequence)["publication"]["table"]
        return table and table["table"]

    @staticmethod
    def recall(day=1):
        ledger = open_ledger()
        recall(ledger, ledger.released("stays", release_id(run_context(day))), by="ada", why="wrong join")


@pytest.fixture
def world(research_url, tmp_path, monkeypatch):
    return World(tmp_path, research_url, monkeypatch)


@pytest.fixture
def small(tmp_path, monkeypatch):
    return World(tmp_path, f"sqlite:///{tmp_path}/research.db", monkeypatch)


@pytest.fixture
def cut_off(monkeypatch):
    """Give what calls a function whose publication ends before its entry."""

    def cut(night, *arguments, **named):
        def lost(*_):
            raise AirflowException("the connection is lost")

        with monkeypatch.context() as patched:
            patched.setattr(Ledger, "complete", lost)
            with pytest.raises(AirflowException, match="is lost"):
                night(*arguments, **named)

    return cut


def test_a_table_that_the_entry_does_not_name_does_not_get_the_release(world):
    world.night()
    with pytest.raises(AirflowFailException, match=r"entry 1 of the ledger names no table.* trigger a new run"):
        world.night("stays")
    assert world.rows() is None
    world.night("stays", day=2)
    assert (world.rows(), world.table_of_entry(2)) == (3, "stays")
    world.recall(2)
    assert world.rows() == 0


def test_another_table_than_that_of_the_entry(small):
    small.night("stays")
    with pytest.raises(AirflowFailException, match="names another table"):
        small.night("visits")
    assert (small.rows("stays"), small.rows("visits")) == (3, None)
    small.night('"stays"')
    assert small.rows() == 3, "it is the same table, written in another way"


def test_a_table_that_an_earlier_version_loaded_is_told(small):
    """Cleared again, the run does not pass for a release that a recall would take out of the table."""
    small.night()
    with table_errors("research_share", "stays") as hook:
        data = small.folder / "staging1/release/data.parquet"
        SqlShare(hook, "stays").publish(release_id(run_context(1)), "0" * 64, data)
    with pytest.raises(AirflowFailException, match="names no table"):
        small.night("stays")


def test_a_late_run_whose_entry_has_no_table_may_be_cleared(small):
    """The table had a newer release then, and it has it still."""
    small.night("stays", day=3)
    small.night("stays", day=2)
    assert small.table_of_entry(2) is None
    small.night("stays", day=2)
    assert small.table_of_entry(2) is None
    assert small.rows() == 3


def test_a_table_that_the_job_gets_before_the_entry_is_in_it(world, cut_off):
    cut_off(world.night)
    world.night("stays")
    assert (world.rows(), world.table_of_entry()) == (3, "stays")
    world.recall()
    assert world.rows() == 0


@pytest.mark.parametrize("now", [None, "visits"])
def test_a_table_that_was_loaded_and_is_not_named_any_more(small, cut_off, now):
    cut_off(small.night, "stays")
    with pytest.raises(AirflowFailException, match="loaded it into table stays of 'research_share'"):
        small.night(now)
    (pending,) = open_ledger().pending("stays")
    settle(pending, open_ledger(), UMASK)
    assert small.table_of_entry() == "stays"
    small.recall()
    assert (small.rows(), small.rows("visits")) == (0, None)


def test_a_table_that_was_not_loaded_and_is_not_named_any_more(small, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("airflow_anon.share.sql_share.SqlShare.publish", lambda *_, **__: 1 / 0)
        with pytest.raises(AirflowException):
            small.night("stays")
    small.night()
    assert (small.rows(), small.table_of_entry()) == (None, None)
