"""Wherever the publication of linked tables is killed: files, views and entry are of one release, after what follows.

As `test_every_point` has it for one table: for a folder with a file of each table, and a table of a SQL share with a
view of each. On SQLite in the gate; on PostgreSQL, which is in no folder, what is committed there is looked at as well.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from airflow.sdk import Asset, DagRunState
from sqlalchemy import create_engine, inspect, make_url, text

from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators.publish import PublishReleaseOperator
from airflow_anon.operators.record import RecordAttemptOperator
from airflow_anon.run.release_id import release_id
from engine import VerificationFailed, check_manifest, run
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.publication.killing import killed_at, points_of
from tests.airflow_anon.publication.publishing import METRICS, VALIDATION, run_context
from tests.engine.linked_jobs import COLUMNS, job, tables_of

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


class Sqlite:
    """A research share in a file of the world, which is put back with it."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder}/research.db"

    def committed(self) -> object:
        """Give nothing: the file is looked at already."""
        return None

    def keep(self) -> None:
        """Do nothing: the folder is kept."""

    def put_back(self) -> None:
        """Do nothing: the folder is put back."""


class Postgres:
    """A research share in a database of a server, of which a copy is kept."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._name = make_url(url).database
        self._watching: Any = None
        self._server = create_engine(make_url(url).set(database="postgres"), isolation_level="AUTOCOMMIT")

    def _copied(self, source: str, target: str) -> None:
        if self._watching is not None:
            self._watching.close()
            self._watching.engine.dispose()
            self._watching = None
        with self._server.connect() as connection:
            for name in (source, target):
                ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"
                connection.execute(text(ended), {"name": name})
            connection.execute(text(f"DROP DATABASE IF EXISTS {target} WITH (FORCE)"))
            connection.execute(text(f"CREATE DATABASE {target} TEMPLATE {source}"))
        self._server.dispose()

    def committed(self) -> object:
        """Give the releases and the relations that are committed."""
        if self._watching is None:
            self._watching = create_engine(self.url, isolation_level="AUTOCOMMIT").connect()
        asked = "SELECT (SELECT count(*) FROM patients_release), (SELECT max(oid::bigint) FROM pg_class)"
        return tuple(self._watching.execute(text(asked)).one())

    def keep(self) -> None:
        self._copied(self._name, f"{self._name}_before")

    def put_back(self) -> None:
        self._copied(f"{self._name}_before", self._name)

    def end(self) -> None:
        with self._server.connect() as connection:
            connection.execute(text(f"DROP DATABASE IF EXISTS {self._name}_before WITH (FORCE)"))
        self._server.dispose()


class World:
    """A share and a ledger with the linked release of yesterday, and today's staged one."""

    def __init__(self, folder: Path, database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.original = folder.with_name(folder.name + "-before")
        self.database = database
        monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(database.url))
        monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{folder}/ledger.sqlite")
        output = {"path": str(folder / "share"), "conn_id": "research_share", "table": "patients"}
        self.job = job(knows="any-row", output=output)
        for number, day in enumerate(("yesterday", "today"), start=1):
            run(self.job, tables_of(30 + 10 * number, seed=number), output=folder / day / "release")
            (folder / day / "validation.json").write_text(json.dumps(VALIDATION))
        self.rows = {
            day: [pq.read_metadata(folder / day / "release" / f"{name}.parquet").num_rows for name in COLUMNS]
            for day in ("yesterday", "today")
        }
        self._publish("yesterday", 1)
        shutil.copytree(folder, self.original, symlinks=True)
        database.keep()

    def reset(self) -> None:
        """Put everything back to the time before today's publication."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.original, self.folder, symlinks=True)
        self.database.put_back()

    def publish(self) -> None:
        """Publish today's release."""
        self._publish("today", 2)

    def _publish(self, day: str, number: int) -> None:
        staged = self.folder / day
        sha256 = {
            name: hashlib.sha256((staged / name).read_bytes()).hexdigest()
            for name in ("release/manifest.json", "validation.json")
        }
        operator = PublishReleaseOperator(
            task_id="publish",
            outlets=[Asset("linked", uri="x-release://linked")],
            job=self.job,
            release=str(staged / "release"),
            manifest_sha256=sha256["release/manifest.json"],
            validation_sha256=sha256["validation.json"],
            metrics={**METRICS, "release": str(staged / "release"), "manifest_sha256": sha256["release/manifest.json"]},
        )
        operator.execute(run_context(number))

    def settle(self) -> str:
        """Run the task that records the attempt after `publish` failed for good; give the outcome."""
        context = run_context(2)
        context["ti"] = SimpleNamespace(
            task_id="record_attempt",
            get_task_states=lambda **_: {context["dag_run"].run_id: {"publish": "failed"}},
            get_dagrun_state=lambda **_: DagRunState.RUNNING,
            xcom_pull=lambda **_: None,
            xcom_push=lambda **_: None,
        )
        operator = RecordAttemptOperator(
            task_id="record_attempt", job=self.job, tasks=["publish"], staging_base=str(self.folder / "staging")
        )
        return str(operator.execute(context)["outcome"])

    @property
    def today(self) -> str:
        return release_id(run_context(2))

    def exists(self) -> bool:
        """Whether today's release is whole in both places; fails if it is in one, or if views are of two releases."""
        folder = self.folder / "share/linked" / self.today
        try:
            check_manifest(folder)
            there = True
        except VerificationFailed:
            assert not folder.exists()
            there = False
        if there:
            files = {path.name for path in folder.glob("*.parquet")}
            assert files == {f"{name}.parquet" for name in COLUMNS}
        engine = create_engine(self.database.url)
        with engine.connect() as connection:
            booked = self.today in set(connection.scalars(text("SELECT release_id FROM patients_release")))
            seen = [connection.scalar(text(f"SELECT count(*) FROM patients_{name}")) for name in COLUMNS]
            whole = connection.scalar(text("SELECT count(*) FROM patients"))
        engine.dispose()
        assert seen == self.rows["today" if booked else "yesterday"]
        assert whole == sum(seen)
        assert there is booked
        return there

    def nothing_is_left_over(self) -> bool:
        """Whether no hidden folder, staging table or pending row is there."""
        assert open_ledger().pending() == []
        names = {path.name for path in (self.folder / "share/linked").iterdir()}
        assert names <= {release_id(run_context(1)), self.today, "current"}
        engine = create_engine(self.database.url)
        asked = inspect(engine)
        tables = sorted([*asked.get_table_names(), *asked.get_view_names()])
        engine.dispose()
        assert tables == sorted(["patients", "patients_release", *(f"patients_{name}" for name in COLUMNS)])
        return True

    def entry(self) -> Any:
        """Give the entry of today's release, after a check of the whole ledger."""
        ledger = open_ledger()
        assert ledger.check() == []
        return ledger.released("linked", self.today)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.thorough])])
def world(request, tmp_path, monkeypatch):
    folder = tmp_path / "world"
    folder.mkdir()
    if request.param == "sqlite":
        yield World(folder, Sqlite(folder), monkeypatch)
        return
    database = Postgres(request.getfixturevalue("postgres_database"))
    yield World(folder, database, monkeypatch)
    database.end()


def test_the_retry_completes_it_and_without_one_it_is_settled(world):
    points = points_of(world.publish, world.folder, elsewhere=world.database.committed)
    assert len(points) > 12
    assert world.exists()
    outcomes = set()
    for point in points:
        world.reset()
        assert killed_at(point, world.publish)
        assert world.entry() is None or world.exists()
        world.publish()
        assert world.exists()
        assert world.entry() is not None
        assert (world.folder / "share/linked/current").readlink().name == world.today
        assert world.nothing_is_left_over()
        world.reset()
        assert killed_at(point, world.publish)
        outcome = world.settle()
        outcomes.add(outcome)
        assert world.exists() is (outcome == "released")
        assert (world.entry() is not None) is (outcome == "released")
        assert world.nothing_is_left_over()
    assert outcomes == {"released", "failed"}
