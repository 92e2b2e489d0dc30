"""The outcome of the work in real runs: skipped by what comes before, marked as successful by hand, failed, done."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import PythonOperator, ShortCircuitOperator
from airflow.sdk import DAG

from airflow_anon.jobs import deidentification_task_group
from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators import OutcomeOperator, PrepareStagingOperator, RecordAttemptOperator
from tests.airflow_anon.nights.night import JOBS, states

pytestmark = [pytest.mark.airflow]


def ended(run_dag, first, last="done"):
    """Run two tasks and their outcome; give the run."""
    with DAG("work", schedule=None) as dag:
        work = [PythonOperator(task_id="one", python_callable=first), task(last)]
        outcome = OutcomeOperator(task_id="outcome", tasks=[each.task_id for each in work])
        work[0] >> work[1] >> outcome.as_teardown(on_failure_fail_dagrun=True)
    return run_dag(dag)


def task(result):
    return PythonOperator(task_id="two", python_callable=lambda: result)


def test_work_that_is_done(run_dag):
    run = ended(run_dag, lambda: "done")
    assert run.state == "success"
    assert states(run)["outcome"] == "success"


def test_work_that_failed(run_dag):
    def broken():
        raise RuntimeError("broken")

    run = ended(run_dag, broken)
    assert run.state == "failed"
    assert states(run) == {"one": "failed", "two": "upstream_failed", "outcome": "failed"}


def test_a_task_without_a_result_did_not_do_its_work(run_dag, capfd):
    """Airflow has no result of a task that was marked as successful by hand."""
    run = ended(run_dag, lambda: "done", last=None)
    assert run.state == "failed"
    assert states(run) == {"one": "success", "two": "success", "outcome": "failed"}
    assert "task two has no result" in capfd.readouterr().out


@pytest.mark.parametrize("with_work_before", [True, False])
def test_skipped_work(run_dag, with_work_before):
    """What comes before the work may decide that there is none; where nothing does, somebody ended the run."""

    def skip():
        from airflow.sdk.exceptions import AirflowSkipException  # noqa: PLC0415 (needs the environment)

        raise AirflowSkipException

    with DAG("skipped_work", schedule=None) as dag:
        one = PythonOperator(task_id="one", python_callable=skip)
        outcome = OutcomeOperator(task_id="outcome", tasks=["one"])
        one >> outcome.as_teardown(on_failure_fail_dagrun=True)
        if with_work_before:
            EmptyOperator(task_id="before") >> one
    run = run_dag(dag)
    assert states(run)["outcome"] == ("skipped" if with_work_before else "failed")
    assert run.state == ("success" if with_work_before else "failed")


@pytest.mark.parametrize(
    ("first", "second", "is_skipped"),
    [
        ("success", "success", True),
        ("success", "skipped", True),
        ("failed", "success", True),
        ("success", "failed", False),
        ("failed", "skipped", False),
    ],
)
def test_a_run_that_was_ended_while_what_comes_before_still_ran(first, second, is_skipped):
    """Airflow then marks the task that runs as failed and skips the rest; a failure by itself skips nothing."""
    with DAG("waits", schedule=None):
        work = EmptyOperator(task_id="work")
        outcome = OutcomeOperator(task_id="outcome", tasks=["work"])
        EmptyOperator(task_id="first") >> EmptyOperator(task_id="second") >> work >> outcome.as_teardown()
    found = {"first": first, "second": second, "work": "skipped"}
    context = {
        "dag_run": SimpleNamespace(dag_id="waits", run_id="tonight"),
        "ti": SimpleNamespace(
            map_index=-1, get_task_states=lambda task_ids, **_: {"tonight": {one: found[one] for one in task_ids}}
        ),
    }
    with pytest.raises(AirflowSkipException if is_skipped else AirflowFailException):
        outcome.execute(context)


def test_an_outcome_of_no_work_is_refused():
    with pytest.raises(ValueError, match="tasks: is empty"):
        OutcomeOperator(task_id="outcome", tasks=[])


@pytest.mark.slow
def test_a_night_without_an_attempt(world, run_dag):
    """A task before the job says that there is nothing new: the run is green, and the ledger has no entry of it."""
    with DAG("only_if_new", schedule=None) as dag:
        news = ShortCircuitOperator(task_id="news", python_callable=lambda: False)
        news >> deidentification_task_group(JOBS / "hospital_stays.yaml", group_id="stays")
    run = run_dag(dag)
    assert run.state == "success"
    skipped = {name for name, state in states(run).items() if state == "skipped"}
    assert skipped == {name for name in dag.task_ids if name.startswith("stays.")}
    ledger = open_ledger()
    ledger.migrate()
    assert ledger.entries() == []
    assert world.left() == []


@pytest.mark.slow
def test_a_publication_that_was_only_marked(world):
    """The task that publishes is a success and yet published nothing: an entry that says so, and no green run."""
    run = world.run(JOBS / "hospital_stays.yaml", alter=marked)
    assert states(run)["publish"] == "success"
    assert states(run)["released"] == "failed"
    assert run.state == "failed"
    (entry,) = open_ledger().entries()
    assert entry.outcome == "failed"
    assert world.left() == []


def marked(dag):
    """Let the publication end well without having done anything."""
    dag.get_task("publish").execute = nothing


def nothing(context):
    """Return no result."""


def test_mapped_tasks_are_refused(run_dag, capfd, tmp_path, monkeypatch):
    """Instances would empty the staging folder of each other, and their states have other ids than their task."""
    monkeypatch.setenv("AIRFLOW_ANON_STAGING", str(tmp_path / "staging"))
    with DAG("mapped", schedule=None, default_args={"retries": 0}) as dag:
        one = PythonOperator.partial(task_id="one", python_callable=lambda number: number).expand(op_args=[[1], [2]])
        outcome = OutcomeOperator(task_id="outcome", tasks=["one"])
        one >> outcome.as_teardown(on_failure_fail_dagrun=True)
        PrepareStagingOperator.partial(task_id="prepare", job_name="stays").expand(staging_base=[None, None])
        record = RecordAttemptOperator(task_id="record", job=JOBS / "hospital_stays.yaml", tasks=["one"])
        one >> record
    run = run_dag(dag)
    assert run.state == "failed"
    assert {name: state for name, state in states(run).items() if name != "one"} == {
        "outcome": "failed",
        "prepare": "failed",
        "record": "failed",
    }
    told = capfd.readouterr().out
    assert "task one: is mapped (expand), and a run has one staging folder" in told
    assert "task prepare: is mapped" in told
    assert "deidentification_task_group, or take tables_dag" in told
    assert open_ledger().entries() == []
    assert not (tmp_path / "staging").exists()
