"""Whatever line a publication is killed at, it leaves a complete release with its entry or neither, after what follows.

The process that publishes is forked and ends, without any clean-up, before a given line of this package runs for the
first time: once for each line between the first look at the share and the last. What follows is the retry, or the task
that settles what nobody will retry.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DagRunState
from sqlalchemy import create_engine, inspect, text

from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators import publish as publish_module
from airflow_anon.operators.record import RecordAttemptOperator
from airflow_anon.run.release_id import release_id
from airflow_anon.share.folder_share import file_sha256
from engine import VerificationFailed, check_manifest
from tests.airflow_anon.publication.publishing import TABLE, Staged, job, run_context

pytestmark = pytest.mark.slow

PACKAGE = str(Path(publish_module.__file__).resolve().parents[1])
WATCHED = (
    "publication.py",
    "settlement.py",
    "publishing.py",
    "pending.py",
    "folder_share.py",
    "sql_share.py",
    "sql_load.py",
    "staged_release.py",
    "store.py",
)
KILLED = 99
OUTPUTS = {
    "folder": lambda world: {"path": str(world / "share")},
    "table": lambda _: {"conn_id": "research_share", "table": "stays"},
    "both": lambda world: {"path": str(world / "share"), "conn_id": "research_share", "table": "stays"},
}


class Line:
    """A tracer that ends the process before a line is run for the first time, and remembers the lines it saw."""

    def __init__(self, end_before: tuple[str, int] | None = None) -> None:
        self.end_before = end_before
        self.seen: dict[tuple[str, int], None] = {}

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        path = frame.f_code.co_filename
        if not (path.startswith(PACKAGE) and path.endswith(WATCHED)):
            return None
        if event == "line":
            here = (path, frame.f_lineno)
            if here == self.end_before:
                os._exit(KILLED)
            self.seen[here] = None
        return self


def traced(work: Callable[[], Any], tracer: Line) -> None:
    sys.settrace(tracer)
    try:
        work()
    finally:
        sys.settrace(None)


def in_a_child(work: Callable[[], Any], tracer: Line) -> int:
    """Do the work in a forked process; give its exit status, 0 if it came to its end."""
    child = os.fork()
    if child == 0:
        logging.disable()
        status = 1
        try:
            traced(work, tracer)
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class World:
    """A share and a ledger with the release of yesterday, and today's staged release."""

    def __init__(self, folder: Path, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.original = folder.with_name(folder.name + "-before")
        self.output = OUTPUTS[output](folder)
        self.monkeypatch = monkeypatch
        monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", f"sqlite:///{folder}/research.db")
        monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{folder}/ledger.sqlite")
        Staged(folder / "yesterday").publish(self.output, run_context(1))
        Staged(folder / "today", TABLE.slice(1))
        shutil.copytree(folder, self.original, symlinks=True)

    def reset(self) -> None:
        """Put everything back to the time before today's publication."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.original, self.folder, symlinks=True)

    def publish(self) -> None:
        """Publish today's release."""
        Staged.there(self.folder / "today").publish(self.output, run_context(2))

    def settle(self, state: str = "failed") -> dict[str, Any]:
        """Run the task that records the attempt after `publish` failed for good."""
        context = run_context(2)
        context["ti"] = SimpleNamespace(
            task_id="record_attempt",
            get_task_states=lambda **_: {context["dag_run"].run_id: {"publish": state}},
            get_dagrun_state=lambda **_: DagRunState.RUNNING,
            xcom_pull=lambda **_: None,
            xcom_push=lambda **_: None,
        )
        operator = RecordAttemptOperator(
            task_id="record_attempt", job=job(self.output), tasks=["publish"], staging_base=str(self.folder / "staging")
        )
        return operator.execute(context)

    @property
    def today(self) -> str:
        return release_id(run_context(2))

    def exists(self) -> bool:
        """Whether today's release is whole in every place it was to go to; fails if it is in some of them only."""
        places = []
        if "path" in self.output:
            places.append(self._folder_is_there())
        if "table" in self.output:
            places.append(self._table_holds_it())
        assert len(set(places)) == 1
        return places[0]

    def _folder_is_there(self) -> bool:
        folder = self.folder / "share/stays" / self.today
        try:
            check_manifest(folder)
        except VerificationFailed:
            assert not folder.exists()
            return False
        return True

    def _table_holds_it(self) -> bool:
        engine = create_engine(f"sqlite:///{self.folder}/research.db")
        with engine.connect() as connection:
            booked = set(connection.scalars(text("SELECT release_id FROM stays_release")))
            rows = connection.scalar(text("SELECT count(*) FROM stays"))
        engine.dispose()
        assert rows == (TABLE.num_rows - 1 if self.today in booked else TABLE.num_rows)
        return self.today in booked

    def is_current(self) -> bool:
        """Whether readers of the folder are led to today's release."""
        return (self.folder / "share/stays/current").readlink().name == self.today

    def entry(self) -> Any:
        """Give the entry of today's release, after a check of the whole ledger."""
        ledger = open_ledger()
        assert ledger.check() == []
        return ledger.released("stays", self.today)

    def nothing_is_left_over(self) -> bool:
        """Whether no hidden folder, staging table or pending row is there."""
        assert open_ledger().pending() == []
        if "path" in self.output:
            names = {path.name for path in (self.folder / "share/stays").iterdir()}
            assert names <= {release_id(run_context(1)), self.today, "current"}
        if "table" in self.output:
            engine = create_engine(f"sqlite:///{self.folder}/research.db")
            assert inspect(engine).get_table_names() == ["stays", "stays_release"]
            engine.dispose()
        return True


@pytest.fixture(params=OUTPUTS)
def world(request, tmp_path, monkeypatch):
    return World(tmp_path / "world", request.param, monkeypatch)


def lines_of(world: World, work: Callable[[], Any]) -> list[tuple[str, int]]:
    """Do the work to its end; give the lines it ran."""
    tracer = Line()
    traced(work, tracer)
    assert len(tracer.seen) > 40
    return list(tracer.seen)


def complete(world: World) -> None:
    """Assert that today's release is there with its entry."""
    entry = world.entry()
    assert world.exists()
    assert entry is not None
    if "path" in world.output:
        assert world.is_current()
        assert entry.manifest_sha256 == file_sha256(world.folder / "share/stays" / world.today / "manifest.json")


def readers_are_safe(world: World) -> None:
    """Assert what holds at any moment: `current` leads to a whole release with an entry, entries to releases."""
    entry = world.entry()
    if "path" in world.output:
        assert not world.is_current() or entry is not None
    if entry is not None:
        assert world.exists()


def test_the_retry_completes_it(world):
    lines = lines_of(world, world.publish)
    complete(world)
    for line in lines:
        world.reset()
        assert in_a_child(world.publish, Line(line)) == KILLED
        readers_are_safe(world)
        world.publish()
        complete(world)
        assert world.nothing_is_left_over()
        assert len(open_ledger().of_job("stays")) == 2


def test_without_a_retry_it_is_settled(world):
    """A release that is whole gets its entry, another one is taken back; the attempt has one entry in any case."""
    lines = lines_of(world, world.publish)
    outcomes = set()
    for line in lines:
        world.reset()
        assert in_a_child(world.publish, Line(line)) == KILLED
        outcome = world.settle()["outcome"]
        outcomes.add(outcome)
        if outcome == "released":
            complete(world)
        else:
            assert not world.exists()
            assert world.entry() is None
            if "path" in world.output:
                assert not world.is_current()
        assert world.nothing_is_left_over()
        assert [entry.outcome for entry in open_ledger().of_job("stays")] == [outcome, "released"]
    assert outcomes == {"released", "failed"}


def test_settling_may_be_killed_as_well(world):
    """Publications are cut off in each state that it can find; whatever line it dies at, the next one ends it."""
    states = {}
    for line in lines_of(world, world.publish):
        world.reset()
        in_a_child(world.publish, Line(line))
        pending = bool(open_ledger().pending())
        folder = (world.folder / "share/stays" / world.today).exists()
        states.setdefault((pending, folder), line)
    for line in states.values():
        world.reset()
        in_a_child(world.publish, Line(line))
        broken = world.folder.with_name("broken")
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(world.folder, broken, symlinks=True)
        tracer = Line()
        traced(world.settle, tracer)
        for last in tracer.seen:
            shutil.rmtree(world.folder)
            shutil.copytree(broken, world.folder, symlinks=True)
            assert in_a_child(world.settle, Line(last)) == KILLED
            readers_are_safe(world)
            outcome = world.settle()["outcome"]
            assert world.exists() is (outcome == "released")
            assert (world.entry() is not None) is (outcome == "released")
            assert world.nothing_is_left_over()
