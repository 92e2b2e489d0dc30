"""A job that counts persons in a real Airflow: whose the records are is staged, and in nothing that is published."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from airflow_anon.jobs import deidentification_dag
from tests.airflow_anon.operators.sqlite_warehouse import warehouse_of
from tests.profiles import spread

# long numbers, which no hash and no time holds by chance; the first has all records of two classes
VISITS = [(880000431000 + i // 3, "31" if i < 9 else "41", "12", i % 2) for i in range(30)]
VISITS += [(880000431000, age, "21", 0) for age in ("31", "41") for _ in range(6)]


def write_job(folder, name, **changes):
    """Write a job file and its hierarchies; give its path. No two tests have a DAG of one name."""
    folder.mkdir()
    (folder / "age.csv").write_text("31;30s;*\n41;40s;*\n")
    (folder / "ward.csv").write_text("12;1;*\n21;2;*\n")
    quasi = {name: {"role": "quasi-identifying", "hierarchy": f"{name}.csv"} for name in ("age", "ward")}
    document = {
        "name": name,
        "source": {"conn_id": "warehouse", "table": "visit"},
        "subject": "mrn",
        "attributes": {
            "mrn": {"role": "identifying"},
            "name": {"role": "identifying"},
            **quasi,
            "outcome": {"role": "sensitive"},
        },
        "privacy": [
            {"model": "k-anonymity", "k": 3},
            {"model": "l-diversity", "variant": "distinct", "attribute": "outcome", "l": 2},
        ],
        "suppression_limit": 0.4,
        "output": {"path": str(folder.parent / "share")},
        **changes,
    }
    path = folder / "job.yaml"
    path.write_text(json.dumps(document))  # YAML holds JSON
    return path


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    """Make the table visit and the Airflow connection to it; give what a run needs."""
    create = "CREATE TABLE visit (mrn INTEGER, name TEXT, age TEXT, ward TEXT, outcome INTEGER)"
    rows = [(mrn, "Erika-4711", *others) for mrn, *others in VISITS]
    return warehouse_of(tmp_path, monkeypatch, create, rows)


@pytest.mark.airflow
@pytest.mark.parametrize("most", spread([2, None], 1))
def test_persons_are_counted_and_nobody_is_named(run_dag, warehouse, most):
    name = f"visits-of-persons-{most}"
    path = write_job(warehouse / "jobs", name, max_rows=most)
    dag_run = run_dag(deidentification_dag(path, schedule=None), logical_date=None)
    assert dag_run.state == "success"
    release = (warehouse / "share" / name / "current").resolve()
    content = {path.name: path.read_bytes() for path in release.iterdir()}
    report, validation = json.loads(content["report.json"]), json.loads(content["validation.json"])
    assert ("further_rows" in report) is (most is not None)
    if most is None:
        # twelve records are left out, all of them of one person
        assert report["persons"] is report["rows"] is report["solution"]["suppressed"] is None
    else:
        # which rows stay is random: where those that are left out are of few persons, no number of them is told
        assert report["persons"] in {10, None}
        assert report["rows"] in {20, None}
        further = {"left_out": 22, "share": 22 / 42} if report["rows"] else {"left_out": None, "share": None}
        assert report["further_rows"] == further
    assert report["classes"]["smallest"] >= 3
    assert report["privacy"][0]["description"] == "3-anonymity, counted in persons"
    assert validation["success"] is True
    counted = [one for one in validation["results"] if one["expectation_type"] == "expect_persons_in_each_class"]
    assert counted[0]["observed"] >= 3
    assert pq.ParquetFile(release / "data.parquet").schema_arrow.names == ["age", "ward", "outcome"]
    everything = b"".join(content.values())
    assert not [mrn for mrn, *_ in VISITS if str(mrn).encode() in everything]
    extracted = dag_run.get_task_instance("extract").xcom_pull("extract")
    assert extracted["columns"] == ["mrn", "age", "ward", "outcome"]
    assert not [path for path in (warehouse / "staging").rglob("*") if path.is_file()]


@pytest.mark.airflow
@pytest.mark.parametrize(("name", "knows"), spread([("all", "all-rows"), ("some", {"rows": 2})], 1))
def test_whole_persons_are_left_out(run_dag, warehouse, name, knows):
    """The person of 15 rows is alone whatever is generalized, and is left out with all of them."""
    name = f"visits-of-whole-persons-{name}"
    size = [{"model": "k-anonymity", "k": 3}]
    path = write_job(warehouse / "jobs", name, knows=knows, privacy=size, suppression_limit=0.7)
    dag_run = run_dag(deidentification_dag(path, schedule=None), logical_date=None)
    assert dag_run.state == "success"
    release = (warehouse / "share" / name / "current").resolve()
    report, validation = (json.loads((release / file).read_text()) for file in ("report.json", "validation.json"))
    assert report["knows"] == knows
    assert report["suppressed_class"]["form"] == "drop"
    assert report["privacy"][0]["observed"] >= 3
    assert validation["success"] is True
    assert pq.ParquetFile(release / "data.parquet").metadata.num_rows == report["released"] < len(VISITS)


@pytest.mark.airflow
def test_a_job_that_says_neither_is_refused(run_dag, warehouse):
    path = write_job(warehouse / "jobs", "visits-of-nobody", subject=None)
    dag_run = run_dag(deidentification_dag(path, schedule=None), logical_date=None)
    assert dag_run.state == "failed"
    refusal = dag_run.get_task_instance("deidentify").xcom_pull("deidentify", key="refusal")
    assert "'mrn'" in refusal["message"]
    assert "subject: COLUMN" in refusal["message"]
    assert not (warehouse / "share/visits-of-nobody/current").exists()
