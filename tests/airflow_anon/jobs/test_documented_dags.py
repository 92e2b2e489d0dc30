"""The DAG files of the documents do what they say, from another working directory than theirs."""

from __future__ import annotations

import re
import runpy
import shutil
import sqlite3

import pytest
import yaml

from airflow_anon import operators
from airflow_anon.ledger.address import open_ledger
from tests.airflow_anon.nights.night import JOBS, states
from tests.places import ROOT

pytestmark = [pytest.mark.airflow]

PAGE = (ROOT / "docs/operators.md").read_text(encoding="utf-8")
WARD = {
    "source": {"conn_id": "clinical_warehouse", "table": "stays"},
    "unit": "record",
    "attributes": {
        "mrn": {"role": "identifying"},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
        "diagnosis": {"role": "sensitive"},
    },
    "privacy": [{"model": "k-anonymity", "k": 4}],
}


def shown(word, page="operators"):
    """Give the code of a page that has a word."""
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    codes = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    (code,) = [code for code in codes if word in code]
    return code


@pytest.fixture
def dag_file(tmp_path, monkeypatch):
    """Give a function that makes a DAG file of a code of the page, with the shipped jobs beside it."""
    dags = tmp_path / "dags"
    shutil.copytree(JOBS, dags / "jobs")
    (dags / "jobs" / "clinic").mkdir()
    shutil.copy(dags / "jobs" / "hospital_stays.yaml", dags / "jobs" / "clinic")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("AIRFLOW_ANON_SHARE", str(tmp_path / "share"))
    monkeypatch.setenv("AIRFLOW_ANON_STAGING", str(tmp_path / "staging"))

    def made(word, page="operators"):
        path = dags / "own.py"
        path.write_text(shown(word, page), encoding="utf-8")
        return runpy.run_path(str(path))

    return made


def test_jobs_in_one_dag(dag_file):
    made = dag_file("research_delivery")
    assert made["dag"].dag_id == "hospital-stays"
    dag = made["stays"].dag
    assert {"stays.released", "people.released"} <= set(dag.task_ids)
    assert "stays.publish" in dag.get_task("people.prepare_staging").upstream_task_ids
    (outlet,) = dag.get_task("stays.publish").outlets
    assert outlet in made["report"].timetable.asset_condition.objects


def test_many_tables_in_one_dag(dag_file):
    dag = dag_file("clinic_tables")["dag"]
    assert "hospital-stays.extract" in dag.task_ids
    assert dag.get_task("hospital-stays.extract").pool == "warehouse"


def test_a_dag_with_alerts(dag_file):
    pytest.importorskip("airflow.providers.smtp")
    made = dag_file("SmtpNotifier", "alerts")
    assert made["dag"].on_success_callback == made["dag"].on_failure_callback == made["alert"]


def test_the_three_dag_files_of_an_installation(dag_file):
    assert {"hospital-stays", "demographics-with-diagnosis"} <= set(dag_file("globals()", "install"))
    dag_file("check_job_files", "install")
    frontier = dag_file("frontier_dag", "install")["dag"]
    assert any(task.endswith(".frontier") for task in frontier.task_ids)


@pytest.fixture
def wards(tmp_path, monkeypatch):
    """Make a warehouse with two wards, of which the job files have other names."""
    warehouse = sqlite3.connect(tmp_path / "clinic.db")
    warehouse.execute("CREATE TABLE stays (mrn TEXT, age INTEGER, diagnosis TEXT, ward TEXT)")
    rows = [(f"m{n}", 30 + n % 2, "I10", ward) for ward in ("surgery", "medicine") for n in range(8)]
    warehouse.executemany("INSERT INTO stays VALUES (?, ?, ?, ?)", rows)
    warehouse.commit()
    warehouse.close()
    monkeypatch.setenv("AIRFLOW_CONN_CLINICAL_WAREHOUSE", f"sqlite:///{tmp_path}/clinic.db")
    for ward in ("surgery", "medicine"):
        job = {**WARD, "name": f"{ward}-stays", "output": {"path": str(tmp_path / "share")}}
        (tmp_path / "dags" / "jobs" / f"{ward}.yaml").write_text(yaml.safe_dump(job))
    return tmp_path


def dag_of_wards(dag_file):
    return dag_file("PrepareStagingOperator")["prepare"].dag


def test_the_operators_one_by_one(dag_file, wards, run_dag):
    run = run_dag(dag_of_wards(dag_file), run_conf={"ward": "medicine"})
    assert set(states(run).values()) == {"success"}
    assert (wards / "share" / "medicine-stays" / "current" / "data.parquet").is_file()
    assert not (wards / "share" / "surgery-stays").exists()
    assert [(entry.job, entry.outcome) for entry in open_ledger().entries()] == [("medicine-stays", "released")]
    assert not list((wards / "staging").rglob("*.parquet"))


def test_the_operators_one_by_one_record_what_was_refused(dag_file, wards, run_dag):
    job = wards / "dags" / "jobs" / "surgery.yaml"
    job.write_text(job.read_text().replace("k: 4", "k: 9"))
    run = run_dag(dag_of_wards(dag_file))
    assert run.state == "failed"
    assert states(run)["remove_staging"] == "success"
    assert [(entry.job, entry.outcome) for entry in open_ledger().entries()] == [("surgery-stays", "refused")]


def test_all_arguments_of_the_table_but_those_that_it_excepts_are_templates():
    (table,) = re.findall(r"^\| argument \| what it is.*?\n\n", PAGE, flags=re.MULTILINE | re.DOTALL)
    named = {
        name for row in table.strip().splitlines()[2:] for name in re.findall(r"`([a-z_0-9]+)`", row.split("|")[1])
    }
    excepted = re.search(r"All of these are template fields, except (.*)\.\n", PAGE)
    assert excepted is not None
    kinds = [getattr(operators, name) for name in operators.__all__ if name.endswith("Operator")]
    templates = {field for kind in kinds for field in kind.template_fields}
    assert named - templates == set(re.findall(r"`(\w+)`", excepted[1]))
