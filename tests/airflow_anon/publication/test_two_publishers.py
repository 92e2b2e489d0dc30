"""Runs of one job that publish at the same time, each in a process of its own, into one share and one ledger."""

from __future__ import annotations

import multiprocessing
import os
import traceback

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from sqlalchemy import create_engine, inspect, text

from airflow_anon.ledger.store import Ledger
from airflow_anon.publication.pending_row import PendingRow
from airflow_anon.publication.publish import Publication
from airflow_anon.run.release_id import release_id
from airflow_anon.share import sql_share
from airflow_anon.share.folder_share import FolderShare
from airflow_anon.share.staged_release import StagedRelease
from engine import check_manifest
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.publication.publishing import TABLE, Staged, run_context
from tests.conftest import empty_database

ROUNDS = 3
TABLE_ALONE = {"conn_id": "research_share", "table": "stays"}
NOT_PUBLISHED = "stays holds a newer release and the job's output has no path"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def databases(request, tmp_path):
    """Give the URLs of the ledger and of the share's database, both empty."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/ledger.sqlite", f"sqlite:///{tmp_path}/research.db"
        return
    server = request.getfixturevalue("postgres_url")
    with empty_database(server) as ledger, empty_database(server) as share:
        yield ledger, share


def publish_at_once(folder, days, output, environment):
    """Publish the staged releases of these days, all from the same moment on; give the errors and exit statuses."""
    fork = multiprocessing.get_context("fork")
    begin = fork.Barrier(len(days))

    def publish(day, errors):
        os.environ.update(environment)
        staged, context = Staged.there(folder / str(day)), run_context(day)
        begin.wait()
        try:
            staged.publish(output, context)
        except Exception:
            errors.send(traceback.format_exc())
            raise
        errors.send("")

    pipes = [fork.Pipe(duplex=False) for _ in days]
    processes = [fork.Process(target=publish, args=(day, errors)) for day, (_, errors) in zip(days, pipes, strict=True)]
    for process in processes:
        process.start()
    said = [found.recv() for found, _ in pipes]
    for process in processes:
        process.join()
    return [(text, process.exitcode) for text, process in zip(said, processes, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "both"])
def test_both_releases_have_their_entry_and_the_newer_one_is_current(tmp_path, databases, kind):
    """A table holds the newer one; the older one is in its folder, and in the table's books only if it came first."""
    ledger_url, share_url = databases
    output = {"path": str(tmp_path / "share")}
    if kind == "both":
        output |= {"conn_id": "research_share", "table": "stays"}
    environment = {"AIRFLOW_ANON_LEDGER": ledger_url, "AIRFLOW_CONN_RESEARCH_SHARE": connection_of(share_url)}
    days = range(1, 2 * ROUNDS + 1)
    for day in days:
        Staged(tmp_path / str(day), TABLE.slice(day % 2))
    ledger, job_folder = Ledger(ledger_url), tmp_path / "share/stays"
    for first in days[::2]:
        results = publish_at_once(tmp_path, (first, first + 1), output, environment)
        assert [status for _, status in results] == [0, 0], results
        assert (job_folder / "current").readlink().name == release_id(run_context(first + 1))
    assert ledger.check() == []
    assert ledger.pending() == []
    entries = {entry.release_id: entry for entry in ledger.entries()}
    assert set(entries) == {release_id(run_context(day)) for day in days}
    assert {path.name for path in job_folder.iterdir()} == {*entries, "current"}
    assert all(check_manifest(job_folder / found, entry.manifest_sha256) for found, entry in entries.items())
    if kind == "both":
        tables_agree(share_url, ledger, entries)


@pytest.mark.slow
def test_a_table_alone_holds_the_newer_one_and_the_older_one_was_published_before_it_or_fails(tmp_path, databases):
    """One that fails leaves no entry of a release, nothing in the table's books, and nothing pending."""
    ledger_url, share_url = databases
    environment = {"AIRFLOW_ANON_LEDGER": ledger_url, "AIRFLOW_CONN_RESEARCH_SHARE": connection_of(share_url)}
    days = range(1, 2 * ROUNDS + 1)
    staged = {day: Staged(tmp_path / str(day), TABLE.slice(day % 2)) for day in days}
    ledger, published = Ledger(ledger_url), {}
    for first in days[::2]:
        older, newer = publish_at_once(tmp_path, (first, first + 1), TABLE_ALONE, environment)
        assert newer[1] == 0, newer
        assert older[1] == 0 or NOT_PUBLISHED in older[0], older
        done = (first + 1,) if older[1] else (first, first + 1)
        published |= {release_id(run_context(day)): staged[day].manifest_sha256 for day in done}
        published_alone(ledger, share_url, published)


