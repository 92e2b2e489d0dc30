"""Processes that do not know of each other: what still publishes although its task has ended, and what settles it.

At a named step of one, the other runs to its end; what must hold afterwards is the same each time: an attempt has one
entry, a release that anybody can see has its entry, and `current` leads to one that is whole.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk import DagRunState
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.comms import ErrorResponse
from sqlalchemy import create_engine, inspect, text

from airflow_anon.ledger import Ledger
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.share_orphans import orphans
from airflow_anon.operators.record import RecordAttemptOperator
from airflow_anon.publication import settle as settlement
from airflow_anon.run.release_id import release_id
from airflow_anon.share import folder_share, sql_share
from airflow_anon.share.folder_share import FolderShare
from airflow_anon.share.staged_release import StagedRelease
from airflow_anon.share.target_table import TargetTable
from engine import check_manifest
from tests.airflow_anon.publication.publishing import TABLE, Staged, job, run_context
from tests.profiles import only

OUTPUTS = {
    "folder": lambda world: {"path": str(world / "share")},
    "table": lambda _: {"conn_id": "research_share", "table": "stays"},
    "both": lambda world: {"path": str(world / "share"), "conn_id": "research_share", "table": "stays"},
}


class World:
    """A share and a ledger with the release of the first day, and staged releases of the next ones."""

    def __init__(self, folder, output):
        self.folder = folder
        self.output = OUTPUTS[output](folder)
        self.share = folder / "share/stays"
        self.today = release_id(run_context(2))
        Staged(folder / "1").publish(self.output, run_context(1))
        for day in (2, 3):
            Staged(folder / str(day), TABLE.slice(day - 1))

    def publish(self, day=2, attempt=1):
        context = run_context(day)
        context["dag_run"].clear_number = attempt - 1
        return Staged.there(self.folder / str(day)).publish(self.output, context)

    def record(self, day=2, attempt=1, state="failed", other_run="failed", dag_id="nightly", **changes):
        """Run the task that records the attempt; `other_run` is the state of any other run, or an error.

        Further arguments are keys of the job that are others than when it was published.
        """

        def state_of_run(**_):
            if isinstance(other_run, Exception):
                raise other_run
            return DagRunState(other_run)  # as Airflow does: its text is not that of the state

        context = run_context(day)
        context["dag_run"].clear_number = attempt - 1
        context["dag_run"].dag_id = dag_id
        context["ti"] = SimpleNamespace(
            task_id="record_attempt",
            get_task_states=lambda **_: {context["dag_run"].run_id: {"publish": state}},
            get_dagrun_state=state_of_run,
            xcom_pull=lambda **_: None,
            xcom_push=lambda **_: None,
        )
        operator = RecordAttemptOperator(
            task_id="record_attempt",
            job={**job(self.output), **changes},
            tasks=["publish"],
            staging_base=str(self.folder / "staging"),
        )
        return operator.execute(context)["outcome"]

    def outcomes(self):
        """Give the outcome of each entry, oldest first, after a check of everything that must always hold."""
        ledger = open_ledger()
        assert ledger.check() == []
        assert ledger.pending() == []
        if "path" in self.output:
            assert orphans(self.folder / "share", ledger) == []
            check_manifest(self.share / "current")
            assert ledger.released("stays", (self.share / "current").readlink().name) is not None
        if "table" in self.output:
            for booked in self.booked():
                assert ledger.released("stays", booked) is not None
        return [entry.outcome for entry in reversed(ledger.entries())]

    def booked(self):
        engine = create_engine(f"sqlite:///{self.folder}/research.db")
        with engine.connect() as connection:
            booked = set(connection.scalars(text("SELECT release_id FROM stays_release")))
        assert inspect(engine).get_table_names() == ["stays", "stays_release"]
        engine.dispose()
        return booked

    def is_there(self):
        there = []
        if "path" in self.output:
            there.append((self.share / self.today).exists())
        if "table" in self.output:
            there.append(self.today in self.booked())
        assert len(set(there)) == 1
        return there[0]


@pytest.fixture
def world(request, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", f"sqlite:///{tmp_path}/world/research.db")
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/world/ledger.sqlite")
    return World(tmp_path / "world", getattr(request, "param", "folder"))


def at(monkeypatch, owner, name, action, *, after=False):
    """Do something once, before a function is called or after it returned."""
    original, done = getattr(owner, name), []

    def replaced(*arguments, **named):
        once = not done
        done.append(1)
        if once and not after:
            action()
        result = original(*arguments, **named)
        if once and after:
            action()
        return result

    monkeypatch.setattr(owner, name, replaced)


def killed(*_, **__):
    raise KeyboardInterrupt


def cut_off(world, monkeypatch, owner, name, day=2):
    """Publish, but end at a function that is not called any more."""
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, killed)
        with pytest.raises(KeyboardInterrupt):
            world.publish(day)


STEPS = {
    "before it copies": (StagedRelease, "copy_to", False),
    "before it begins": (Ledger, "begin", False),
    "when it has begun": (Ledger, "begin", True),
    "while it loads": (sql_share, "load", False),
    "when it has loaded": (sql_share, "load", True),
    "before the records are switched": (TargetTable, "fill", False),
    "before it completes": (Ledger, "complete", False),
    "when it has completed": (Ledger, "complete", True),
}


@pytest.mark.parametrize(
    ("world", "step", "leftovers"),
    only(
        [
            (output, step, leftovers)
            for output in OUTPUTS
            for step, (owner, *_) in STEPS.items()
            for leftovers in ("removed", "not removed")
            if output != "folder" or owner not in (sql_share, TargetTable)
        ],
        lambda case: (case[0], case[2]) == ("both", "removed") or case[1] == "before it completes",
    ),
    indirect=["world"],
)
def test_the_task_is_marked_failed_while_it_publishes(world, monkeypatch, step, leftovers):
    """The attempt is recorded while the process goes on: it is a release or none, and stays that."""
    owner, name, after = STEPS[step]
    recorded = []
    with monkeypatch.context() as patched:
        if leftovers == "not removed":
            patched.setattr("airflow_anon.operators.record.RecordAttemptOperator._remove_leftovers", lambda *_: None)
        at(patched, owner, name, lambda: recorded.append(world.record()), after=after)
        with contextlib.suppress(AirflowException, OSError):
            world.publish()
    assert len(recorded) == 1
    assert world.outcomes() == ["released", *recorded]
    assert world.is_there() == (recorded == ["released"])
    assert world.record(attempt=2, state="upstream_failed") == "failed"
    world.publish(attempt=3)
    assert world.outcomes() == ["released", *recorded, "failed", *(["released"] if recorded == ["failed"] else [])]
    assert world.is_there()


@pytest.mark.parametrize("world", ["folder", "both"], indirect=True)
@pytest.mark.parametrize("step", ["pending", "revoke", "_held"])
def test_the_publication_goes_on_while_it_is_settled(world, monkeypatch, step):
    """It was cut off before the table; another process goes on with it when it was found to be pending."""
    cut_off(world, monkeypatch, Ledger, "complete")

    def go_on():
        with contextlib.suppress(AirflowException):
            world.publish()

    with monkeypatch.context() as patched:
        at(patched, settlement if step == "_held" else Ledger, step, go_on, after=True)
        recorded = world.record()
    assert world.outcomes() == ["released", recorded]
    assert world.is_there() == (recorded == "released")


@pytest.mark.parametrize("world", ["both"], indirect=True)
@pytest.mark.parametrize("step", ["revoke", "taking_back", "hide", "remove_leftovers"])
def test_taking_back_that_is_cut_off_is_ended_by_the_next_attempt(world, monkeypatch, step):
    cut_off(world, monkeypatch, sql_share, "load")
    with monkeypatch.context() as patched:
        if step == "revoke":
            patched.setattr(settlement, "_held", killed)
        else:
            patched.setattr(Ledger if step == "taking_back" else FolderShare, step, killed)
        with pytest.raises(KeyboardInterrupt):
            world.record()
    world.publish(attempt=2)
    assert world.outcomes() == ["released", "released"]
    assert world.is_there()


def test_a_share_that_is_not_mounted_is_not_taken_for_an_empty_one(world, monkeypatch):
    cut_off(world, monkeypatch, Ledger, "complete")
    away = world.folder / "away"
    (world.folder / "share").rename(away)
    with pytest.raises(AirflowException, match="must be mounted"):
        world.record()
    (world.folder / "share").mkdir()
    with pytest.raises(AirflowException, match="must be mounted"):
        world.record()
    (world.folder / "share").rmdir()
    away.rename(world.folder / "share")
    assert world.record() == "released"
    assert world.outcomes() == ["released", "released"]


@pytest.mark.parametrize("harm", ["changed", "missing", "added", "other manifest", "link"])
def test_a_cut_off_release_that_is_not_whole_gets_no_entry(world, monkeypatch, harm):
    """It is taken back, whatever stands in its place."""
    cut_off(world, monkeypatch, Ledger, "complete")
    folder = world.share / world.today
    if harm == "changed":
        (folder / "data.parquet").write_bytes(b"other")
    elif harm == "missing":
        (folder / "data.parquet").unlink()
    elif harm == "added":
        (folder / "more").touch()
    elif harm == "other manifest":
        shutil.rmtree(folder)
        shutil.copytree(world.share / "current", folder)
    else:
        folder.rename(world.folder / "elsewhere")
        folder.symlink_to(world.folder / "elsewhere")
    assert world.record() == "failed"
    assert world.outcomes() == ["released", "failed"]
    assert sorted(path.name for path in world.share.iterdir()) == [release_id(run_context(1)), "current"]


def test_who_removes_leftovers_does_not_remove_files_of_a_release(world, monkeypatch):
    """A release gets its name while a folder, its own, is being removed as a leftover: it must not appear half."""
    rmtree = shutil.rmtree

    def half(folder, **_):
        (folder / "data.parquet").unlink()

    def remove():
        with monkeypatch.context() as patched:
            patched.setattr(folder_share.shutil, "rmtree", half)
            FolderShare(share=world.folder / "share", name="stays").remove_leftovers(world.today)

    with monkeypatch.context() as patched:
        at(patched, Ledger, "begin", remove, after=True)
        with pytest.raises(AirflowException, match="another process took over"):
            world.publish()
    assert folder_share.shutil.rmtree is rmtree
    assert not (world.share / world.today).exists()
    world.publish()
    assert world.outcomes() == ["released", "released"]


@pytest.mark.parametrize("world", ["table"], indirect=True)
@pytest.mark.parametrize(
    "harm", ["DELETE FROM stays_release WHERE release_id = '{}'", "UPDATE stays_release SET manifest_sha256 = 'x'"]
)
def test_a_table_is_not_loaded_again_under_the_entry_of_another_release(world, harm):
    world.publish()
    engine = create_engine(f"sqlite:///{world.folder}/research.db")
    with engine.begin() as connection:
        connection.execute(text(harm.format(world.today)))
    shutil.rmtree(world.folder / "2")
    Staged(world.folder / "2", TABLE.slice(2))
    with pytest.raises(AirflowFailException, match="find out who changed the share"):
        world.publish(attempt=2)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM stays")) == TABLE.num_rows - 1
    engine.dispose()


NOT_FOUND = AirflowRuntimeError(ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail={"status_code": 404}))
UNREACHABLE = AirflowRuntimeError(ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail={"status_code": 503}))


@pytest.mark.parametrize("world", ["both"], indirect=True)
@pytest.mark.parametrize("ended", ["failed", "success", NOT_FOUND])
def test_what_an_ended_run_left_is_settled_and_its_attempt_recorded(world, monkeypatch, ended):
    """Also of a run that was deleted: its state cannot be asked for."""
    cut_off(world, monkeypatch, sql_share, "load")
    assert world.record(day=3, other_run=ended) == "failed"
    assert sorted(world.outcomes()) == ["failed", "failed", "released"]
    assert {entry.run_id for entry in open_ledger().entries()} == {f"scheduled__2026-03-0{day}" for day in (1, 2, 3)}
    assert not world.is_there()


@pytest.mark.parametrize("other_run", ["running", UNREACHABLE, "failed"])
def test_what_another_run_left_does_not_keep_an_attempt_from_its_entry(world, monkeypatch, other_run):
    """It runs, or nobody can say whether it does, or what it left cannot be settled."""
    cut_off(world, monkeypatch, Ledger, "complete")
    engine = create_engine(f"sqlite:///{world.folder}/ledger.sqlite")
    if other_run == "failed":
        with engine.begin() as connection:
            connection.execute(text("UPDATE pending_release SET document = 'damaged'"))
    assert world.record(day=3, other_run=other_run) == "failed"
    ledger = open_ledger()
    assert [entry.outcome for entry in ledger.entries()] == ["failed", "released"]
    assert [(row.release_id, row.revoked) for row in ledger.pending()] == [(world.today, False)]
    engine.dispose()


def test_what_a_dag_left_before_it_was_renamed_is_settled_by_the_next_run_of_the_job(world, monkeypatch):
    cut_off(world, monkeypatch, Ledger, "complete")
    assert world.record(day=3, dag_id="every_night") == "failed"
    assert world.outcomes() == ["released", "failed", "released"]
    assert open_ledger().entries()[0].dag_id == "nightly"


@pytest.mark.parametrize("other_run", ["running", UNREACHABLE, NOT_FOUND])
def test_what_another_dag_publishes_is_left_to_it_unless_its_run_has_ended(world, monkeypatch, other_run):
    """A run that this Airflow does not know may be under way in another one with the same ledger."""
    cut_off(world, monkeypatch, Ledger, "complete")
    assert world.record(day=3, other_run=other_run, dag_id="every_night") == "failed"
    assert [(row.release_id, row.revoked) for row in open_ledger().pending()] == [(world.today, False)]


def test_current_never_goes_back_to_an_older_release(world, monkeypatch):
    """The newer one is published between the older one's look at `current` and its switch."""
    newer = threading.Thread(target=world.publish, args=(3,))

    def overtake():
        newer.start()
        # A lock keeps the newer one waiting; without one it comes to its end in this time.
        newer.join(2)

    with monkeypatch.context() as patched:
        at(patched, FolderShare, "current", overtake, after=True)
        world.publish(2)
    newer.join()
    assert (world.share / "current").readlink().name == release_id(run_context(3))
    assert world.outcomes() == ["released"] * 3


