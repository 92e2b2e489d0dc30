"""Many tables in one DAG: what job files share, limits of their tasks, and one table that fails beside others."""

from __future__ import annotations

import datetime as dt

import pytest
import yaml

from airflow_anon.jobs import job_files, tables_dag
from airflow_anon.ledger.address import open_ledger
from engine import InvalidJob
from tests.airflow_anon.nights.night import JOBS, states

QUERY = "SELECT gender_source_value AS sex, race_source_value AS race FROM person"
COMMON = {
    "source": {
        "conn_id": "clinical_warehouse",
        "query": "SELECT gender_source_value AS sex, race_source_value AS race FROM person",
    },
    "hierarchies": {"sex": str(JOBS / "hierarchies/gender.csv")},
    "attributes": {
        "sex": {"role": "quasi-identifying", "hierarchy": {"shared": "sex"}},
        "race": {"role": "insensitive"},
    },
    "privacy": [{"model": "k-anonymity", "k": 5}],
    "suppression_limit": 0.05,
    "output": {"path": "share"},
    "dag": {"owner": "clinic", "retries": 0},
}


def write(folder, stem, **document):
    (folder / f"{stem}.yaml").write_text(yaml.safe_dump(document))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    write(folder, "_common", **COMMON)
    return folder


def test_files_that_jobs_extend_are_no_jobs(folder):
    write(folder, "people", extends="_common.yaml", name="people")
    assert [path.name for path in job_files(folder)] == ["people.yaml"]


def test_limits_of_a_job_hold_for_its_tasks(folder):
    limits = {
        "pool": "warehouse",
        "queue": "clinical",
        "execution_timeout_seconds": 60,
        "max_active_tis": 3,
        "retries": 4,
    }
    write(folder, "limited", extends="_common.yaml", name="limited", dag=limits)
    write(folder, "plain", extends="_common.yaml", name="plain")
    dag = tables_dag("tables", folder, max_active_tasks=2, default_args={"weight_rule": "upstream"})
    assert dag.max_active_tasks == 2
    limited, plain = dag.get_task("limited.deidentify"), dag.get_task("plain.deidentify")
    assert (limited.pool, limited.queue, limited.max_active_tis_per_dag) == ("warehouse", "clinical", 3)
    assert (limited.execution_timeout, limited.retries, limited.owner) == (dt.timedelta(minutes=1), 4, "clinic")
    assert (plain.pool, plain.execution_timeout, plain.retries) == ("default_pool", None, 0)
    assert limited.weight_rule == plain.weight_rule
    assert tables_dag("tables", folder, default_args={"pool": "other"}).get_task("limited.extract").pool == "other"
    assert not set(dag.get_task("limited.publish").get_flat_relative_ids(upstream=True)) & set(
        dag.get_task("plain.publish").get_flat_relative_ids(upstream=True)
    )


def test_a_run_timeout_is_refused_and_a_folder_must_be_there(folder):
    with pytest.raises(ValueError, match="dagrun_timeout: must not be set"):
        tables_dag("tables", folder, dagrun_timeout=dt.timedelta(hours=1))
    with pytest.raises(InvalidJob, match="cannot be read"):
        tables_dag("tables", folder / "none")
    assert tables_dag("tables", folder).task_ids == ["no_job_file"]


def test_two_jobs_with_one_table(folder):
    output = {"path": "share", "conn_id": "research", "table": "people"}
    for name in ("one", "two"):
        write(folder, name, extends="_common.yaml", name=name, output=output)
    write(folder, "three", extends="_common.yaml", name="three", output={**output, "table": "others"})
    dag = tables_dag("tables", folder)
    assert dag.has_task("one.publish")
    assert dag.has_task("three.publish")
    assert (
        "two.yaml: output.table: people is the table of job one too, and a table holds the releases of one job"
        in dag.get_task("two_yaml_is_broken").reason
    )


def test_a_broken_file_tells_of_its_own_group_alone(folder):
    """Where it broke during a run, its task ends the attempt of the group that there was: not that of another job."""
    write(folder, "a_twice", extends="_common.yaml", name="people", suppresion_limit=0.1)
    write(folder, "b_people", extends="_common.yaml", name="people")
    write(folder, "c.broken", extends="_common.yaml", name="sick.people", suppresion_limit=0.1)
    dag = tables_dag("tables", folder)
    twice, broken = dag.get_task("a_twice_yaml_is_broken"), dag.get_task("c_broken_yaml_is_broken")
    assert twice.job_name is None
    assert (broken.job_name, broken.group) == ("sick.people", "sick_people.")


@pytest.mark.airflow
def test_a_table_that_fails_stops_no_other(world, folder):
    write(folder, "a_refused", extends="_common.yaml", name="refused", privacy=[{"model": "k-anonymity", "k": 10**9}])
    write(folder, "b_broken", extends="_common.yaml", name="broken", suppresion_limit=0.1)
    missing = {"conn_id": "clinical_warehouse", "table": "no_such_table", "query": None}
    write(folder, "c_missing", extends="_common.yaml", name="missing", source=missing)
    write(folder, "d_people", extends="_common.yaml", name="people")
    write(folder, "e_others", extends="_common.yaml", name="others")
    run = world.run_dag(tables_dag("tables", folder, schedule=None), logical_date=None)
    found = states(run)
    assert run.state == "failed"
    assert found["b_broken_yaml_is_broken"] == "failed"
    assert (found["refused.deidentify"], found["missing.extract"]) == ("failed", "failed")
    assert {found[f"{name}.{task}"] for name in ("people", "others") for task in ("publish", "released")} == {"success"}
    outcomes = {entry.job: entry.outcome for entry in open_ledger().entries()}
    assert outcomes == {"refused": "refused", "missing": "failed", "people": "released", "others": "released"}
    assert sorted(path.name for path in world.share.iterdir()) == ["others", "people"]
    assert not any(world.staging.rglob("*.parquet"))
