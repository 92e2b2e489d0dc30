"""A share that is gone for good is given up: who says so, what is complained of no more, and what it cannot hide."""

from __future__ import annotations

import errno
import json
import re
import shutil
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from sqlalchemy import create_engine, text

from airflow_anon.commands import give_up as give_up_command
from airflow_anon.commands.main import main as command
from airflow_anon.ledger import Ledger
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.cli import main as ledger_command
from airflow_anon.ledger.delivery import delivered
from airflow_anon.ledger.entry import GIVEN_UP
from airflow_anon.ledger.given_up import given_up
from airflow_anon.publication import give_up
from airflow_anon.publication.publish import Publication
from airflow_anon.publication.settle import settle
from airflow_anon.share.folder_share import FolderShare
from engine.cli import commands as engine_commands
from engine.cli import main as engine_command
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.publication.test_several_shares import Shares, today
from tests.airflow_anon.share.store_in_folder import attached

pytestmark = pytest.mark.airflow
WHY = "the file server has burnt down"
STORE = "s3://store@bucket/research"


@pytest.fixture
def shares(tmp_path, monkeypatch):
    return Shares(tmp_path, monkeypatch)


def say(place, why=WHY):
    return command(["give-up", *([place] if isinstance(place, str) else place), "--by", "ada", "--reason", why])


def verified(*arguments):
    return ledger_command(["verify", "--files", *arguments])


def lose(shares, number):
    shutil.rmtree(shares.places[number])


def away(shares, monkeypatch):
    """Let the store answer nothing."""

    def fails(_):
        raise ConnectionError

    attached(monkeypatch, shares.folder / "objects").fail(fails)


@pytest.mark.parametrize("number", [0, 1])
def test_a_folder_that_is_gone_is_complained_of_until_it_is_given_up(shares, number, capsys):
    shares.publish(1)
    shares.publish(2)
    lose(shares, number)
    assert verified() == 2
    assert say(str(shares.places[number].parent)) == 0
    capsys.readouterr()
    assert verified() == 0
    told = capsys.readouterr().out
    assert "GIVEN UP" in told
    assert f"by ada: {WHY}" in told
    assert "releases: 2;" in told
    assert delivered(open_ledger(), "stays")["files"] == "matches"
    assert delivered(open_ledger(), "stays")["link"] == "matches"
    (entry,) = open_ledger().of_job("stays", outcome=GIVEN_UP)
    document = open_ledger().document(entry.sequence)["given_up"]
    assert document == {
        "path": str(shares.places[number].parent),
        "conn_id": None,
        "table": None,
        "releases": [today(1), today(2)],
        "found": "is not there",
        "by": "ada",
        "why": WHY,
    }
    assert open_ledger().check() == []
    assert open_ledger().current("stays").release_id == today(2)


def test_a_run_that_is_cleared_says_who_gave_up_the_share(shares):
    shares.publish(1)
    lose(shares, 1)
    assert say(str(shares.folder / "two")) == 0
    with pytest.raises(AirflowFailException, match=r"two/stays does not have it, since it was given up on .* by ada"):
        shares.publish(1)
    shares.publish(1, also=[STORE])


def test_said_again_it_changes_nothing(shares, capsys):
    shares.publish(1)
    lose(shares, 1)
    for _ in range(2):
        assert say(str(shares.folder / "two") + "/") == 0
    assert "were given up already" in capsys.readouterr().out
    assert len(open_ledger().entries()) == 2


@pytest.mark.parametrize("step", ["_not_given_up", "_document"])
def test_of_two_at_once_one_gives_it_up(shares, monkeypatch, step):
    """The other one comes between any two steps of the first."""
    shares.publish(1)
    lose(shares, 1)
    real, there = getattr(give_up, step), str(shares.folder / "two")

    def first(*given, **named):
        monkeypatch.setattr(give_up, step, real)
        assert say(there, "said first") == 0
        return real(*given, **named)

    monkeypatch.setattr(give_up, step, first)
    assert say(there) == 0
    (entry,) = open_ledger().of_job("stays", outcome=GIVEN_UP)
    assert open_ledger().document(entry.sequence)["given_up"]["why"] == "said first"


def test_a_share_that_can_be_reached_is_not_given_up(shares, capsys):
    shares.publish(1)
    file = shares.places[1] / today(1) / "report.json"
    file.chmod(0o644)
    file.write_bytes(b"{}")
    for place in (str(shares.folder / "two"), STORE):
        assert say(place) == 2
        assert "can be reached and is not empty, so it is not given up" in capsys.readouterr().err
    assert verified() == 4
    assert len(open_ledger().entries()) == 1


