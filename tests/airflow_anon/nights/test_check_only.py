"""A run of the nightly DAG that was triggered to check only: it says what a release would be, and leaves nothing."""

from __future__ import annotations

import pytest
from airflow.sdk.exceptions import ParamValidationError
from sqlalchemy import insert, select

from airflow_anon.jobs import deidentification_dag
from airflow_anon.ledger.address import open_ledger
from airflow_anon.plugin.schedules import failed_newest, run_only_checks
from airflow_anon.run.check_only import CHECK_ONLY, was_check
from tests.airflow_anon.nights.night import states

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

WORK = ("extract", "deidentify", "validate", "publish")


def checked(world, path, **conf):
    """Run the job's DAG with these parameters; give the run."""
    return world.run_dag(deidentification_dag(path, schedule=None), logical_date=None, run_conf=conf)


def entries():
    return list(open_ledger().entries()) if open_ledger().exists() else []


def test_a_check_publishes_nothing_and_says_what_a_release_would_be(world):
    path = world.job("hospital_stays")
    run = checked(world, path, check_only=True)
    assert run.state == "success"
    found = states(run)
    assert {found[task] for task in (*WORK, "record_attempt", "released")} == {"skipped"}
    assert (found["prepare_staging"], found["remove_staging"]) == ("success", "success")
    assert run_only_checks(run.dag_id, run.run_id)
    told = run.get_task_instance("prepare_staging").xcom_pull("prepare_staging", key="check")
    text = "\n".join(told)
    for word in ("suppressed", "loss", "nothing: this was a check"):
        assert word in text
    assert world.left() == []
    assert world.tables() == []
    assert entries() == []
    # the same job, told not to check, is released
    assert checked(world, path, check_only=False).state == "success"
    assert [entry.outcome for entry in entries()] == ["released"]


def test_all_that_is_wrong_is_told_in_one_round(world, capfd):
    def wrong(attributes):
        attributes["sex_at_birth"] = {"role": "insensitive"}
        attributes["gender"] = {**attributes["gender"], "hierarchy": "nowhere.csv"}
        del attributes["mrn"]
        return attributes

    path = world.job("hospital_stays", attributes=wrong, unit="record", subject=None)
    run = checked(world, path, check_only=True)
    assert run.state == "failed"
    assert states(run)["prepare_staging"] == "failed"
    assert states(run)["record_attempt"] == "skipped"
    logged = capfd.readouterr()
    for text in ("'mrn', which the job does not name", "'sex_at_birth'", "nowhere.csv: not found"):
        assert text in logged.out + logged.err
    assert world.left() == []
    assert world.tables() == []
    assert entries() == []


def test_a_check_that_fails_is_no_failure_of_the_job(world):
    """The overview says what became of releases: checks, however many, change nothing of it."""
    path = world.job("hospital_stays", privacy=[{"model": "k-anonymity", "k": 1_000_000}], suppression_limit=0)
    run = checked(world, path, check_only=True)
    assert run.state == "failed"
    assert failed_newest([run.dag_id, "another"]) == {}
    ended_after(run, "night", "failed", {CHECK_ONLY: False})
    ended_after(run, "check", "failed", {CHECK_ONLY: True})
    ended_after(run, "again", "success", {CHECK_ONLY: True})
    assert failed_newest([run.dag_id])[run.dag_id]["run_id"] == "night"
    ended_after(run, "released", "success", {})
    ended_after(run, "checked", "failed", {CHECK_ONLY: True})
    assert failed_newest([run.dag_id]) == {}


def ended_after(run, run_id, state, conf):
    """Let Airflow know a later run of the same DAG; its test client forgets each run when the next one begins."""
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 (after Airflow's settings)
    from airflow.utils.session import create_session  # noqa: PLC0415

    table = DagRun.__table__
    with create_session() as session:
        known = dict(session.execute(select(table).where(table.c.run_id == run.run_id)).mappings().one())
        known |= {"run_id": run_id, "state": state, "conf": conf}
        session.execute(insert(table).values({name: value for name, value in known.items() if name != "id"}))


def test_only_a_boolean_is_a_parameter(world):
    """A text such as "false" must neither check nor release by mistake."""
    with pytest.raises(ParamValidationError):
        checked(world, world.job("hospital_stays"), check_only="false")


@pytest.mark.parametrize(
    ("given", "states_of_tasks", "expected"),
    [
        (True, ["success", "skipped", "skipped"], True),
        (True, ["failed", "upstream_failed", "upstream_failed"], True),
        (True, ["success", "success", "skipped"], False),  # somebody marked a task by hand
        (True, ["success", "failed", None], False),
        (False, ["success", "skipped", "skipped"], False),
        ("true", ["success", "skipped", "skipped"], False),
        (None, ["failed", "upstream_failed", "upstream_failed"], False),
    ],
)
def test_only_a_run_that_did_nothing_else_was_a_check(given, states_of_tasks, expected):
    named = dict(zip(("prepare_staging", "extract", "publish"), states_of_tasks, strict=True))
    assert was_check(named, {"params": {} if given is None else {CHECK_ONLY: given}}) is expected


def test_parameters_of_an_installation_stand_beside_it(world):
    dag = deidentification_dag(world.job("hospital_stays"), params={"ward": "north"})
    assert set(dag.params) == {CHECK_ONLY, "ward"}
    assert dag.params[CHECK_ONLY] is False
