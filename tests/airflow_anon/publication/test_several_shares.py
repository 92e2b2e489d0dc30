"""A release goes to all of its shares: what readers of each see where one of them fails, and who says so."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.cli import main
from airflow_anon.ledger.delivery import delivered, delivery_of
from airflow_anon.ledger.form import read
from airflow_anon.publication.publish import Publication
from airflow_anon.publication.settle import lead_readers_to, settle
from airflow_anon.publication.withdraw import recall
from airflow_anon.run.release_id import release_id
from airflow_anon.share.folder_share import FolderShare
from engine import InvalidJob, check_manifest, load_job, run
from tests.airflow_anon.publication.publishing import TABLE, Staged, job, run_context
from tests.airflow_anon.share.store_in_folder import attached


class Shares:
    """Two folders and a store, in which the job publishes."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        attached(monkeypatch, folder / "objects")
        monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{folder}/ledger.sqlite")
        self.output = {"path": str(folder / "one"), "also": [str(folder / "two"), "s3://store@bucket/research"]}

    @property
    def places(self):
        return [self.folder / "one/stays", self.folder / "two/stays", self.folder / "objects/bucket/research/stays"]

    def publish(self, day=1, **changes):
        staged = self.folder / f"staged-{day}"
        made = Staged.there(staged) if staged.exists() else Staged(staged, TABLE.slice(day - 1))
        return made.publish({**self.output, **changes}, run_context(day))

    def named(self):
        """Tell which of the shares lead to each day's release."""
        links = [(place / "current") for place in self.places]
        texts = [link.readlink().name if link.is_symlink() else link.read_text() for link in links]
        return [next((day for day in (1, 2, 3) if today(day) in text), None) for text in texts]

    def entries(self):
        return [(one.outcome, one.release_id) for one in reversed(list(open_ledger().of_job("stays")))]


def today(day):
    return release_id(run_context(day))


@pytest.fixture
def shares(tmp_path, monkeypatch):
    return Shares(tmp_path, monkeypatch)


def test_the_release_is_the_same_in_each_and_its_one_entry_names_them(shares):
    shares.publish(1)
    contents = [
        {file.name: file.read_bytes() for file in (place / today(1)).iterdir() if file.is_file()}
        for place in shares.places
    ]
    assert contents[0] == contents[1] == contents[2]
    check_manifest(shares.places[1] / today(1))
    assert shares.named() == [1, 1, 1]
    (entry,) = open_ledger().of_job("stays")
    publication = open_ledger().document(entry.sequence)["publication"]
    assert publication["folder"] == str(shares.places[0] / today(1))
    assert publication["also"] == [str(shares.places[1] / today(1)), f"s3://store@bucket/research/stays/{today(1)}"]
    assert main(["verify", "--files", "--ledger", f"sqlite:///{shares.folder}/ledger.sqlite"]) == 0


def test_a_share_that_cannot_be_used_ends_the_try_before_any_has_the_release(shares):
    shares.publish(1)
    (shares.folder / "two/stays/current").unlink()
    (shares.folder / "two/stays/current").mkdir()
    with pytest.raises(AirflowFailException, match="instead of a link"):
        shares.publish(2)
    assert not any((place / today(2)).exists() for place in shares.places)
    assert shares.entries() == [("released", today(1))]
    (shares.folder / "two/stays/current").rmdir()
    shares.publish(2)
    assert shares.named() == [2, 2, 2]


@pytest.mark.parametrize("place", [0, 1])
def test_where_one_switch_fails_readers_of_the_others_get_the_release_and_the_retry_completes_it(
    shares, monkeypatch, place
):
    shares.publish(1)
    real = FolderShare.make_current

    def fails(self, identity):
        if self.folder == shares.places[place]:
            raise OSError(5, "Input/output error", str(self.folder))
        return real(self, identity)

    with monkeypatch.context() as broken:
        broken.setattr(FolderShare, "make_current", fails)
        with pytest.raises((OSError, AirflowException), match="Input/output"):
            shares.publish(2)
    assert shares.named() == [1 if number == place else 2 for number in range(3)]
    entry = open_ledger().released("stays", today(2))
    # the ledger says which share lacks it
    document = read(open_ledger().document(entry.sequence))
    found = delivery_of(open_ledger(), entry, document)
    states = [found.link.state, *(one.state for one in found.also)]
    assert states == ["changed" if number == place else "matches" for number in range(3)]
    assert delivered(open_ledger(), "stays")["link"] == "changed"
    shares.publish(2)
    assert shares.named() == [2, 2, 2]
    assert shares.entries() == [("released", today(1)), ("released", today(2))]


