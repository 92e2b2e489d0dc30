"""The teardown of a run where its folder is not: on another machine, or without the volume."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk import DAG

from airflow_anon.operators import PrepareStagingOperator, RemoveStagingOperator
from airflow_anon.run.staging import prepare, run_folder

CONTEXT = {"dag_run": SimpleNamespace(dag_id="nightly", run_id="manual__1")}


def teardown(base):
    """Run the task; give what it warns of staging folders."""
    with DAG("nightly", schedule=None):
        prepare = PrepareStagingOperator(task_id="prepare", job_name="stays").as_setup()
        operator = RemoveStagingOperator(task_id="remove", job_name="stays", staging_base=str(base))
        prepare >> operator.as_teardown(setups=prepare)
    warnings = []
    operator.log.warning = lambda text, *given: warnings.append(text % given)
    operator.execute(CONTEXT)
    return [warning for warning in warnings if warning.startswith("Staging")]


def test_a_folder_is_removed_and_the_base_stays(tmp_path):
    folder = run_folder(tmp_path / "base", "nightly", "manual__1", "stays")
    prepare(folder, tmp_path / "base")
    (folder / "source.parquet").write_text("a patient")
    assert teardown(tmp_path / "base") == []
    assert list((tmp_path / "base").iterdir()) == []


def test_a_folder_that_is_not_there_is_told(tmp_path):
    (tmp_path / "base").mkdir(mode=0o700)
    (told,) = teardown(tmp_path / "base")
    assert "was not there" in told


def test_without_the_volume_the_task_fails(tmp_path):
    with pytest.raises(AirflowException, match=r"is not there, so patient data may remain.*mount the volume"):
        teardown(tmp_path / "elsewhere")