@pytest.mark.parametrize("interrupted", ["older", "newer"])
@pytest.mark.parametrize(
    ("where", "moment"), [(sql_share, "load"), (Publication, "_record")], ids=["while it loads", "before its entry"]
)
def test_a_table_alone_when_one_run_publishes_in_the_middle_of_the_other(
    tmp_path, databases, monkeypatch, interrupted, where, moment
):
    """Whose switch of the table is first decides: the older one is published before the newer one, or fails."""
    ledger_url, share_url = databases
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", ledger_url)
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(share_url))
    days = {"older": 1, "newer": 2 * ROUNDS}
    staged = {name: Staged(tmp_path / name, TABLE.slice(day % 2)) for name, day in days.items()}
    (other,) = days.keys() - {interrupted}
    is_published = {}

    def publish(name):
        is_published[name] = is_published_now(staged[name], days[name])

    meanwhile(monkeypatch, where, moment, lambda: publish(other))
    publish(interrupted)
    older_is_first = (interrupted, moment) in {("older", "_record"), ("newer", "load")}
    assert is_published == {"older": older_is_first, "newer": True}
    done = [name for name in days if is_published[name]]
    published = {release_id(run_context(days[name])): staged[name].manifest_sha256 for name in done}
    published_alone(Ledger(ledger_url), share_url, published)
    for name in days:
        publish(name)
    assert is_published == {"older": older_is_first, "newer": True}
    published_alone(Ledger(ledger_url), share_url, published)


TAKEN_OVER = "another process took over while this one wrote it"


@pytest.mark.parametrize(
    ("where", "moment"),
    [
        (StagedRelease, "copy_to"),
        (StagedRelease, "_prove"),
        (FolderShare, "_settle"),
        (PendingRow, "begin"),
        (PendingRow, "held"),
    ],
)
def test_two_tries_of_one_run_at_once_make_one_release_and_the_other_one_says_so(tmp_path, monkeypatch, where, moment):
    """It is no release that was changed, and no file that is missing: both would send somebody on a search."""
    staged, output = Staged(tmp_path / "staged"), {"path": str(tmp_path / "share")}
    done = []
    meanwhile(monkeypatch, where, moment, lambda: done.append(staged.publish(output)))
    with pytest.raises(AirflowException, match=TAKEN_OVER) as told:
        staged.publish(output)
    assert not isinstance(told.value, AirflowFailException), "a retry finds the release"
    again = staged.publish(output)
    assert again["ledger_sequence"] == done[0]["ledger_sequence"] == 1
    names = {path.name for path in (tmp_path / "share/stays").iterdir()}
    assert names == {release_id(run_context()), "current"}


def test_a_share_that_goes_away_while_it_is_written_was_not_taken_over(tmp_path, monkeypatch):
    staged, share = Staged(tmp_path / "staged"), tmp_path / "share"
    meanwhile(monkeypatch, FolderShare, "_settle", lambda: share.rename(tmp_path / "away"))
    with pytest.raises(AirflowException, match="No such file or directory"):
        staged.publish({"path": str(share)})


@pytest.mark.slow
def test_many_tries_of_one_run_at_once_leave_one_release(tmp_path, monkeypatch):
    """Each removes what the others have begun to write; nobody trips over what another one removes."""
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/ledger.sqlite")
    Staged(tmp_path / "1")
    results = publish_at_once(tmp_path, [1] * 6, {"path": str(tmp_path / "share")}, {})
    lost = [text for text, status in results if status]
    assert len(lost) < len(results)
    assert all(TAKEN_OVER in text for text in lost), lost
    assert {path.name for path in (tmp_path / "share/stays").iterdir()} == {release_id(run_context(1)), "current"}
    assert len(Ledger(f"sqlite:///{tmp_path}/ledger.sqlite").entries()) == 1


def is_published_now(staged, day):
    """Publish into a table alone; tell whether it was not refused because the table holds a newer release."""
    try:
        staged.publish(TABLE_ALONE, run_context(day))
    except AirflowFailException as problem:
        if NOT_PUBLISHED not in str(problem):
            raise
        return False
    return True


def meanwhile(monkeypatch, where, name, act):
    """Let something happen before a function runs for the first time."""
    original = getattr(where, name)

    def first(*arguments, **named):
        monkeypatch.setattr(where, name, original)
        act()
        return original(*arguments, **named)

    monkeypatch.setattr(where, name, first)


def published_alone(ledger, share_url, published):
    """Assert that the ledger and the table know these releases, id and hash of the manifest, and no trace of others."""
    assert ledger.check() == []
    assert ledger.pending() == []
    entries = {entry.release_id: entry for entry in ledger.entries()}
    assert {found: entry.manifest_sha256 for found, entry in entries.items()} == published
    assert len(entries) == len(ledger.entries())
    for entry in entries.values():
        publication = ledger.document(entry.sequence)["publication"]
        told = {name: value for name, value in publication["table"].items() if name != "content"}
        assert (entry.outcome, publication["folder"], told) == ("released", None, TABLE_ALONE)
        assert publication["manifest_sha256"] == entry.manifest_sha256
    tables_agree(share_url, ledger, entries)


def tables_agree(share_url, ledger, entries):
    """Assert that the table holds the newest release, of an even day, and that books and entries name the same ones."""
    engine = create_engine(share_url)
    assert set(inspect(engine).get_table_names()) == {"stays", "stays_release"}
    with engine.connect() as connection:
        booked = dict(connection.execute(text("SELECT release_id, manifest_sha256 FROM stays_release")).all())
        rows = connection.scalar(text("SELECT count(*) FROM stays"))
    engine.dispose()
    claimed = {
        found: entry.manifest_sha256
        for found, entry in entries.items()
        if ledger.document(entry.sequence)["publication"]["table"] is not None
    }
    assert booked == claimed
    assert max(booked) == max(entries)
    assert rows == TABLE.num_rows
