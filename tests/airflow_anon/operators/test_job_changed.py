"""A job file that is edited while its run is under way: no task takes a release for one of the new job."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG

from airflow_anon.ledger.address import open_ledger
from tests.airflow_anon.operators.test_job_field import document, tasks

CHANGES = {
    "privacy": [{"model": "k-anonymity", "k": 500}],
    "name": "another",
    "suppression_limit": 0.5,
    "attributes": {**document(Path(), "x")["attributes"], "diagnosis": {"role": "sensitive"}},
}


@pytest.mark.airflow
@pytest.mark.parametrize(
    ("before", "key"),
    [("validate", "name"), ("validate", "suppression_limit"), *(("publish", key) for key in CHANGES)],
)
def test_an_edit_between_two_tasks_ends_the_run(before, key, run_dag, tmp_path):
    path = tmp_path / "night.yaml"
    path.write_text(yaml.safe_dump(document(tmp_path, "night")))

    def edit():
        path.write_text(yaml.safe_dump({**document(tmp_path, "night"), key: CHANGES[key]}))

    with DAG("edited", schedule=None, params={"night": "2026-03-01"}) as dag:
        tasks(str(path), tmp_path)
        earlier = {"validate": "deidentify", "publish": "validate"}[before]
        dag.get_task(earlier) >> PythonOperator(task_id="edit", python_callable=edit) >> dag.get_task(before)
    run = run_dag(dag, logical_date=None)
    assert run.get_task_instance(before).state == "failed"
    assert run.get_task_instance(earlier).state == "success"
    released = [one for one in tmp_path.glob("share/*/*") if one.name != "frontier"]
    assert released == []
    (entry,) = (one for name in ("night", "another") for one in open_ledger().of_job(name))
    assert entry.outcome != "released"
    assert "was changed while its run was under way" in open_ledger().document(entry.sequence)["reason"]["message"]