def test_readers_are_not_led_to_a_release_that_is_gone(world, monkeypatch):
    cut_off(world, monkeypatch, FolderShare, "make_current")
    shutil.rmtree(world.share / world.today)
    with pytest.raises(AirflowFailException, match="no longer in the share"):
        world.record()
    assert (world.share / "current").readlink().name == release_id(run_context(1))


@pytest.mark.parametrize("world", ["table"], indirect=True)
def test_ledger_and_table_in_one_sqlite_file_are_refused(world, monkeypatch):
    """SQLite would make one wait for the other until both give up."""
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{world.folder}/research.db")
    with pytest.raises(AirflowFailException, match="use a separate file for the ledger"):
        world.publish()
    assert world.today not in world.booked()


@pytest.mark.parametrize("world", ["folder", "both"], indirect=True)
def test_a_forged_pending_row_takes_back_no_other_release(world, monkeypatch):
    """Whoever may write one table points it at the folder of a release that readers follow."""
    cut_off(world, monkeypatch, Ledger, "complete")
    yesterday = release_id(run_context(1))
    engine = create_engine(f"sqlite:///{world.folder}/ledger.sqlite")
    with engine.begin() as connection:
        named = {"now": f"stays/{world.today}", "then": f"stays/{yesterday}"}
        connection.execute(text("UPDATE pending_release SET document = replace(document, :now, :then)"), named)
    with pytest.raises(AirflowFailException, match="was changed"):
        world.record()
    with engine.begin() as connection:
        named = {"now": world.today, "then": yesterday}
        connection.execute(text("UPDATE pending_release SET document = replace(document, :now, :then)"), named)
        connection.execute(text("UPDATE pending_release SET release_id = :then, manifest_sha256 = 'x'"), named)
        changed = "UPDATE pending_release SET document = json_set(document, '$.publication.manifest_sha256', 'x')"
        connection.execute(text(changed))
    engine.dispose()
    with contextlib.suppress(AirflowException):
        world.record()
    check_manifest(world.share / "current")
    assert (world.share / yesterday).is_dir()
