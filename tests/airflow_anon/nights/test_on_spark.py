"""A night that Spark counts in a real Airflow: validated, published and in the ledger; cancelled, it leaves nothing."""

from __future__ import annotations

import collections
import json
import os
import signal

import pyarrow.parquet as pq
import pytest

from airflow_anon.ledger.address import open_ledger
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


def test_a_night_on_spark_is_released_as_any_other(spark, world, job):
    run = world.run(job)
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
