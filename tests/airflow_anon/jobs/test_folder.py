"""A broken job file: told in Airflow's import errors, failing as a DAG, and no harm to its neighbours."""

from __future__ import annotations

import shutil
from pathlib import Path

import pendulum
import pytest
import yaml
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.models.dag import DagModel
from airflow.models.errors import ParseImportError
from airflow.utils.session import create_session
from sqlalchemy import delete, select

from airflow_anon.jobs import check_job_files, deidentification_dags, job_files
from airflow_anon.jobs.broken_dag import BROKEN_TAG
from engine import InvalidJob
from tests.airflow_anon.nights.night import states
from tests.places import ROOT


def write(folder, file, **changes):
    document = {
        "name": Path(file).stem,
        "source": {"conn_id": "warehouse", "table": "person"},
        "attributes": {"age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}}},
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "output": {"path": "share"},
    }
    (folder / file).write_text(yaml.safe_dump({**document, **changes}))


@pytest.fixture
def folder(tmp_path):
    """Give a folder with a good job, and one with a misspelt key."""
    folder = tmp_path / "jobs"
    folder.mkdir()
    write(folder, "good.yaml")
    write(folder, "misspelt.yml", suppresion_limit=0.1)
    return folder


def broken(dags):
    return {name for name, dag in dags.items() if BROKEN_TAG in dag.tags}


def test_only_job_files_are_read(folder):
    (folder / "readme.md").write_text("no job")
    (folder / "hierarchies.yaml").mkdir()
    assert [path.name for path in job_files(folder)] == ["good.yaml", "misspelt.yml"]


def test_a_misspelt_key_leaves_the_other_job_alone(folder):
    dags = deidentification_dags(folder)
    assert set(dags) == {"good", "misspelt"}
    assert broken(dags) == {"misspelt"}
    assert "publish" in dags["good"].task_ids


def test_the_reason_names_the_file_the_key_and_the_remedy(folder):
    with pytest.raises(InvalidJob) as caught:
        check_job_files(folder)
    message = f"job file {folder}/misspelt.yml: suppresion_limit: unknown key 'suppresion_limit', did you mean"
    assert str(caught.value).startswith(f"{message} 'suppression_limit'")
    assert "good" not in str(caught.value)


def test_no_broken_file_no_error(folder):
    (folder / "misspelt.yml").unlink()
    check_job_files(folder)
    assert broken(deidentification_dags(folder)) == set()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("name: [", "is not YAML"),
        ("- a list", "must be a mapping"),
        ("", "must be a mapping"),
        (b"\xff\xfe", "is not UTF-8 text"),
        ("suppression_limit: !!int ''", "line 1: a value cannot be read as int"),
        ("start: !!timestamp x", "line 1: a value cannot be read as timestamp"),
        ("[" * 3000, "nested deeper than 50 levels"),
        ("a: &a [*a]", "unfolds to more than"),
        ("nine: !!bool perhaps", "cannot be read as bool"),
        ("9: sensitive", "the key '9' is read as a number; put it in quotes"),
        ("\0", "is not YAML"),
    ],
)
def test_a_file_that_is_no_job_at_all(folder, content, reason):
    (folder / "odd.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert broken(deidentification_dags(folder)) == {"odd", "misspelt"}
    with pytest.raises(InvalidJob, match=rf"odd\.yaml: .*{reason}"):
        check_job_files(folder)


@pytest.mark.parametrize("schedule", ["0 2 * FOO *", "nightly"])
def test_a_schedule_that_airflow_refuses(folder, schedule):
    """Airflow looks at it when the whole DAG file is read, and would take every DAG of the file from the schedule."""
    write(folder, "timed.yaml", dag={"schedule": schedule})
    assert broken(deidentification_dags(folder)) == {"timed", "misspelt"}
    with pytest.raises(InvalidJob, match=r"timed\.yaml: dag\.schedule: .*use a cron expression"):
        check_job_files(folder)


@pytest.mark.parametrize("copy", ["a_copy.yaml", "z_copy.yaml"])
def test_a_name_that_is_taken(folder, copy):
    """One of both runs; the other is told and fails under a name of its own."""
    write(folder, copy, name="good")
    dags = deidentification_dags(folder)
    assert broken(dags) == {"good-broken", "misspelt"}
    assert "publish" in dags["good"].task_ids
    with pytest.raises(InvalidJob, match=r"name: 'good' is the name of .*; rename one job"):
        check_job_files(folder)


def test_a_table_that_is_taken(folder):
    """It holds the releases of one job; another connection, or another table, is another place."""
    table = {"conn_id": "research", "table": "stays"}
    write(folder, "ward_a.yaml", output=table)
    write(folder, "ward_b.yaml", output={"path": "share", "conn_id": "research", "table": '"stays"'})
    write(folder, "ward_c.yaml", output={"conn_id": "other", "table": "stays"})
    write(folder, "ward_d.yaml", output={"conn_id": "research", "table": "visits"})
    dags = deidentification_dags(folder)
    assert broken(dags) == {"misspelt", "ward_b"}
    with pytest.raises(InvalidJob, match=r"ward_b.yaml: output.table: \"stays\" is the table of ward_a.yaml too"):
        check_job_files(folder)


def test_a_broken_file_never_takes_the_place_of_a_good_one(folder):
    write(folder, "a_first.yaml", name="good", suppresion_limit=1)
    assert broken(deidentification_dags(folder)) == {"good-broken", "misspelt"}


@pytest.mark.parametrize(
    ("section", "schedule"),
    [
        ({"schedule": None}, None),
        ({"schedule": "0 3 * * 0", "timezone": "Europe/Berlin", "start_date": "2026-02-03"}, "0 3 * * 0"),
        ({"owner": "clinic"}, "@daily"),
        ({"schedule": "nightly"}, "@daily"),
        ({"schedule": "0 3 * * 0", "timezone": "Nowhere"}, "@daily"),
    ],
)
def test_a_broken_job_runs_when_the_job_would(folder, section, schedule):
    """The file may be mended before a run begins that Airflow made meanwhile, and then it is a run of the job."""
    write(folder, "timed.yaml", suppresion_limit=1, dag=section)
    dag = deidentification_dags(folder)["timed"]
    assert BROKEN_TAG in dag.tags
    assert dag.schedule == schedule
    if "start_date" in section:
        assert dag.start_date == pendulum.datetime(2026, 2, 3, tz="Europe/Berlin")


@pytest.mark.parametrize(
    ("shared", "own", "schedule"),
    [
        ("dag: {schedule: 15 2 * * 0}", {"owner": "clinic"}, "15 2 * * 0"),
        ("dag: {schedule: 15 2 * * 0}", {"schedule": "0 3 * * *"}, "0 3 * * *"),
        ("dag: [", {"schedule": "0 3 * * *"}, "0 3 * * *"),
        ("dag: [", {"owner": "clinic"}, "@daily"),
    ],
)
def test_a_broken_job_runs_when_a_file_that_it_extends_says(folder, shared, own, schedule):
    (folder / "_hospital.yaml").write_text(shared, encoding="utf-8")
    write(folder, "timed.yaml", suppresion_limit=1, dag=own, extends="_hospital.yaml")
    assert deidentification_dags(folder)["timed"].schedule == schedule


def test_a_missing_folder_is_an_error_and_no_empty_schedule(tmp_path):
    with pytest.raises(InvalidJob, match=r"nowhere: cannot be read .*AIRFLOW_ANON_JOBS"):
        deidentification_dags(tmp_path / "nowhere")


def test_the_environment_names_another_folder(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW_ANON_JOBS", str(folder))
    assert set(deidentification_dags(tmp_path / "nowhere")) == {"good", "misspelt"}


@pytest.mark.airflow
def test_airflow_keeps_scheduling_the_good_jobs(airflow_home, folder, tmp_path):
    """As the DAG processor writes it: an error for the file without DAGs, none for the file with them."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager  # noqa: PLC0415 (needs the environment)

    dags = tmp_path / "dags"
    shutil.copytree(folder, dags / "jobs")
    for name in ("nightly_deidentification.py", "job_file_errors.py"):
        shutil.copy(ROOT / "dags" / name, dags)
    DagBundlesManager().sync_bundles_to_db()
    sync_bag_to_db(DagBag(str(dags), bundle_path=dags), "dags-folder", None)
    with create_session() as session:
        errors = {error.filename: error.stacktrace for error in session.scalars(select(ParseImportError))}
        models = {model.dag_id: model for model in session.scalars(select(DagModel))}
        session.execute(delete(ParseImportError))
    assert set(errors) == {"job_file_errors.py"}
    assert "misspelt.yml: suppresion_limit: unknown key" in errors["job_file_errors.py"]
    for name in ("good", "misspelt"):
        assert (models[name].has_import_errors, models[name].is_stale) == (False, False)
        assert models[name].next_dagrun is not None


@pytest.mark.airflow
def test_the_broken_job_fails_with_the_reason(folder, run_dag, capfd):
    run = run_dag(deidentification_dags(folder)["misspelt"])
    assert run.state == "failed"
    assert "did you mean 'suppression_limit'" in capfd.readouterr().out
    assert states(run) == {"job_file_is_broken": "failed", "remove_staging": "success"}