def also_visits(shares):
    """Let another job have the same release in the same shares."""
    open_ledger().append(json.loads(json.dumps(open_ledger().document(1)).replace("stays", "visits")))


def test_a_share_of_several_jobs_is_given_up_for_each_that_has_lost_something(shares):
    shares.publish(1)
    also_visits(shares)
    (shares.folder / "two").rename(shares.folder / "moved")
    (shares.folder / "two/visits" / today(1)).mkdir(parents=True)
    assert say(str(shares.folder / "two")) == 0
    assert [one.job for one in open_ledger().entries() if one.outcome == GIVEN_UP] == ["stays"]
    shutil.rmtree(shares.folder / "two")
    assert say(str(shares.folder / "two")) == 0
    assert [one.job for one in open_ledger().entries() if one.outcome == GIVEN_UP] == ["visits", "stays"]


def test_where_one_job_may_not_be_looked_at_nothing_is_given_up_of_any(shares, monkeypatch):
    shares.publish(1)
    also_visits(shares)
    lose(shares, 1)
    real = Path.iterdir

    def refused(path):
        if path.name == "visits":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path)

    monkeypatch.setattr(Path, "iterdir", refused)
    assert say(str(shares.folder / "two")) == 2
    assert not [one for one in open_ledger().entries() if one.outcome == GIVEN_UP]


def made_anew(shares, number):
    """Lose a share in which two releases were, and publish the third into another one at the same place."""
    shares.publish(1)
    shares.publish(2)
    shutil.rmtree(shares.places[number])
    shares.places[number].mkdir()
    shares.publish(3)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_of_a_share_that_was_made_anew_the_releases_that_it_has_lost_are_given_up(shares, number, capsys):
    made_anew(shares, number)
    share = [*map(str, (shares.folder / "one", shares.folder / "two")), STORE][number]
    assert verified() == 4
    assert say(share) == 0
    assert f"releases of stays that {share} has lost are given up: 2 (entry 4): {today(1)}, {today(2)}." in (
        capsys.readouterr().out
    )
    assert open_ledger().document(4)["given_up"]["releases"] == [today(1), today(2)]
    assert verified() == 0
    assert f"{share} of stays, which has newer releases and had lost: 2; entry 4" in capsys.readouterr().out
    assert say(share) == 0
    assert "were given up already" in capsys.readouterr().out
    shutil.rmtree(shares.places[number] / today(3))
    assert verified() == 4, "what it got since was not given up"
    assert say(share) == 2


def test_a_release_that_a_share_made_anew_still_has_is_never_given_up(shares, capsys):
    """Also not one that somebody has only renamed there."""
    made_anew(shares, 1)
    shutil.copytree(shares.places[0] / today(1), shares.places[1] / f"old-{today(1)}")
    assert say(str(shares.folder / "two")) == 0
    (one,) = given_up(open_ledger(), "stays")
    assert one.told.releases == [today(2)]
    assert verified() == 4


def test_what_was_recalled_or_is_not_published_yet_is_not_lost(shares, monkeypatch, capsys):
    shares.publish(1)
    shares.publish(2)
    assert command(["recall", f"stays/{today(1)}", "--reason", "a mistake"]) == 0
    with monkeypatch.context() as patched:
        patched.setattr(Publication, "_copy", lambda *_: 1 / 0)
        with pytest.raises((ZeroDivisionError, AirflowException)):
            shares.publish(3)
    assert say(str(shares.folder / "two")) == 2
    assert "can be reached and is not empty, so it is not given up" in capsys.readouterr().err
    assert len(open_ledger().pending()) == 1


def test_a_share_that_was_restored_from_an_older_backup_leads_readers_astray_until_the_next_release(
    shares, tmp_path, capsys
):
    shares.publish(1)
    shutil.copytree(shares.places[1], tmp_path / "backup", symlinks=True)
    shares.publish(2)
    lose(shares, 1)
    shutil.copytree(tmp_path / "backup", shares.places[1], symlinks=True)
    assert verified() == 4
    assert say(str(shares.folder / "two")) == 2
    assert f"has no release that is newer than {today(2)}, which it lacks" in capsys.readouterr().err
    shares.publish(3)
    assert verified() == 4
    assert say(str(shares.folder / "two")) == 0
    (one,) = given_up(open_ledger(), "stays")
    assert one.told.releases == [today(2)]
    assert verified() == 0


def test_an_older_backup_that_comes_back_after_it_was_given_up_leads_readers_astray(shares, tmp_path, capsys):
    shares.publish(1)
    shutil.copytree(shares.places[1], tmp_path / "backup", symlinks=True)
    shares.publish(2)
    lose(shares, 1)
    assert say(str(shares.folder / "two")) == 0
    assert verified() == 0
    shutil.copytree(tmp_path / "backup", shares.places[1], symlinks=True)
    capsys.readouterr()
    assert verified() == 4
    assert f"current in {shares.places[1]} of entry 2 (stays): changed" in capsys.readouterr().out
    assert delivered(open_ledger(), "stays")["link"] == "changed"
    shares.publish(3)
    assert verified() == 0


