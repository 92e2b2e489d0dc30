"""What a person does to a run in Airflow: clears a part of it, ends it, deletes it. Nothing of it may stay behind."""

from __future__ import annotations

import re
import uuid
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest
from airflow.models.taskinstance import TaskInstance
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.comms import ErrorResponse
from airflow.utils.session import create_session
from sqlalchemy import insert, select

from airflow_anon.frontier_dag import frontier_dag
from airflow_anon.jobs import deidentification_dag, deidentification_dags
from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators import PrepareStagingOperator
from airflow_anon.run.release_id import run_digest
from airflow_anon.run.staging import prepare, run_folder
from tests.airflow_anon.nights.night import JOBS, states
from tests.places import ROOT

pytestmark = [pytest.mark.airflow]

JOB = JOBS / "hospital_stays.yaml"
NAME = "hospital-stays"
WORK = ["prepare_staging", "extract", "deidentify", "validate", "publish"]
TEARDOWNS = {"record_attempt", "released", "remove_staging"}


@pytest.mark.parametrize("task", WORK)
def test_whoever_clears_one_task_clears_what_ends_the_attempt(task):
    """Airflow adds the teardowns of a task's setup: the entry, the outcome, and the removal of staging."""
    cleared = deidentification_dag(JOB).partial_subset(task, include_upstream=False, include_downstream=False)
    assert set(cleared.task_ids) == {"prepare_staging", task, *TEARDOWNS}


@pytest.mark.parametrize("task", ["prepare_staging", "extract", "frontier"])
def test_whoever_clears_one_task_of_the_weekly_frontier_clears_its_outcome(task, world):
    """Else the outcome of the try before would stand for this one: a green run whose work failed."""
    path = world.job("hospital_stays", frontier={"policies": 60})
    for other in set(path.parent.glob("*.yaml")) - {path}:
        other.unlink()
    dag = frontier_dag(path.parent)
    group = dag.task_ids[0].partition(".")[0]
    cleared = dag.partial_subset(f"{group}.{task}", include_upstream=False, include_downstream=False)
    expected = {"prepare_staging", task, "delivered", "remove_staging"}
    assert set(cleared.task_ids) == {f"{group}.{step}" for step in expected}
    # A skipped setup must not skip the outcome: a run that was ended before it began would be green.
    assert dag.get_task(f"{group}.delivered").trigger_rule == "all_done"


def test_staging_is_prepared_although_airflow_does_not_tell_which_runs_have_ended(tmp_path, capfd):
    """What may be left of ended runs stays, is told of, and ends no run."""
    left = run_folder(tmp_path / "base", NAME, "the night before", NAME)
    prepare(left, tmp_path / "base")

    def unanswered(**_):
        detail = {"status_code": 503}
        raise AirflowRuntimeError(ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail=detail))

    context = {
        "dag_run": SimpleNamespace(dag_id=NAME, run_id="tonight"),
        "ti": SimpleNamespace(map_index=-1, get_task_states=unanswered),
    }
    task = PrepareStagingOperator(task_id="prepare_staging", job_name=NAME, staging_base=str(tmp_path / "base"))
    made = Path(task.execute(context))
    assert made == run_folder(tmp_path / "base", NAME, "tonight", NAME)
    assert made.is_dir()
    assert left.is_dir()
    assert "was not searched for leftovers" in capfd.readouterr().out


@pytest.fixture
def job(world):
    """Give the path of a job that is not tried again."""
    return world.job("hospital_stays", dag=lambda settings: {**settings, "retries": 0})


def fail(context):
    raise AirflowFailException("it failed")


def ended_by(task, world, job):
    """Run the job with a task that fails; give the run, and the document of its only entry."""
    run = world.run(job, alter=lambda dag: setattr(dag.get_task(task), "execute", fail))
    (entry,) = [entry for entry in open_ledger().entries() if entry.run_id == run.run_id]
    return run, open_ledger().document(entry.sequence)


def test_an_attempt_whose_setup_failed_is_recorded(world, job):
    run, document = ended_by("prepare_staging", world, job)
    assert run.state == "failed"
    assert states(run)["record_attempt"] == "success"
    assert states(run)["released"] == "failed"
    assert document["outcome"] == "failed"
    assert document["reason"]["task"] == "prepare_staging"
    assert world.left() == []


def documented(command):
    """Return a command of docs/operators.md by its first words, as the arguments of `airflow`."""
    line = re.search(rf"^airflow {command} .*?(?=  #)", (ROOT / "docs/operators.md").read_text(), re.MULTILINE)
    return line.group().split()[1:]


@pytest.mark.parametrize("command", ["dags clear", "tasks clear"])
def test_the_documented_commands_clear_one_whole_run(world, job, command):
    from airflow.cli.cli_parser import get_parser  # noqa: PLC0415 (needs the environment)

    def failing(day):
        dag = deidentification_dag(job, schedule=None)
        dag.get_task("validate").execute = fail
        return world.run_dag(dag, logical_date=datetime(2026, 3, day, tzinfo=timezone.utc))

    kept, cleared = failing(1), failing(2)
    names = {"DAG": NAME, "RUN": cleared.run_id, "DATE": cleared.logical_date.isoformat()}
    told = get_parser().parse_args([names.get(word, word) for word in documented(command)])
    told.func(told)
    assert set(states(cleared).values()) == {"None"}
    assert states(kept)["validate"] == "failed"


