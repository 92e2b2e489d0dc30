"""A release of a date that is wrong keeps out the releases after it until it is recalled, and no longer."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from sqlalchemy import create_engine, text

from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.cli import main as ledger_command
from airflow_anon.ledger.delivery import delivered
from airflow_anon.publication.settle import settle
from airflow_anon.publication.withdraw import recall
from airflow_anon.run.release_id import release_id
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.publication.publishing import TABLE, Staged, run_context

pytestmark = pytest.mark.airflow
FUTURE = 28
UMASK = 0o022


class World:
    """Nights of a job with a folder and a table, each with other records."""

    def __init__(self, folder, url, monkeypatch):
        self.folder, self.url = folder, url
        monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{folder}/ledger.sqlite")
        monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(url))

    def night(self, day, *, path=True):
        output = {"conn_id": "research_share", "table": "stays"}
        if path:
            output["path"] = str(self.folder / "share")
        staging = self.folder / f"staging{day}"
        staged = Staged.there(staging) if staging.exists() else Staged(staging, TABLE.slice(day % 2))
        staged.publish(output, run_context(day))

    def ask(self, statement):
        engine = create_engine(self.url)
        with engine.begin() as connection:
            result = connection.execute(text(statement))
            found = result.all() if result.returns_rows else []
        engine.dispose()
        return found

    def rows(self):
        return self.ask("SELECT count(*) FROM stays")[0][0]

    def booked(self):
        return [one for (one,) in self.ask("SELECT release_id FROM stays_release ORDER BY 1")]

    def current(self):
        link = self.folder / "share/stays/current"
        return link.readlink().name if link.is_symlink() else None

    @staticmethod
    def recall(day):
        ledger = open_ledger()
        recall(ledger, ledger.released("stays", of_day(day)), by="ada", why="a clock ran ahead")

    @staticmethod
    def table_of_entry(day):
        ledger = open_ledger()
        return ledger.document(ledger.released("stays", of_day(day)).sequence)["publication"]["table"]


def of_day(day):
    return release_id(run_context(day))


@pytest.fixture
def world(research_url, tmp_path, monkeypatch):
    return World(tmp_path, research_url, monkeypatch)


def test_after_its_recall_the_next_night_is_in_folder_and_table(world, capfd):
    world.night(FUTURE)
    world.night(2)
    assert (world.rows(), world.current(), world.table_of_entry(2)) == (3, of_day(FUTURE), None)
    out = capfd.readouterr().out
    assert "Table stays: holds a newer release and was not changed; if the date of that one is wrong, recall it" in out
    assert "older than the current one, which stays current; if the date of that one is wrong, recall it" in out
    world.recall(FUTURE)
    assert world.rows() == 0
    for day, rows in ((3, 2), (4, 3)):
        world.night(day)
        assert (world.rows(), world.current(), world.booked()[-1]) == (rows, of_day(day), of_day(day))
        assert world.table_of_entry(day)["table"] == "stays"
        states = delivered(open_ledger(), "stays")
        assert (states["link"], states["table"]) == ("matches", "matches")
    assert ledger_command(["verify", "--files", "--share", str(world.folder / "share")]) == 0
    world.recall(4)
    assert world.rows() == 0
    with pytest.raises(AirflowFailException, match="was recalled"):
        world.night(FUTURE)


def test_a_table_alone(world):
    world.night(FUTURE, path=False)
    with pytest.raises(AirflowFailException, match=r"holds a newer release .* recall it, and clear the run"):
        world.night(2, path=False)
    world.recall(FUTURE)
    world.night(2, path=False)
    assert (world.rows(), world.booked()) == (3, [of_day(2)])


def test_a_late_run_is_loaded_into_a_table_that_a_recall_has_emptied(world):
    """As into a folder: the releases before the recalled one are in neither. A later recall takes it out again."""
    world.night(5)
    world.night(6)
    world.recall(6)
    world.night(3)
    assert (world.rows(), world.current(), world.booked()) == (2, of_day(3), [of_day(3)])
    world.recall(3)
    assert world.rows() == 0
    world.night(7)
    assert (world.rows(), world.booked()) == (2, [of_day(3), of_day(7)])


def test_an_emptied_table_of_an_earlier_version_is_filled_again(world):
    """Its books have the recalled release, and so have those of this version until the next night."""
    world.night(FUTURE)
    world.recall(FUTURE)
    assert world.booked() == [of_day(FUTURE)]
    assert SqlShare(hook_of("research_share"), "stays").newest() is None
    world.night(3)
    assert world.rows() == 2


def test_a_release_without_records_is_one(world):
    """A table that is empty because its release is keeps out an older one."""
    world.night(FUTURE)
    world.ask("DELETE FROM stays")
    world.ask("UPDATE stays_release SET rows = 0")
    world.night(3)
    assert (world.rows(), world.table_of_entry(3)) == (0, None)


def test_what_was_cut_off_before_the_table_is_not_recorded_without_it(world, monkeypatch):
    world.night(FUTURE)
    world.recall(FUTURE)
    with monkeypatch.context() as patched:
        patched.setattr(SqlShare, "publish", lambda *_, **__: 1 / 0)
        with pytest.raises(AirflowException):
            world.night(3)
    (pending,) = open_ledger().pending("stays")
    assert settle(pending, open_ledger(), UMASK) is None
    assert (world.current(), open_ledger().released("stays", of_day(3))) == (None, None)
