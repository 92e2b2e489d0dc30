"""`job` as a template field: rendered where it is text, taken as it is where it is a `Job`, and shown as a document."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from airflow.models.renderedtifields import RenderedTaskInstanceFields
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization

from airflow_anon.jobs import deidentification_dag
from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators import (
    DeidentifyTableOperator,
    PublishReleaseOperator,
    RecordAttemptOperator,
    RiskUtilityFrontierOperator,
    ValidateReleaseOperator,
)
from engine import load_job
from tests.places import ROOT

TABLE = pa.table({"age": [21, 24, 30, 39, 75], "diagnosis": ["A00", "B00", "C00", "D00", "E00"]})
QUERY = "SELECT age, diagnosis FROM person WHERE night = '{{ params.night }}'"
WITH_JOB = [
    DeidentifyTableOperator,
    ValidateReleaseOperator,
    PublishReleaseOperator,
    RecordAttemptOperator,
    RiskUtilityFrontierOperator,
]


def document(folder, name):
    return {
        "name": name,
        "source": {"conn_id": "warehouse", "query": QUERY},
        "attributes": {
            "age": {
                "role": "quasi-identifying",
                "hierarchy": {"builder": "interval", "lower": 0, "upper": 100, "widths": [10]},
            },
            "diagnosis": {"role": "insensitive"},
        },
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "suppression_limit": 0.25,
        "frontier": {"policies": 20, "safe_harbor": False},
        "output": {"path": str(folder / "share")},
    }


def as_path(folder):
    (folder / "templated_path.yaml").write_text(yaml.safe_dump(document(folder, "templated_path")))
    return "{{ params.jobs }}/{{ dag.dag_id }}.yaml", QUERY


def as_mapping(folder):
    return document(folder, "{{ dag.dag_id }}"), QUERY.replace("{{ params.night }}", "2026-03-01")


def as_job(folder):
    return load_job(document(folder, "job_object")), QUERY


DAGS = {"templated_path": as_path, "templated_mapping": as_mapping, "job_object": as_job}


def tasks(job, folder):
    """Make every task that takes a job, on a table that is staged already."""
    (folder / "staging").mkdir()
    pq.write_table(TABLE, folder / "staging" / "source.parquet")
    source = str(folder / "staging" / "source.parquet")
    frontier = RiskUtilityFrontierOperator(task_id="frontier", job=job, source=source)
    deidentify = DeidentifyTableOperator(task_id="deidentify", job=job, source=source, staging=str(folder / "staging"))
    made = {name: deidentify.output[name] for name in ("release", "manifest_sha256")}
    validate = ValidateReleaseOperator(task_id="validate", job=job, source=source, source_rows=5, **made)
    validated = validate.output["validation_sha256"]
    publish = PublishReleaseOperator(
        task_id="publish",
        job=job,
        validation_sha256=validated,
        metrics=deidentify.output["metrics"],
        extracted={"rows": 5},
        **made,
    )
    record = RecordAttemptOperator(task_id="record_attempt", job=job, tasks=["deidentify", "validate", "publish"])
    frontier >> deidentify
    publish >> record


@pytest.mark.airflow
@pytest.mark.parametrize("name", DAGS)
def test_a_run_by_a_job_that_is(name, run_dag, tmp_path):
    """Each task reads the same job; what the release and the ledger hold is the job as it was rendered."""
    job, query = DAGS[name](tmp_path)
    with DAG(name, schedule=None, params={"jobs": str(tmp_path), "night": "2026-03-01"}) as dag:
        tasks(job, tmp_path)
    run = run_dag(dag, logical_date=None)
    assert run.state == "success"
    released = yaml.safe_load((tmp_path / "share" / name / "current" / "job.yaml").read_text())
    assert (released["name"], released["source"]["query"]) == (name, query)
    assert (tmp_path / "share" / name / "frontier" / "current" / "frontier.json").exists()
    (entry,) = open_ledger().of_job(name)
    assert (entry.outcome, entry.job) == ("released", name)
    pulled = run.get_task_instance("deidentify").xcom_pull("deidentify")
    assert pulled["metrics"] == {key: pulled[key] for key in pulled["metrics"]}
    assert pulled["metrics"]["suppressed"] is pulled["suppressed"] is None
    assert pulled["metrics"]["released"] == pulled["released"] > 0
    published = run.get_task_instance("publish").xcom_pull("publish")
    assert published == {**published, **pulled["metrics"]}
    shown = RenderedTaskInstanceFields.get_templated_fields(run.get_task_instance("validate"))["job"]
    if name == "templated_path":
        assert shown == f"{tmp_path}/templated_path.yaml"
    else:
        assert (yaml.safe_load(shown) if isinstance(shown, str) else shown)["source"]["query"] == query


@pytest.mark.parametrize("kind", WITH_JOB)
def test_the_job_of_an_operator_is_a_template_field_that_is_shown_as_yaml(kind):
    assert kind.template_fields[0] == "job"
    assert kind.template_fields_renderers["job"] == "yaml"


SHIPPED = sorted((ROOT / "dags/jobs").glob("*.yaml"))


def shown_jobs(dag):
    serialized = DagSerialization.to_dict(dag)["dag"]["tasks"]
    return [task["__var"]["job"] for task in serialized if "job" in task["__var"].get("template_fields", ())]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_serialized_dag_shows_the_document_of_its_job(path):
    """The whole of it: no path of this machine, no address of an object."""
    shown = shown_jobs(deidentification_dag(path))
    assert len(shown) == 4
    for text in shown:
        assert yaml.safe_load(text) == load_job(path).document()
        assert str(ROOT) not in text


def test_a_job_that_is_too_long_to_be_shown_is_cut_and_runs_all_the_same():
    groups = [{"value": str(number)} for number in range(2_000)]
    values = [str(number) for number in range(2_000)]
    order = {"builder": "order", "values": values, "fanouts": [10]}
    age = {
        "role": "quasi-identifying",
        "hierarchy": {"builder": "policy", "hierarchy": order, "groups": groups},
        "minimum_level": 1,
        "maximum_level": 1,
    }
    job = {
        "name": "long",
        "source": {"conn_id": "warehouse", "table": "person"},
        "attributes": {"age": age},
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "search": {"algorithm": "policy"},
        "output": {"path": "share"},
    }
    dag = deidentification_dag(job)
    assert all(len(text) < 5_000 and "Truncated" in text for text in shown_jobs(dag))
    assert dag.get_task("deidentify").job.policy["age"] == groups