def test_nothing_is_staged_where_nothing_removes_it(world, job):
    """Whoever clears only the failed tasks of a run, clears neither the setup nor the teardown of its staging."""

    def removed(dag):
        setup = dag.get_task("prepare_staging")
        made = setup.execute

        def execute(context):
            folder = Path(made(context))
            folder.rmdir()
            return str(folder)

        setup.execute = execute

    run = world.run(job, alter=removed)
    assert run.state == "failed"
    assert states(run)["extract"] == "failed"
    (entry,) = open_ledger().entries()
    assert "clear the whole run" in open_ledger().document(entry.sequence)["reason"]["message"]
    assert world.left() == []


def test_a_process_that_outlives_its_run_brings_no_staging_back(world, job, monkeypatch):
    """The folder is removed while the database is read."""
    from airflow_anon.operators import extract  # noqa: PLC0415 (needs the environment)

    written = extract.write_parquet

    def too_late(batches, path):
        Path(path.path).parent.rmdir()
        return written(batches, path)

    monkeypatch.setattr(extract, "write_parquet", too_late)
    run = world.run(job)
    assert states(run)["extract"] == "failed"
    assert world.left() == []


def began_before(context, task_id):
    """Give the run a task of the job that its file was, as Airflow leaves it: removed."""
    run = context["dag_run"]
    table = TaskInstance.__table__
    with create_session() as session:
        own = select(table).where(table.c.run_id == run.run_id, table.c.task_id == context["ti"].task_id)
        row = dict(session.execute(own).mappings().one())
        session.execute(insert(table).values({**row, "id": uuid.uuid4(), "task_id": task_id, "state": "removed"}))


def test_a_job_file_that_breaks_while_its_run_is_under_way(world):
    """Airflow goes on with the tasks of the broken DAG: they end the attempt, and remove what the tasks have staged."""
    path = world.job("hospital_stays", suppression_limit=7)
    dag = deidentification_dags(path.parent)[NAME]
    broken = dag.get_task("job_file_is_broken")
    fails = broken.execute

    def execute(context):
        staged = run_folder(world.staging, NAME, context["dag_run"].run_id, NAME)
        prepare(staged, world.staging)
        (staged / "source.parquet").write_bytes(b"patients")
        began_before(context, "record_attempt")
        fails(context)

    broken.execute = execute
    run = world.run_dag(dag)
    assert run.state == "failed"
    assert states(run) == {
        "job_file_is_broken": "failed",
        "remove_staging": "success",
        "record_attempt": "removed",
    }
    assert world.left() == []
    (entry,) = open_ledger().entries()
    assert (entry.job, entry.run_id, entry.outcome, entry.attempt) == (NAME, run.run_id, "failed", 1)
    reason = open_ledger().document(entry.sequence)["reason"]
    assert (reason["task"], reason["error"]) == ("job_file_is_broken", "InvalidJob")
    assert "suppression_limit" in reason["message"]


@pytest.mark.parametrize("conf", [None, {"check_only": True}])
def test_a_run_that_attempted_nothing_has_no_entry(world, conf):
    """It began with a file that was broken, or was to check only."""
    path = world.job("hospital_stays", suppression_limit=7)
    dag = deidentification_dags(path.parent)[NAME]
    broken = dag.get_task("job_file_is_broken")
    fails = broken.execute

    def execute(context):
        if conf is not None:
            began_before(context, "record_attempt")
        fails(context)

    broken.execute = execute
    assert world.run_dag(dag, run_conf=conf).state == "failed"
    assert not open_ledger().exists()


@pytest.mark.slow
def test_what_ended_runs_left_is_removed_by_the_next_one(world, job, capfd):
    """Airflow may skip a teardown, and a process may outlive its run: in staging, and hidden in the share."""

    def night(day, **execute):
        """Run the job on a day of March; `dag.test()` would delete the first of two runs without a date."""
        dag = deidentification_dag(job, schedule=None)
        for task, function in execute.items():
            dag.get_task(task).execute = function
        return world.run_dag(dag, logical_date=datetime(2026, 3, day, tzinfo=timezone.utc))

    first = night(1, validate=fail)
    staged = run_folder(world.staging, NAME, first.run_id, NAME)
    prepare(staged, world.staging)
    (staged / "source.parquet").write_bytes(b"patients")
    unknown = run_folder(world.staging, NAME, "manual__of_another_airflow", NAME)
    prepare(unknown, world.staging)
    ids = [f"20260301T000000Z-{run_digest(NAME, first.run_id)}", "20260301T000000Z-00000000"]
    hidden = [world.share / NAME / f".{identity}.{'0' * 32}.partial" for identity in ids]
    for folder in hidden:
        folder.mkdir(parents=True)
    assert night(2).state == "success"
    assert not staged.parent.exists()
    assert unknown.is_dir()
    assert f"{unknown.parent}: belongs to no run that Airflow knows" in capfd.readouterr().out
    assert [folder.exists() for folder in hidden] == [False, True]