def test_readers_of_every_share_are_led_by_the_task_that_settles(shares):
    shares.publish(1)
    shares.publish(2)
    for place in shares.places[:2]:
        (place / "current").unlink()
        (place / "current").symlink_to(today(1))
    entry = open_ledger().released("stays", today(2))
    shutil.rmtree(shares.places[0] / today(2))
    with pytest.raises(AirflowException, match="no longer in the share"):
        lead_readers_to(open_ledger().document(entry.sequence), open_ledger(), 0o022)
    assert shares.named() == [1, 2, 2]


def read_only(monkeypatch, name, *folders):
    """Let a step of folder shares fail, as on a file system that is read-only now."""
    real = getattr(FolderShare, name)

    def step(share, *arguments):
        if share.folder in folders:
            raise OSError(errno.EROFS, "Read-only file system", str(share.folder))
        return real(share, *arguments)

    monkeypatch.setattr(FolderShare, name, step)


def test_a_share_that_is_read_only_keeps_the_task_that_settles_from_no_other(shares, monkeypatch):
    shares.publish(1)
    with monkeypatch.context() as patched:
        patched.setattr(Publication, "_lead_readers", lambda *_: None)
        shares.publish(2)
    document = open_ledger().document(2)
    assert shares.named() == [1, 1, 1]
    with monkeypatch.context() as patched:
        read_only(patched, "make_current", shares.places[0])
        with pytest.raises(
            AirflowException, match=r"one/stays: cannot be written \(Read-only file system\); let the user that runs"
        ):
            lead_readers_to(document, open_ledger(), 0o022)
    assert shares.named() == [1, 2, 2]
    lead_readers_to(document, open_ledger(), 0o022)
    assert shares.named() == [2, 2, 2]


def test_the_place_that_a_link_could_not_be_written_to_is_named(shares, monkeypatch):
    """Python names the target of a link first, which is relative to it."""
    shares.publish(1)

    def refused(link, target):
        raise OSError(errno.EROFS, "Read-only file system", str(target), None, str(link))

    monkeypatch.setattr(Path, "symlink_to", refused)
    with pytest.raises(AirflowException, match=r"one/stays/\.current\S+: cannot be written"):
        lead_readers_to(open_ledger().document(1), open_ledger(), 0o022)


@pytest.mark.parametrize("step", ["hide", "remove_leftovers"])
def test_what_is_taken_back_leaves_the_shares_that_can_be_written(shares, monkeypatch, step):
    """The pending row stays while a share has the release: the next try ends it."""
    with monkeypatch.context() as patched:
        patched.setattr(Publication, "_copy", lambda *_: 1 / 0)
        with pytest.raises(AirflowException):
            shares.publish(1)
    for place in shares.places[1:2]:
        shutil.copytree(shares.places[0] / today(1), place / today(1))
    (shares.places[1] / today(1) / "data.parquet").unlink()
    (pending,) = open_ledger().pending("stays")
    with monkeypatch.context() as patched:
        read_only(patched, step, shares.places[0])
        with pytest.raises(AirflowException, match="one/stays: cannot be written"):
            settle(pending, open_ledger(), 0o022)
    assert not (shares.places[1] / today(1)).exists()
    is_hidden = step == "remove_leftovers"
    assert (shares.places[0] / today(1)).exists() != is_hidden
    assert bool(open_ledger().pending("stays")) != is_hidden
    if not is_hidden:
        assert settle(pending, open_ledger(), 0o022) is None
        assert [list(place.iterdir()) for place in shares.places[:2]] == [[], []]
        assert open_ledger().pending("stays") == []


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_file_that_is_changed_in_any_share_is_found(shares, place):
    shares.publish(1)
    file = shares.places[place] / today(1) / "report.json"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes() + b" ")
    assert delivered(open_ledger(), "stays")["files"] == "changed"
    assert main(["verify", "--files", "--ledger", f"sqlite:///{shares.folder}/ledger.sqlite"]) == 4
    with pytest.raises(AirflowFailException):
        shares.publish(1)


def test_a_release_that_is_gone_from_a_further_share_is_told_when_that_is_searched(shares):
    shares.publish(1)
    ledger = ["--ledger", f"sqlite:///{shares.folder}/ledger.sqlite"]
    assert main(["verify", "--share", str(shares.folder / "two"), *ledger]) == 0
    shutil.rmtree(shares.places[1] / today(1))
    assert main(["verify", "--share", str(shares.folder / "two"), *ledger]) == 4


def test_something_else_with_the_name_of_the_release_is_no_part_of_it(shares):
    shares.publish(1)
    shutil.copytree(shares.places[1] / today(1), shares.places[1] / today(2))
    with pytest.raises(AirflowFailException, match="is another one"):
        shares.publish(2)
    assert not (shares.places[0] / today(2)).exists()
    assert shares.entries() == [("released", today(1))]


