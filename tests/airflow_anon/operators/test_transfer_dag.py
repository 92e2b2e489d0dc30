"""Extract and publish in a real DAG run, with XComs between them, and what importing them costs."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from airflow.models.asset import AssetEvent, AssetModel
from airflow.sdk import DAG, Asset, task
from airflow.utils.session import create_session
from sqlalchemy import select

from airflow_anon.operators.extract import ExtractTableOperator
from airflow_anon.operators.publish import PublishReleaseOperator
from engine import write_manifest
from tests.airflow_anon.publication.publishing import VALIDATION, report_of

JOB = {
    "name": "persons",
    "attributes": {"id": {"role": "identifying"}, "age": {"role": "quasi-identifying", "hierarchy": "age.csv"}},
    "privacy": [{"model": "k-anonymity", "k": 2}],
}
ROLES = {"id": "identifying", "age": "quasi-identifying"}


@task
def deidentify(path, staging):
    """Stand in for the engine: the staged table as a release."""
    release = Path(staging) / "release"
    release.mkdir()
    Path(path).rename(release / "data.parquet")
    (release / "report.json").write_text(json.dumps(report_of(pq.ParquetFile(release / "data.parquet").read())))
    validation = json.dumps(VALIDATION).encode()
    (Path(staging) / "validation.json").write_bytes(validation)
    return {
        "release": str(release),
        "manifest_sha256": write_manifest(release),
        "validation_sha256": hashlib.sha256(validation).hexdigest(),
        "rows": 2,
        "information_loss": 0.25,
    }


@pytest.mark.airflow
def test_dag_run(run_dag, monkeypatch, tmp_path):
    """Paths come through templates and XComs, the release arrives, the Asset event carries the metrics."""
    connection = sqlite3.connect(tmp_path / "warehouse.db")
    connection.execute("CREATE TABLE person (id INTEGER, age INTEGER)")
    connection.executemany("INSERT INTO person VALUES (?, ?)", [(7001, 30), (7002, 41)])
    connection.commit()
    connection.close()
    monkeypatch.setenv(
        "AIRFLOW_CONN_WAREHOUSE", json.dumps({"conn_type": "sqlite", "host": str(tmp_path / "warehouse.db")})
    )
    asset = Asset("transfer_persons", uri="x-release://transfer-persons")
    with DAG("transfer", schedule=None) as dag:
        extract = ExtractTableOperator(
            task_id="extract",
            conn_id="warehouse",
            table="person",
            attributes=ROLES,
            staging=f"{tmp_path}/{{{{ dag.dag_id }}}}",
        )
        made = deidentify(extract.output["path"], f"{tmp_path}/transfer")
        PublishReleaseOperator(
            task_id="publish",
            job={**JOB, "output": {"path": str(tmp_path / "share")}},
            release="{{ ti.xcom_pull('deidentify')['release'] }}",
            manifest_sha256="{{ ti.xcom_pull('deidentify')['manifest_sha256'] }}",
            validation_sha256="{{ ti.xcom_pull('deidentify')['validation_sha256'] }}",
            metrics=made,
            outlets=[asset],
        )
    run = run_dag(dag, logical_date=None)
    assert run.state == "success"
    extracted = run.get_task_instance("extract").xcom_pull("extract")
    assert (extracted["columns"], extracted["transport"]) == (["age"], "adbc")
    published = run.get_task_instance("publish").xcom_pull("publish")
    digest = hashlib.sha256(f"transfer/{run.run_id}".encode()).hexdigest()[:8]
    assert published["release_id"] == f"{run.run_after:%Y%m%dT%H%M%SZ}-{digest}"
    assert (published["rows"], published["information_loss"]) == (2, 0.25)
    current = tmp_path / "share/persons/current/data.parquet"
    assert pq.read_table(current).to_pydict() == {"age": [30, 41]}
    assert event_extras(asset) == [published]


def event_extras(asset):
    """Give the extras of the asset's events in Airflow's database."""
    with create_session() as session:
        query = select(AssetEvent.extra).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        return list(session.scalars(query.where(AssetModel.name == asset.name)))


def test_importing_the_operators_is_cheap():
    """A DAG file that names the operators loads nothing that only a running task needs."""
    code = (
        "import sys, airflow.sdk, airflow.providers.common.compat.sdk\n"
        "from airflow.sdk import BaseOperator, BaseHook\n"
        "before = set(sys.modules)\n"
        "import airflow_anon.operators.extract, airflow_anon.operators.publish\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new & {'pandas', 'pyarrow', 'numba', 'numpy', 'great_expectations', 'sqlalchemy',\n"
        "                     'adbc_driver_manager', 'psycopg', 'upath', 'fsspec', 'duckdb'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
