"""A release is recalled, and old ones are removed: what readers have then, what the ledger says, killed anywhere."""

from __future__ import annotations

import logging
import shutil

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from sqlalchemy import create_engine, text

from airflow_anon.commands import recall as recall_command
from airflow_anon.commands.main import main
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.cli import main as ledger_command
from airflow_anon.ledger.delivery import delivered
from airflow_anon.ledger.form import read
from airflow_anon.publication.withdraw import recall
from airflow_anon.run.release_id import release_id
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.publication.killing import killed_at, points_of
from tests.airflow_anon.publication.publishing import Staged, run_context

pytestmark = pytest.mark.airflow
LOG = logging.getLogger(__name__)


@pytest.fixture
def world(research_url, tmp_path, monkeypatch):
    """Give `night(day)`, which publishes into a folder and a table, and has the URL of the table's database."""
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/ledger.sqlite")
    return World(tmp_path, research_url, monkeypatch)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Give the same in SQLite alone."""
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/world/ledger.sqlite")
    (tmp_path / "world").mkdir()
    return World(tmp_path / "world", f"sqlite:///{tmp_path}/world/research.db", monkeypatch)


class World:
    """Nights of one job, and what readers have of them."""

    def __init__(self, folder, url, monkeypatch):
        self.folder, self.url = folder, url
        monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(url))

    def night(self, day, **output):
        place = {"path": str(self.folder / "share"), "conn_id": "research_share", "table": "stays"}
        staging = self.folder / f"staging{day}"
        staged = Staged.there(staging) if staging.exists() else Staged(staging)
        staged.publish({**place, **output}, run_context(day))
        return release_id(run_context(day))

    def shown(self):
        """Give the names in the job's folder, and what the link names."""
        names = sorted(path.name for path in (self.folder / "share/stays").iterdir())
        link = self.folder / "share/stays/current"
        return names, link.readlink().name if link.is_symlink() else None

    def rows(self):
        engine = create_engine(self.url)
        with engine.connect() as connection:
            count = connection.scalar(text("SELECT count(*) FROM stays"))
        engine.dispose()
        return count

    def recall(self, day, why="a patient has objected"):
        ledger = open_ledger()
        entry = ledger.released("stays", release_id(run_context(day)))
        return recall(ledger, entry, by="custodian", why=why)


def test_readers_lose_a_recalled_release(world):
    first, second = world.night(1), world.night(2)
    entry = world.recall(2)
    assert world.shown() == ([first], None), "no earlier release becomes current"
    assert world.rows() == 0
    ledger = open_ledger()
    assert ledger.check() == []
    told = read(ledger.document(entry.sequence)).withdrawal
    assert (entry.outcome, entry.release_id) == ("recalled", second)
    assert (told.release_id, told.by, told.why) == (second, "custodian", "a patient has objected")
    assert ledger.current("stays") is None
    assert delivered(ledger, "stays") is None
    assert ledger_command(["verify", "--files", "--share", str(world.folder / "share")]) == 0
    third = world.night(3)
    assert world.shown() == ([first, third, "current"], third)
    assert world.rows() == 3
    assert delivered(open_ledger(), "stays") == {
        "sequence": entry.sequence + 1,
        "release_id": third,
        "files": "matches",
        "link": "matches",
        "table": "matches",
    }


def test_an_earlier_release_is_recalled_alone(small):
    small.night(1)
    second = small.night(2)
    small.recall(1)
    assert small.shown() == ([second, "current"], second)
    assert small.rows() == 3
    assert delivered(open_ledger(), "stays")["link"] == "matches"


def test_a_second_recall_changes_nothing(small):
    small.night(1)
    once = small.recall(1)
    assert small.recall(1, why="another reason") == once
    assert len(open_ledger().entries()) == 2


def test_a_recalled_release_is_not_published_again(small):
    small.night(1)
    small.recall(1)
    with pytest.raises(AirflowFailException, match="was recalled"):
        small.night(1)
    assert small.shown() == ([], None)


def test_what_comes_back_into_the_share_is_found(small, tmp_path):
    first = small.night(1)
    shutil.copytree(small.folder / "share/stays" / first, tmp_path / "copy")
    small.recall(1)
    shutil.copytree(tmp_path / "copy", small.folder / "share/stays" / first)
    assert ledger_command(["verify", "--files"]) == 4
    second = small.night(2)
    assert small.shown() == ([second, "current"], second)
    assert ledger_command(["verify", "--files"]) == 0


class Moved:
    """A share that was moved after its first night, and whose job names the new path."""

    def __init__(self, small):
        self.small = small
        self.first = small.night(1, conn_id=None, table=None)
        (small.folder / "share").rename(small.folder / "other")

    def night(self, day, **output):
        place = {"path": str(self.small.folder / "other"), "conn_id": None, "table": None}
        return self.small.night(day, **{**place, **output})

    def names(self):
        return sorted(path.name for path in (self.small.folder / "other/stays").iterdir())

    def give_up(self):
        assert main(["give-up", str(self.small.folder / "share"), "--reason", "it was moved"]) == 0