def test_each_entry_is_counted_as_soon_as_it_is_written(shares, monkeypatch):
    """Also where a publication cannot be settled; a repetition is not counted."""
    shares.publish(1)
    with monkeypatch.context() as patched:
        patched.setattr(Publication, "_copy", lambda *_: 1 / 0)
        with pytest.raises((ZeroDivisionError, AirflowException)):
            shares.publish(2)
    lose(shares, 1)
    counted = []
    monkeypatch.setattr(give_up_command, "emit_from_command", counted.append)
    with monkeypatch.context() as patched:
        patched.setattr(FolderShare, "hide", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "I/O error")))
        assert say(str(shares.folder / "two")) == 1
    assert say(str(shares.folder / "two")) == 0
    assert [(one.outcome, one.job) for one in counted] == [(GIVEN_UP, "stays")]


def test_verification_reads_what_a_job_has_given_up_once(shares, monkeypatch):
    """Not anew for each of its releases."""
    for day in (1, 2, 3):
        shares.publish(day)
    lose(shares, 1)
    assert say(str(shares.folder / "two")) == 0
    read, real = [], Ledger.document
    monkeypatch.setattr(Ledger, "document", lambda self, number: read.append(number) or real(self, number))
    assert verified() == 0
    assert read.count(4) == 2, "for the files, and for the list of shares that were given up"


