"""Scheduler, triggerer and workers of a real Airflow, and a Spark Connect server: nobody but the triggerer waits."""

from __future__ import annotations

import json
import time
from urllib.parse import urlsplit

import pytest
import yaml

from airflow_anon.demo.environment import DemoFolders
from tests.airflow_anon.nights.night import JOBS
from tests.audit_world import AuditWorld, demo, settings_of
from tests.conftest import empty_database
from tests.ports import free_port
from tests.spark import active_jobs
from tests.statsd import StatsdServer

pytestmark = [pytest.mark.airflow, pytest.mark.slow, pytest.mark.thorough]

STEM = "demographics_with_diagnosis"
NIGHT, ENDLESS = "night", "endless-night"
DAGS = f"""
from pathlib import Path
from airflow_anon.jobs import deidentification_dag
night = deidentification_dag(Path(__file__).parent / "jobs/{NIGHT}.yaml")
"""
# in the process of its tasks alone
DAGS_WITHOUT_END = f"""
from pathlib import Path
import pytest
from airflow_anon.jobs import deidentification_dag
from engine.backends.spark_backend import Spark
from tests.spark import endless
endless(Spark, pytest.MonkeyPatch())
night = deidentification_dag(Path(__file__).parent / "jobs/{ENDLESS}.yaml")
"""


@pytest.fixture
def airflow(tmp_path, postgres_url, spark_server, compiled_kernels):
    """Give a running Airflow with both DAGs, which knows the server by a connection."""
    world = AuditWorld(DemoFolders(tmp_path), free_port(), free_port(), StatsdServer())
    jobs = tmp_path / "dags/jobs"
    jobs.mkdir(parents=True)
    (jobs / "hierarchies").symlink_to(JOBS / "hierarchies")
    document = yaml.safe_load((JOBS / f"{STEM}.yaml").read_text())
    document |= {"backend": "spark", "spark": {"conn_id": "spark"}}
    document.pop("frontier", None)
    document["dag"] |= {"schedule": None, "retries": 0, "deferrable": True}
    for name, text in [(NIGHT, DAGS), (ENDLESS, DAGS_WITHOUT_END)]:
        (jobs / f"{name}.yaml").write_text(
            yaml.safe_dump({**document, "name": name, "output": {"path": "../../share"}})
        )
        (tmp_path / f"dags/{name}.py").write_text(text)
    address = urlsplit(spark_server)
    connection = {"conn_type": "spark_connect", "host": address.hostname, "port": address.port}
    with empty_database(postgres_url) as metadata:
        settings = {**settings_of(world, metadata), "AIRFLOW_CONN_SPARK": json.dumps(connection)}
        try:
            demo("ui", tmp_path, world.port, settings)
            world.passwords = json.loads(world.folders.passwords.read_text())
            while {dag["dag_id"] for dag in world.call("/dags")["dags"]} < {NIGHT, ENDLESS}:
                time.sleep(1)
            for name in (NIGHT, ENDLESS):
                world.call(f"/dags/{name}", {"is_paused": False}, "PATCH")
            yield world
        finally:
            demo("stop", tmp_path, world.port, {})
            world.metrics.stop()


def test_the_triggerer_waits_for_spark_and_a_run_that_is_ended_ends_its_query(spark, airflow):
    airflow.run(NIGHT, "success")
    assert (airflow.release(NIGHT) / "data.parquet").is_file()

    run = airflow.trigger(ENDLESS)
    task = f"/dags/{ENDLESS}/dagRuns/{run}/taskInstances/deidentify"
    while not (jobs := set(active_jobs(spark.sparkContext))) or airflow.call(task)["state"] != "deferred":
        assert airflow.call(task)["state"] != "failed"
        time.sleep(1)
    assert airflow.call(task)["trigger"]["classpath"].endswith("SparkCountTrigger")
    airflow.call(f"/dags/{ENDLESS}/dagRuns/{run}", {"state": "failed"}, "PATCH")
    while jobs & set(active_jobs(spark.sparkContext)):
        time.sleep(0.2)
    airflow.wait(ENDLESS, run, "failed")
    assert [path for path in airflow.folders.staging.rglob("*") if path.is_file()] == []