def test_a_recall_takes_a_release_out_of_a_share_that_was_moved(small, capsys):
    """Its entry names the old path, and readers have it at the new one."""
    moved = Moved(small)
    second = moved.night(2)
    moved.give_up()
    (small.folder / "other/stays" / second).rename(small.folder / "kept")
    shutil.copytree(small.folder / "other/stays" / moved.first, small.folder / "other/stays" / second)
    assert moved.names() == [moved.first, second, "current"]
    small.recall(1)
    assert moved.names() == [second, "current"], "what has its name alone is another release"
    shutil.rmtree(small.folder / "other/stays" / second)
    (small.folder / "kept").rename(small.folder / "other/stays" / second)
    capsys.readouterr()
    assert ledger_command(["verify", "--files"]) == 0


def test_a_recall_in_a_moved_share_waits_for_no_old_path(small):
    moved = Moved(small)
    second = moved.night(2)
    with pytest.raises(AirflowException, match="give-up"):
        small.recall(1)
    assert moved.names() == [second, "current"]


def test_a_recall_before_the_first_night_in_a_moved_share_is_finished_by_that_night(small, capsys):
    moved = Moved(small)
    with pytest.raises(AirflowException, match="give-up"):
        small.recall(1)
    assert moved.names() == [moved.first, "current"]
    second = moved.night(2)
    assert moved.names() == [second, "current"]
    moved.give_up()
    assert ledger_command(["verify", "--files"]) == 0


def test_what_comes_back_into_a_moved_share_is_found(small, capsys):
    moved = Moved(small)
    shutil.copytree(small.folder / "other/stays" / moved.first, small.folder / "copy")
    moved.night(2)
    moved.give_up()
    small.recall(1)
    back = small.folder / "other/stays" / moved.first
    shutil.copytree(small.folder / "copy", back)
    capsys.readouterr()
    assert ledger_command(["verify", "--files"]) == 4
    assert f"it lies in {back}, which its entry does not name" in capsys.readouterr().out
    third = moved.night(3)
    assert moved.names() == [release_id(run_context(2)), third, "current"]
    assert ledger_command(["verify", "--files"]) == 0


def test_a_moved_share_keeps_no_more_releases_than_its_job(small):
    moved = Moved(small)
    moved.night(2)
    moved.give_up()
    third = moved.night(3, keep=1)
    assert moved.names() == [third, "current"]
    assert ledger_command(["verify", "--files"]) == 0


def test_an_older_run_after_a_recall_becomes_current(small):
    first = small.night(2, conn_id=None, table=None)
    small.recall(2)
    older = small.night(1, conn_id=None, table=None)
    assert older < first
    assert small.shown() == ([older, "current"], older)
    assert open_ledger().current("stays").release_id == older
    assert delivered(open_ledger(), "stays")["link"] == "matches"


@pytest.mark.parametrize("why", ["", " ", "two\nlines", "x" * 501])
def test_a_reason_that_no_page_could_show(small, why):
    small.night(1)
    with pytest.raises(AirflowFailException, match="one line of 1 to 500"):
        small.recall(1, why=why)
    assert len(open_ledger().entries()) == 1


def test_a_share_that_cannot_be_written_says_so_and_the_next_try_finishes(small, monkeypatch):
    first = small.night(1)
    with monkeypatch.context() as patched:
        patched.setattr("airflow_anon.share.folder_share.FolderShare.hide", _denied)
        with pytest.raises(AirflowException, match=r"cannot be removed.*repeat it"):
            small.recall(1)
    assert small.shown() == ([first], None)
    small.recall(1)
    assert small.shown() == ([], None)


def _denied(*_):
    raise PermissionError(13, "Permission denied")


def test_a_share_that_is_away_keeps_the_release_in_no_other(small):
    also = str(small.folder / "two")
    small.night(1, also=[also])
    (small.folder / "two").rename(small.folder / "away")
    for _ in range(2):
        with pytest.raises(AirflowException, match="the share must be mounted"):
            small.recall(1)
        assert small.shown()[1] is None
        assert [name for name in small.shown()[0] if not name.startswith(".")] == []
        assert small.rows() == 0
    (small.folder / "away").rename(small.folder / "two")
    second = small.night(2)  # the job does not name the other share any more
    assert small.shown() == ([second, "current"], second)
    assert list((small.folder / "two" / "stays").iterdir()) == []
    assert ledger_command(["verify", "--files"]) == 0


def test_a_database_that_is_away_leaves_readers_no_folder(small, monkeypatch):
    small.night(1)
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of("postgresql://u:secret@127.0.0.1:1/none"))
    with pytest.raises(AirflowException) as caught:
        small.recall(1)
    assert "secret" not in str(caught.value)
    assert small.shown()[1] is None
    assert [name for name in small.shown()[0] if not name.startswith(".")] == []
    assert small.rows() == 3
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(small.url))
    second = small.night(2)
    assert small.shown() == ([second, "current"], second)