def test_a_folder_that_may_not_be_read_is_not_gone(shares, monkeypatch, capsys):
    shares.publish(1)

    def refused(_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("pathlib.Path.iterdir", refused)
    assert say(str(shares.folder / "two")) == 2
    assert "may not read it" in capsys.readouterr().err


def test_what_is_there_again_is_compared_as_ever(shares, tmp_path, capsys):
    shares.publish(1)
    shutil.move(shares.places[1], tmp_path / "kept")
    assert say(str(shares.folder / "two")) == 0
    assert verified() == 0
    shutil.move(tmp_path / "kept", shares.places[1])
    capsys.readouterr()
    assert verified() == 0
    assert "1 of them lie there again" in capsys.readouterr().out
    file = shares.places[1] / today(1) / "report.json"
    file.chmod(0o644)
    file.write_bytes(b"{}")
    assert verified() == 4


def test_another_disk_in_its_place_gets_the_next_release(shares, capsys):
    shares.publish(1)
    shutil.rmtree(shares.folder / "two")
    with pytest.raises(AirflowException, match="airflow-anon give-up"):
        shares.publish(2)
    assert say(str(shares.folder / "two")) == 0
    shares.publish(2)
    assert shares.named() == [2, 2, 2]
    assert verified("--share", str(shares.folder / "two")) == 0
    shutil.rmtree(shares.places[1] / today(2))
    assert verified() == 4, "a release after it was not given up"


def test_a_recall_ends_and_says_where_the_release_may_still_lie(shares, capsys):
    shares.publish(1)
    lose(shares, 1)
    recall = ["recall", f"stays/{today(1)}", "--reason", "a mistake"]
    assert command(recall) == 1
    assert say(str(shares.folder / "two")) == 0
    assert "Releases that it had: 1, 1 of them recalled; they may still lie there" in capsys.readouterr().out
    assert command(recall) == 0
    assert f"it may still lie in {shares.places[1] / today(1)}, given up on" in capsys.readouterr().out
    assert not (shares.places[0] / today(1)).exists()
    assert verified() == 0


def test_a_recall_takes_the_release_out_of_a_share_that_is_there_again(shares, tmp_path, capsys):
    shares.publish(1)
    shutil.move(shares.places[1], tmp_path / "kept")
    assert say(str(shares.folder / "two")) == 0
    shutil.move(tmp_path / "kept", shares.places[1])
    assert command(["recall", f"stays/{today(1)}", "--reason", "a mistake"]) == 0
    assert "it may still lie in" not in capsys.readouterr().out
    assert list(shares.places[1].iterdir()) == []


def test_a_recalled_release_that_comes_back_into_a_share_that_was_given_up_is_found(shares, tmp_path):
    shares.publish(1)
    shutil.move(shares.places[1], tmp_path / "kept")
    assert say(str(shares.folder / "two")) == 0
    assert command(["recall", f"stays/{today(1)}", "--reason", "a mistake"]) == 0
    assert verified() == 0
    shutil.move(tmp_path / "kept", shares.places[1])
    assert verified() == 4


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_publication_that_waits_for_the_share_ends(shares, monkeypatch, is_whole):
    """Whole in all others it is complete, and its entry names the share; otherwise it is taken back."""
    shares.publish(1)
    with monkeypatch.context() as patched:
        if is_whole:
            patched.setattr(Publication, "_record", lambda *_: 1 / 0)
        else:
            patched.setattr(Publication, "_copy", lambda *_: 1 / 0)
        with pytest.raises((ZeroDivisionError, AirflowException)):
            shares.publish(2)
    lose(shares, 1)
    (pending,) = open_ledger().pending("stays")
    fix = f"`airflow-anon give-up {shares.folder / 'two'}`"
    with pytest.raises(AirflowException, match=re.escape(f"If it is gone for good, say so by {fix}")):
        settle(pending, open_ledger(), 0o022)
    assert say(str(shares.folder / "two")) == 0
    assert open_ledger().pending() == []
    entry = open_ledger().released("stays", today(2))
    if is_whole:
        assert str(shares.places[1] / today(2)) in open_ledger().document(entry.sequence)["publication"]["also"]
        assert (shares.places[0] / "current").readlink().name == today(2)
    else:
        assert entry is None
        assert shares.entries()[1:] == [(GIVEN_UP, None), ("failed", None)]
        assert not (shares.places[0] / today(2)).exists()
    assert verified() == 0
    assert open_ledger().check() == []


def test_a_release_that_was_pending_in_it_is_not_begun_again(shares, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Publication, "_copy", lambda *_: 1 / 0)
        with pytest.raises((ZeroDivisionError, AirflowException)):
            shares.publish(1)
    lose(shares, 1)
    assert say(str(shares.folder / "two")) == 0
    with pytest.raises(AirflowFailException, match=r"two was given up on .* while it was published; trigger a new run"):
        shares.publish(1)
    shares.publish(2)
    assert shares.named() == [2, 2, 2]


def test_a_store_that_is_gone(shares, monkeypatch):
    shares.publish(1)
    away(shares, monkeypatch)
    assert verified() == 2
    assert say(STORE) == 0
    assert verified() == 0
    (one,) = given_up(open_ledger(), "stays")
    assert one.told.found == "the store cannot be used now (ConnectionError)"
    assert command(["recall", f"stays/{today(1)}", "--reason", "a mistake"]) == 0


def test_a_table_that_is_gone(shares, monkeypatch, tmp_path, capsys):
    url = f"sqlite:///{tmp_path}/research.db"
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(url))
    shares.publish(1, conn_id="research_share", table="stays")
    where = ["--table", "research_share", "stays"]
    assert say(where) == 2
    assert "table stays of 'research_share': can be reached" in capsys.readouterr().err
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE stays"))
    engine.dispose()
    assert verified() == 4
    assert say(where) == 0
    assert verified() == 0
    assert delivered(open_ledger(), "stays")["table"] is None
    monkeypatch.delenv("AIRFLOW_CONN_RESEARCH_SHARE")
    assert command(["recall", f"stays/{today(1)}", "--reason", "a mistake"]) == 0
    assert "may still lie in table stays of 'research_share', given up on" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["/nowhere", "--reason", "x"], "the ledger has no release there; it has releases in: "),
        (["--reason", "x"], "name one share"),
        (["/nowhere", "--table", "db", "stays", "--reason", "x"], "name one share"),
        (["/nowhere", "--reason", " "], "must be one line of 1 to 500 characters"),
    ],
)
def test_what_cannot_be_said(shares, capsys, arguments, told):
    shares.publish(1)
    assert command(["give-up", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert len(open_ledger().entries()) == 1


def test_an_entry_that_was_changed_gives_up_nothing(shares, tmp_path):
    shares.publish(1)
    lose(shares, 1)
    assert say(str(shares.folder / "two")) == 0
    engine = create_engine(f"sqlite:///{shares.folder}/ledger.sqlite")
    with engine.begin() as connection:
        connection.execute(text("UPDATE release_document SET document = '{}' WHERE sequence = 2"))
    engine.dispose()
    assert given_up(open_ledger(), "stays") == []
    assert verified() == 4


def test_the_command_of_the_engine_passes_on_what_it_is_given(shares, monkeypatch):
    given = []
    monkeypatch.setattr(engine_commands, "_airflow_command", lambda name, rest: given.append((name, rest)) or 0)
    said = [["give-up", "--table", "db", "stays", "--reason", WHY], ["recall", "--help"], ["give-up"]]
    for arguments in said:
        assert engine_command(arguments) == 0
    assert given == [("commands", arguments) for arguments in said]
