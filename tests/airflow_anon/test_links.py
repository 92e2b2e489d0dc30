"""The buttons on the tasks, as Airflow's REST API gives them for runs that really were."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from airflow.sdk import DAG, BaseOperator

from airflow_anon import links
from airflow_anon.operators import PublishReleaseOperator, ValidateReleaseOperator

RUN_ID = "manual__2026-03-01T02:45:00+00:00"
JOB = {
    "name": "stays",
    "attributes": {"age": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 3}}},
    "privacy": [{"model": "k-anonymity", "k": 2}],
}


@pytest.fixture
def api(airflow_home, monkeypatch):
    """Give a client of the REST API, of a user who may see everything; the plugin offers the links."""
    from airflow import plugins_manager  # noqa: PLC0415 (needs the environment)
    from airflow.api_fastapi.app import create_app  # noqa: PLC0415
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser  # noqa: PLC0415
    from airflow.api_fastapi.core_api.security import get_user  # noqa: PLC0415
    from fastapi.testclient import TestClient  # noqa: PLC0415

    offered = [links.ReleaseAuditLink(), links.ReleaseCertificateLink()]
    monkeypatch.setattr(plugins_manager, "get_operator_extra_links", lambda: offered)
    app = create_app(apps="core")
    app.dependency_overrides[get_user] = lambda: SimpleAuthManagerUser(username="officer", role="admin")
    with TestClient(app) as client:
        yield client


def a_run(run_dag):
    """Run a validation and a publication of nothing, which fail, in a task group, beside a task of somebody else."""
    with DAG("night.of.the.stays", schedule=None) as dag:
        nothing = {"job": JOB, "release": "/nowhere/release", "manifest_sha256": "0" * 64}
        validate = ValidateReleaseOperator(task_id="stays.validate", source_rows=1, **nothing)
        publish = PublishReleaseOperator(task_id="stays.publish", validation_sha256="0" * 64, metrics={}, **nothing)
        other = BaseOperator(task_id="other")
        validate >> publish >> other
    return run_dag(dag, logical_date=None)


def links_of(api, run, task_id):
    answer = api.get(f"/api/v2/dags/{run.dag_id}/dagRuns/{run.run_id}/taskInstances/{task_id}/links")
    assert answer.status_code == 200, answer.text
    return answer.json()["extra_links"]


@pytest.mark.airflow
def test_tasks_lead_to_the_pages_of_their_run(api, run_dag):
    """Of a task that failed and of one that never ran as well; each part of the path is one part, whatever its id."""
    run = a_run(run_dag)
    assert {t.task_id: t.state for t in run.get_task_instances()}["stays.validate"] == "failed"
    assert links_of(api, run, "stays.validate").keys() == {"Release audit"}
    assert links_of(api, run, "other") == {}
    found = links_of(api, run, "stays.publish")
    assert found.keys() == {"Release audit", "Release certificate"}
    audit = found["Release audit"].split("/")
    assert audit[1:3] == ["deidentification", "dags"]
    assert [unquote(part) for part in audit[3:]] == [run.dag_id, "runs", run.run_id, "tasks", "stays.publish"]
    certificate = found["Release certificate"].split("/")
    assert [unquote(part) for part in certificate[3:]] == [run.dag_id, "runs", run.run_id, "certificate"]
    assert set("+:") & set(run.run_id)
    assert not set("+:") & set(found["Release audit"])


@pytest.mark.parametrize(("base_url", "path"), [("https://airflow.example/hospital/", "/hospital"), ("/", "")])
def test_the_path_of_the_base_url_stands_before(base_url, path, monkeypatch):
    from airflow.models.taskinstancekey import TaskInstanceKey  # noqa: PLC0415 (needs the environment)

    monkeypatch.setenv("AIRFLOW__API__BASE_URL", base_url)
    key = TaskInstanceKey("stays", "publish", RUN_ID, 1, -1)
    operator = BaseOperator(task_id="publish")
    assert links.ReleaseAuditLink().get_link(operator, ti_key=key).startswith(f"{path}/deidentification/dags/stays/")
