"""Wherever a publication is killed, it leaves a complete release with its entry or neither, after what follows.

The process that publishes is forked and ends, without any clean-up: once after each change of what is on disk, and in
the thorough profile also before each line. What follows is the retry, or the task that settles what nobody will retry.
The gate publishes into three folders and a table at once; the thorough profile also into one of each, or both.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DagRunState
from sqlalchemy import create_engine, inspect, text

from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators.record import RecordAttemptOperator
from airflow_anon.run.release_id import release_id
from airflow_anon.share.folder_share import file_sha256
from engine import VerificationFailed, check_manifest
from tests.airflow_anon.publication.killing import Point, killed_at, points_of
from tests.airflow_anon.publication.publishing import TABLE, Staged, job, run_context
from tests.profiles import thorough

pytestmark = pytest.mark.slow

OUTPUTS = {
    "folder": lambda world: {"path": str(world / "share")},
    "table": lambda _: {"conn_id": "research_share", "table": "stays"},
    "both": lambda world: {"path": str(world / "share"), "conn_id": "research_share", "table": "stays"},
    "several": lambda world: {
        "path": str(world / "share"),
        "also": [str(world / "further"), str(world / "mounted/third")],
        "conn_id": "research_share",
        "table": "stays",
    },
}

POINTS: dict[str, list[Point]] = {}


class World:
    """A share and a ledger with the release of yesterday, and today's staged release."""

    def __init__(self, folder: Path, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.original = folder.with_name(folder.name + "-before")
        self.kind = output
        self.output = OUTPUTS[output](folder)
        self.monkeypatch = monkeypatch
        monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", f"sqlite:///{folder}/research.db")
        monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{folder}/ledger.sqlite")
        Staged(folder / "yesterday").publish(self.output, run_context(1))
        Staged(folder / "today", TABLE.slice(1))
        shutil.copytree(folder, self.original, symlinks=True)

    @property
    def stays(self) -> Path:
        """The folder of the job's releases."""
        return self.folder / "share/stays"

    @property
    def further(self) -> list[Path]:
        """The folders of the job's releases in the further shares."""
        return [Path(place) / "stays" for place in self.output.get("also", ())]

    def named(self) -> str:
        """Give the release to which readers of the folder are led."""
        return (self.stays / "current").readlink().name

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
            places += [self._folder_is_there(stays) for stays in (self.stays, *self.further)]
        if "table" in self.output:
            places.append(self._table_holds_it())
        assert len(set(places)) == 1
        return places[0]

    def _folder_is_there(self, stays: Path) -> bool:
        folder = stays / self.today
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
        return self.named() == self.today

    def entry(self) -> Any:
        """Give the entry of today's release, after a check of the whole ledger."""
        ledger = open_ledger()
        assert ledger.check() == []
        return ledger.released("stays", self.today)

    def nothing_is_left_over(self) -> bool:
        """Whether no hidden folder, staging table or pending row is there."""
        assert open_ledger().pending() == []
        if "path" in self.output:
            for stays in (self.stays, *self.further):
                names = {path.name for path in stays.iterdir()}
                assert names <= {release_id(run_context(1)), self.today, "current"}
        if "table" in self.output:
            engine = create_engine(f"sqlite:///{self.folder}/research.db")
            assert inspect(engine).get_table_names() == ["stays", "stays_release"]
            engine.dispose()
        return True


@pytest.fixture(params=OUTPUTS if thorough() else ["several"])
def world(request, tmp_path, monkeypatch):
    return World(tmp_path / "world", request.param, monkeypatch)


def points_of_publication(world: World) -> list[Point]:
    """Give where a publication into these places may be killed, watched once for all tests; the world is used up."""
    if world.kind not in POINTS:
        POINTS[world.kind] = points_of(world.publish, world.folder)
        assert len(POINTS[world.kind]) > 12
    return POINTS[world.kind]


def complete(world: World) -> None:
    """Assert that today's release is there with its entry."""
    entry = world.entry()
    assert world.exists()
    assert entry is not None
    if "path" in world.output:
        assert world.is_current()
        for stays in (world.stays, *world.further):
            assert entry.manifest_sha256 == file_sha256(stays / world.today / "manifest.json")
            assert not world.further or (stays / "current").readlink().name == world.today


def readers_are_safe(world: World) -> None:
    """Assert what holds at any moment: `current` leads to a whole release with an entry, entries to releases."""
    entry = world.entry()
    if "path" in world.output:
        assert not world.is_current() or entry is not None
        for stays in world.further:
            named = (stays / "current").readlink().name
            check_manifest(stays / named)
            assert named != world.today or entry is not None
    if entry is not None:
        assert world.exists()


def test_the_retry_completes_it(world):
    world.publish()
    complete(world)
    world.reset()
    for point in points_of_publication(world):
        world.reset()
        assert killed_at(point, world.publish)
        readers_are_safe(world)
        world.publish()
        complete(world)
        assert world.nothing_is_left_over()
        assert len(open_ledger().of_job("stays")) == 2


def test_without_a_retry_it_is_settled(world):
    """A release that is whole gets its entry, another one is taken back; the attempt has one entry in any case."""
    outcomes = set()
    for point in points_of_publication(world):
        world.reset()
        assert killed_at(point, world.publish)
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


@pytest.mark.thorough
def test_settling_may_be_killed_as_well(world):
    """Publications are cut off in each state that it can find; wherever it dies, the next one ends it."""
    states = {}
    for point in points_of_publication(world):
        world.reset()
        assert killed_at(point, world.publish)
        pending = bool(open_ledger().pending())
        folder = (world.folder / "share/stays" / world.today).exists()
        states.setdefault((pending, folder), point)
    for point in states.values():
        world.reset()
        assert killed_at(point, world.publish)
        broken = world.folder.with_name("broken")
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(world.folder, broken, symlinks=True)
        for last in points_of(world.settle, world.folder):
            shutil.rmtree(world.folder)
            shutil.copytree(broken, world.folder, symlinks=True)
            assert killed_at(last, world.settle)
            readers_are_safe(world)
            outcome = world.settle()["outcome"]
            assert world.exists() is (outcome == "released")
            assert (world.entry() is not None) is (outcome == "released")
            assert world.nothing_is_left_over()
