"""ValidateReleaseOperator in a real DAG run, and what importing it costs."""

from __future__ import annotations

import datetime as dt
import hashlib
import subprocess
import sys

import pytest
from airflow.sdk import DAG, task

from airflow_anon.operators.validate import ValidateReleaseOperator
from tests.airflow_anon.operators.staged import Staged, flip_byte
from tests.places import ROOT


@pytest.fixture
def staged(tmp_path):
    return Staged(tmp_path)


@pytest.mark.airflow
@pytest.mark.parametrize("tampered", [False, True])
def test_dag_run(run_dag, staged, tampered):
    """Paths and figures come through XComs and templates; a tampered release fails the run without a retry."""
    facts = {"release": str(staged.release), "manifest_sha256": staged.manifest_sha256}
    if tampered:
        flip_byte(staged)

    @task(multiple_outputs=True)
    def extract():
        return {"path": str(staged.source), "rows": 13}

    @task(multiple_outputs=True)
    def deidentify():
        return facts

    with DAG(f"validate_{tampered}", schedule=None) as dag:
        extracted, made = extract(), deidentify()
        validate = ValidateReleaseOperator(
            task_id="validate",
            job=staged.job.document(),
            release="{{ ti.xcom_pull('deidentify')['release'] }}",
            manifest_sha256=made["manifest_sha256"],
            source=extracted["path"],
            source_rows="{{ ti.xcom_pull('extract')['rows'] }}",
            retries=2,
            retry_delay=dt.timedelta(0),
        )
        [extracted, made] >> validate
    dag_run = run_dag(dag, logical_date=None)
    instance = dag_run.get_task_instance("validate")
    if tampered:
        assert (dag_run.state, instance.state, instance.try_number) == ("failed", "failed", 1)
        assert instance.xcom_pull("validate") is None
        return
    assert dag_run.state == "success"
    assert instance.xcom_pull("validate") == {
        "success": True,
        "expectations": 10,
        "validation_sha256": hashlib.sha256(staged.validation.read_bytes()).hexdigest(),
    }


@pytest.mark.thorough
def test_importing_the_operator_is_cheap():
    """A DAG file that names the operator loads nothing that only a running task needs."""
    code = (
        "import sys, airflow.sdk, airflow.providers.common.compat.sdk\n"
        "from airflow.sdk import BaseOperator\n"
        "before = set(sys.modules)\n"
        "import airflow_anon.operators.validate\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new & {'pandas', 'pyarrow', 'numba', 'numpy', 'great_expectations', 'upath', 'fsspec'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == ""
