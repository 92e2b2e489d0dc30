"""A share in a store beside one in a folder: what is recalled, removed, tampered with, or written by two at once."""

from __future__ import annotations

import json
import threading

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.delivery import delivered
from airflow_anon.ledger.form import read as read_form
from airflow_anon.ledger.share_orphans import orphans
from airflow_anon.plugin.pages.files import files
from airflow_anon.publication.withdraw import recall
from airflow_anon.run.release_id import release_id
from airflow_anon.share.object_share import ObjectShare
from airflow_anon.share.reader import _copy
from engine import VerificationFailed
from tests.airflow_anon.publication.publishing import Staged, run_context
from tests.airflow_anon.share.store_in_folder import SHARE, attached


class World:
    """Nights of one job, and what is in the store."""

    def __init__(self, folder, monkeypatch):
        monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{folder}/ledger.sqlite")
        self.folder = folder
        self.store = attached(monkeypatch, folder / "objects")
        self.stays = folder / "objects/bucket/research/stays"

    def night(self, day, **output):
        staged = Staged(self.folder / f"staging{day}")
        staged.publish({"path": "s3://bucket/research", "conn_id": "store", **output}, run_context(day))
        return release_id(run_context(day))

    def names(self):
        return sorted(path.name for path in self.stays.iterdir())

    def named(self):
        return json.loads((self.stays / "current").read_text())["release_id"]


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch)


def test_old_releases_are_removed_and_a_recalled_one_is_gone(world):
    first, second, third = (world.night(day, keep=2) for day in (1, 2, 3))
    assert first not in world.names()
    assert world.names() == [second, third, "current"]
    ledger = open_ledger()
    entry = ledger.released("stays", third)
    recall(ledger, entry, by="custodian", why="a patient has objected")
    assert world.names() == [second]
    assert ledger.check() == []
    assert orphans(SHARE, ledger) == []
    with pytest.raises(AirflowFailException, match="was recalled"):
        Staged.there(world.folder / "staging3").publish({"path": SHARE}, run_context(3))
    fourth = world.night(4)
    assert world.named() == fourth


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda stays, now: (stays / now / "data.parquet").write_bytes(b"x"), ("changed", "matches")),
        (lambda stays, now: (stays / now / "job.yaml").unlink(), ("missing", "matches")),
        (lambda stays, now: (stays / now / "more.csv").write_bytes(b"x"), ("added", "matches")),
        (lambda stays, _: (stays / "current").unlink(), ("matches", "missing")),
        (lambda stays, _: (stays / "current").write_text("{}"), ("matches", "changed")),
        (lambda stays, now: _pointed(stays, now, "0" * 64), ("matches", "changed")),
        (lambda stays, _: _pointed(stays, "20260101T000000Z-00000000", "0" * 64), ("matches", "changed")),
    ],
    ids=["changed", "missing", "added", "no current", "foreign current", "other manifest", "other release"],
)
def test_the_audit_finds_what_was_tampered_with(world, change, found):
    now = world.night(1)
    ledger = open_ledger()
    unchanged = delivered(ledger, "stays")
    assert (unchanged["files"], unchanged["link"]) == ("matches", "matches")
    change(world.stays, now)
    states = delivered(ledger, "stays")
    assert (states["files"], states["link"]) == found
    page = files(read_form(ledger.document(1)))
    assert page["verdict"] == ("intact" if found[0] == "matches" else "changed")


def test_the_audit_tells_a_store_that_cannot_be_reached_from_a_release_that_is_gone(world):
    world.night(1)

    def down(_):
        raise TimeoutError

    world.store.fail(down)
    states = delivered(open_ledger(), "stays")
    assert (states["files"], states["link"]) == ("unreachable", "unreachable")


def test_a_reader_gets_what_current_names_and_nothing_that_was_changed(world, tmp_path, monkeypatch):
    now = world.night(1)
    monkeypatch.setattr("fsspec.core.url_to_fs", lambda place, **_: (world.store, place.partition("://")[2]))
    for place in (
        "s3://bucket/research/stays",
        "s3://bucket/research/stays/current",
        f"s3://bucket/research/stays/{now}",
    ):
        copy = tmp_path / place.replace("/", "_")
        copy.mkdir()
        _copy(place, copy, {})
        assert {one.name: one.read_bytes() for one in copy.iterdir()} == {
            one.name: one.read_bytes() for one in (world.stays / now).iterdir()
        }
    manifest = world.stays / now / "manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b" ")
    with pytest.raises(VerificationFailed, match=r"manifest\.json is not the one that current names"):
        _copy("s3://bucket/research/stays", tmp_path / "none", {})


@pytest.mark.parametrize("other_ends", [True, False], ids=["published", "being written"])
def test_of_two_tries_of_one_release_one_is_published_whole(world, other_ends):
    """The second begins when the first has written all but its manifest, and removes what it takes for leftovers."""
    lock = threading.RLock()
    shares = [ObjectShare(share=SHARE, name="stays", alone=lambda: lock) for _ in range(2)]
    announced = threading.Event()

    def fill(text):
        return lambda folder: (folder / "data.parquet").write_text(text) and {}

    def second(_):
        if other_ends:
            shares[1].add("r1", fill("second"))
        else:
            shares[1].remove_leftovers("r1")
        announced.set()
        return lock

    with pytest.raises(AirflowException, match="another process changes it, so try again"):
        shares[0].add("r1", fill("first"), announced=second)
    assert announced.is_set()
    assert (shares[0].published("r1") is not None) is other_ends
    if other_ends:
        assert (world.stays / "r1/data.parquet").read_text() == "second"
    else:
        assert shares[0].names() == set()


def test_an_older_run_does_not_take_readers_back(world):
    second = world.night(2)
    world.night(1)
    assert world.named() == second


def test_a_current_of_somebody_else_is_not_replaced(world):
    (world.stays).mkdir(parents=True)
    (world.stays / "current").write_text("mine")
    with pytest.raises(AirflowFailException, match="current: does not name a release, and is not replaced"):
        world.night(1)
    assert (world.stays / "current").read_text() == "mine"


def test_a_table_beside_the_store_is_loaded_from_it(world, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", f"sqlite:///{world.folder}/research.db")
    world.night(1, path=SHARE, conn_id="research_share", table="stays")
    found = delivered(open_ledger(), "stays")
    assert (found["files"], found["link"], found["table"]) == ("matches", "matches", "matches")


def test_a_release_without_an_entry_and_an_entry_without_a_release(world):
    gone = world.night(1)
    ledger = open_ledger()
    (world.stays / gone).rename(world.stays.with_name("other"))
    (world.stays / "unknown").mkdir()
    (world.stays / "unknown/manifest.json").write_text(json.dumps({"files": {}}))
    found = [(one.release_id, one.sequence) for one in orphans(SHARE, ledger)]
    assert found == [("unknown", None), (gone, 1)]


def _pointed(stays, release, manifest_sha256):
    (stays / "current").write_text(json.dumps({"release_id": release, "manifest_sha256": manifest_sha256}))