def test_a_recall_takes_it_out_of_every_share(shares):
    shares.publish(1)
    (entry,) = open_ledger().of_job("stays")
    recall(open_ledger(), entry, by="a custodian", why="a mistake")
    for place in shares.places:
        assert not (place / today(1)).exists()
        assert not (place / "current").is_symlink()
    assert shares.entries() == [("released", today(1)), ("recalled", today(1))]
    assert main(["verify", "--files", "--ledger", f"sqlite:///{shares.folder}/ledger.sqlite"]) == 0


def test_what_is_not_kept_leaves_every_share(shares):
    for day in (1, 2, 3):
        shares.publish(day, keep=2)
    for place in shares.places:
        files = {one.parent.name for one in place.rglob("*") if one.is_file()}
        assert {today(2), today(3)} <= files
        assert today(1) not in files
    assert shares.named() == [3, 3, 3]


def test_a_share_that_a_job_gets_later_has_the_releases_from_then_on(shares):
    also = shares.output["also"]
    shares.publish(1, also=also[:1])
    shares.publish(2)
    assert [(place / today(1)).exists() for place in shares.places] == [True, True, False]
    assert shares.named() == [2, 2, 2]


@pytest.mark.parametrize("change", [{}, {"path": "elsewhere"}])
def test_a_run_that_is_cleared_after_its_job_got_a_share_blames_no_share(shares, change):
    shares.publish(1, also=shares.output["also"][:1])
    change = {name: str(shares.folder / place) for name, place in change.items()}
    with pytest.raises(AirflowFailException, match=r"the job's output got this share later; .* trigger a new run"):
        shares.publish(1, **change)
    assert shares.entries() == [("released", today(1))]
    shares.publish(1, also=[])
    shares.publish(2)
    assert shares.named() == [2, 2, 2]


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ({"conn_id": "db", "table": "stays", "also": ["/two"]}, "further places of what is in path"),
        ({"path": "/one", "also": ["two"]}, "must be an absolute path"),
        ({"path": "/one", "also": ["/one/"]}, "name each share once"),
        ({"path": "/one", "also": ["/two", "/two"]}, "name each share once"),
        ({"path": "/one", "also": ["ftp://host/two"]}, "also: must be a folder"),
    ],
)
def test_shares_that_cannot_be(output, told):
    with pytest.raises(InvalidJob, match=told):
        load_job(job(output))


def test_only_airflow_publishes_to_several(tmp_path):
    table = TABLE.append_column("id", [["a", "b", "c"]])
    document = {**job({"path": str(tmp_path / "one"), "also": [str(tmp_path / "two")]})}
    document["attributes"]["age"] = {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}
    with pytest.raises(InvalidJob, match="only Airflow publishes to several shares"):
        run(document, table)
    assert list(tmp_path.iterdir()) == []


def test_keys_are_in_none_of_the_shares(tmp_path):
    document = job({"path": str(tmp_path / "one"), "also": [str(tmp_path / "two")]})
    document["drift"] = {"facts": str(tmp_path / "two/facts.json")}
    with pytest.raises(InvalidJob, match="must not be in the folder of the releases"):
        load_job(document)


def test_the_job_that_readers_get_names_no_further_share(tmp_path):
    told = str(load_job(job({"path": str(tmp_path / "one"), "also": [str(tmp_path / "two"), "s3://bucket/secret"]})))
    assert "two" not in told
    assert "bucket" not in told
    assert Path(tmp_path).name not in told


def test_a_ledger_that_was_restored_from_an_older_backup_is_not_intact(shares, tmp_path, capsys):
    """Not even when the next night has led readers to a release that it knows."""
    shares.publish(1)
    shutil.copy(tmp_path / "ledger.sqlite", tmp_path / "backup.sqlite")
    shares.publish(2)
    shutil.copy(tmp_path / "backup.sqlite", tmp_path / "ledger.sqlite")
    shares.publish(3)
    assert shares.named() == [3, 3, 3]
    assert main(["verify"]) == 0
    capsys.readouterr()
    assert main(["verify", "--files"]) == 4
    told = capsys.readouterr().out.splitlines()
    (line,) = (line for line in told if line.startswith("SHARE"))
    assert line.startswith(f"SHARE     release {today(2)} of stays has no entry: put the ledger back that has it")


def test_a_share_that_is_away_leads_nobody_elsewhere(shares, capsys):
    shares.publish(1)
    shutil.move(shares.places[0], shares.folder / "kept")
    assert main(["verify", "--files"]) == 2
    told = capsys.readouterr().out
    assert f"AWAY      {shares.places[0]}: cannot be reached, so 1 of its releases" in told
    assert "FILE" not in told
    assert "LINK" not in told
