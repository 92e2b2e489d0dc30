"""A night that Spark counts in a real Airflow: validated, published and in the ledger; cancelled, it leaves nothing."""

from __future__ import annotations

import collections
import json
import os
import signal
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest

from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators import DeidentifyTableOperator
from airflow_anon.triggers.spark_count import SparkCountTrigger
from engine import check_manifest
from engine.backends.spark_backend import Spark
from tests.airflow_anon.nights.night import prepared, release_of, states
from tests.spark import active_jobs, endless, once_it_counts

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

STEM = "demographics_with_diagnosis"
QUASI = ("age", "gender", "race", "ethnicity", "zip")
K = 11


@pytest.fixture
def world(tmp_path, run_dag, monkeypatch, own_warehouse):
    return prepared(tmp_path, run_dag, monkeypatch, own_warehouse, f"sqlite:///{tmp_path}/out.db")


@pytest.fixture
def job(world):
    return world.job(STEM, backend="spark", frontier=None, dag=lambda settings: {**settings, "retries": 0})


@pytest.fixture
def deferred(world, spark_server, monkeypatch):
    """Give a job that a Spark Connect server counts, whose address only an Airflow connection has."""
    address = urlsplit(spark_server)
    login = {"host": address.hostname, "port": address.port, "login": "night"}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps({"conn_type": "spark_connect", **login}))
    settings = {"retries": 0, "deferrable": True}
    return world.job(
        STEM, backend="spark", spark={"conn_id": "spark"}, frontier=None, dag=lambda old: {**old, **settings}
    )


@pytest.mark.thorough
def test_a_night_on_spark_is_released_as_any_other(spark, world, job):
    is_released(world, job, world.run(job))


def test_a_night_whose_worker_is_free_while_spark_counts_is_released_as_any_other(world, deferred, monkeypatch):
    """The task that makes the release finds the combinations, and lets Spark count none."""
    waits, makes = [], []
    wait, make = SparkCountTrigger.run, DeidentifyTableOperator._released
    counts = "engine.backends.spark_backend._grouped"

    def waiting(trigger):
        waits.append(trigger.serialize())
        return wait(trigger)

    def making(*given):
        makes.append(given)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(counts, None)
            return make(*given)

    monkeypatch.setattr(SparkCountTrigger, "run", waiting)
    monkeypatch.setattr(DeidentifyTableOperator, "_released", making)
    is_released(world, deferred, world.run(deferred))
    assert len(waits) == len(makes) == 1
    (_, kept), *_ = waits
    assert (kept["conn_id"], kept["remote"]) == ("spark", None)
    assert "sc://" not in json.dumps(kept)


def is_released(world, job, run):
    assert set(states(run).values()) == {"success"}
    folder = release_of(world, job)
    check_manifest(folder)
    report = json.loads((folder / "report.json").read_text())
    assert report["backend"] == "spark"
    table = pq.ParquetFile(folder / "data.parquet").read()
    classes = collections.Counter(zip(*(table[name].to_pylist() for name in QUASI), strict=True))
    classes.pop(("*",) * len(QUASI), None)
    assert min(classes.values()) >= K
    assert json.loads((folder / "validation.json").read_text())["success"] is True
    (entry,) = [entry for entry in open_ledger().entries() if entry.run_id == run.run_id]
    assert entry.outcome == "released"
    assert not [name for name in world.left() if "staging" in name or ".spill" in name]


@pytest.mark.thorough
def test_a_task_that_is_cancelled_cancels_its_query_and_leaves_nothing(spark, world, job, monkeypatch):
    """Airflow ends a task by SIGTERM, and calls its `on_kill`."""
    endless(Spark, monkeypatch)
    waiting = once_it_counts(lambda: os.kill(os.getpid(), signal.SIGTERM))
    run = world.run(job)
    waiting.join()
    assert run.state == "failed"
    assert states(run)["deidentify"] == "failed"
    while active_jobs(spark.sparkContext):
        pass  # a task of Spark ends at its next record
    assert open_ledger().entries()[-1].outcome == "failed"
    assert world.left() == []