@pytest.mark.parametrize("away", ["share", "two"])
def test_a_share_that_is_not_mounted_is_not_made_anew(small, away):
    also = [str(small.folder / "two")]
    first = small.night(1, also=also)
    (small.folder / away).rename(small.folder / "away")
    (small.folder / away).mkdir()  # where it is mounted else
    with pytest.raises(
        AirflowException, match=f"{away}/stays: is not there, and the ledger has releases in it; mount .* the whole run"
    ):
        small.night(2, also=also)
    assert list((small.folder / away).iterdir()) == []
    (small.folder / away).rmdir()
    (small.folder / "away").rename(small.folder / away)
    second = small.night(2, also=also)
    assert small.shown() == ([first, second, "current"], second)
    assert ledger_command(["verify", "--files"]) == 0


def test_a_share_that_is_gone_for_good_stops_no_other_removal(small):
    small.night(1, also=[str(small.folder / "two")])
    shutil.rmtree(small.folder / "two")
    nights = [small.night(day, keep=1) for day in (2, 3, 4)]
    assert [name for name in small.shown()[0] if not name.startswith(".")] == [nights[-1], "current"]


def test_the_command(small, capsys, monkeypatch):
    first = small.night(1)
    counted = []
    monkeypatch.setattr(recall_command, "emit_from_command", counted.append)
    assert main(["recall", f"nightly/{first}", "--reason", "wrong join", "--by", "ada"]) == 0
    assert "is recalled (entry 2)" in capsys.readouterr().out
    assert main(["recall", f"stays/{first}", "--reason", "again"]) == 0
    assert "was recalled already" in capsys.readouterr().out
    assert [(one.outcome, one.sequence) for one in counted] == [("recalled", 2)], "a repetition is not counted"
    assert read(open_ledger().document(2)).withdrawal.by == "ada"


@pytest.mark.parametrize(
    ("name", "told"), [("stays/none", "no such release"), ("other/{}", "no such release"), ("stays", "JOB/RELEASE")]
)
def test_the_command_of_what_is_not_there(small, capsys, name, told):
    first = small.night(1)
    assert main(["recall", name.format(first), "--reason", "wrong join"]) == 2
    assert told in capsys.readouterr().err
    assert len(open_ledger().entries()) == 1


def test_old_releases_are_removed(world):
    ids = [world.night(day, keep=2) for day in (1, 2, 3, 4)]
    assert world.shown() == ([*ids[2:], "current"], ids[3])
    assert world.rows() == 3
    ledger = open_ledger()
    assert ledger.check() == []
    removed = ledger.of_job("stays", outcome="removed")
    assert [one.release_id for one in reversed(removed)] == ids[:2]
    assert read(ledger.document(removed[0].sequence)).withdrawal.keep == 2
    assert ledger_command(["verify", "--files", "--share", str(world.folder / "share")]) == 0
    assert delivered(ledger, "stays")["files"] == "matches"


def test_the_current_release_stays_where_an_older_run_comes_late(small):
    alone = {"conn_id": None, "table": None, "keep": 1}
    newest = small.night(3, **alone)
    late = small.night(1, **alone)
    assert small.shown() == ([newest, "current"], newest)
    assert open_ledger().withdrawal("stays", late).outcome == "removed"


def test_a_removed_release_can_be_recalled(small):
    small.night(1, keep=1)
    small.night(2, keep=1)
    assert small.recall(1).outcome == "recalled"
    assert open_ledger().withdrawal("stays", release_id(run_context(1))).outcome == "recalled"
    assert small.rows() == 3


def test_a_removal_that_fails_does_not_fail_the_night(small, monkeypatch):
    first = small.night(1, keep=1)
    with monkeypatch.context() as patched:
        patched.setattr("airflow_anon.share.folder_share.FolderShare.hide", _denied)
        second = small.night(2, keep=1)
    assert small.shown() == ([first, second, "current"], second)
    third = small.night(3, keep=1)
    assert small.shown() == ([third, "current"], third)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["recall", pytest.param("keep", marks=pytest.mark.thorough)])
def test_killed_anywhere_the_next_step_finishes_it(small, kind):
    """Whatever was done, the next recall or publication leaves the share without the release, and its entry."""
    small.night(1, keep=5)
    Staged(small.folder / "staging2")
    Staged(small.folder / "staging3")
    before = small.folder.with_name("before")
    shutil.copytree(small.folder, before, symlinks=True)

    def work():
        if kind == "recall":
            small.recall(1)
        else:
            small.night(2, keep=1)

    points = points_of(work, small.folder)
    assert len(points) > 4
    first = release_id(run_context(1))
    for point in points:
        shutil.rmtree(small.folder)
        shutil.copytree(before, small.folder, symlinks=True)
        assert killed_at(point, work)
        if open_ledger().withdrawal("stays", first) is None:
            work()
        third = small.night(3, keep=1)
        assert small.shown() == ([third, "current"], third), point
        assert open_ledger().withdrawal("stays", first).outcome == ("recalled" if kind == "recall" else "removed")
        assert open_ledger().check() == []
