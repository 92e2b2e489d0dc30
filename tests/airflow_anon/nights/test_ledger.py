"""The ledger after real runs of the nightly DAG: released, refused by a criterion, refused by validation, killed."""

from __future__ import annotations

import hashlib
import signal

import pytest
import yaml
from sqlalchemy import create_engine, text

from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.share_check import check_files
from engine import load_job
from tests.airflow_anon.nights.night import JOBS, connection_of, release_of, states
from tests.profiles import thorough

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

STEM = "hospital_stays"
NAME = "hospital-stays"


def recorded(run):
    """Give the entry that the last task of the run names, and its document, after a check of the whole ledger."""
    ledger = open_ledger()
    assert ledger.check() == []
    assert ledger.pending() == []
    told = run.get_task_instance("record_attempt").xcom_pull("record_attempt")
    entry = ledger.entry(told["ledger_sequence"])
    assert (entry.outcome, entry.entry_sha256) == (told["outcome"], told["ledger_sha256"])
    assert (entry.dag_id, entry.run_id, entry.attempt, entry.task_group) == (run.dag_id, run.run_id, 1, "")
    return entry, ledger.document(entry.sequence)


def test_a_release_and_the_next_one(world):
    """The entry says what the share holds; publishing again adds none."""
    path = world.job(STEM)
    first = world.run(path)
    assert first.state == "success"
    entry, document = recorded(first)
    assert (entry.sequence, entry.outcome, entry.job) == (1, "released", NAME)
    folder = release_of(world, path)
    assert entry.manifest_sha256 == hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
    assert document["publication"]["folder"] == str(folder)
    told = document["publication"]["table"]
    assert (told["conn_id"], told["table"]) == ("research_share", "hospital_stays")
    assert len(told["content"]["sha256"]) == 64
    assert {state.state for state in check_files(document)} == {"matches"}
    assert document["run"]["triggered_by"] == "dag_test"
    assert document["job"]["document"] == yaml.safe_load((folder / "job.yaml").read_text())
    extracted = first.get_task_instance("extract").xcom_pull("extract")
    assert document["source"]["rows"] == document["records"]["source"]
    assert "rows" not in extracted
    assert document["source"]["fingerprint"] == extracted["fingerprint"]
    # an auditor sees that both are under one key
    assert document["hierarchies"]["key_id"] == document["source"]["fingerprint_key_id"]
    assert document["validation"]["success"] is True
    assert len(document["validation"]["results"]) == document["validation"]["expectations"] > 8
    assert all(len(level["examples"]) == level["highest"] + 1 for level in document["levels"].values())
    published = first.get_task_instance("publish").xcom_pull("publish")
    assert (published["ledger_sequence"], published["ledger_sha256"]) == (1, entry.entry_sha256)
    second = world.run(path)
    entry, document = recorded(second)
    assert (entry.sequence, entry.outcome) == (2, "released")
    assert document["source"]["fingerprint"] == extracted["fingerprint"]
    assert len(open_ledger().entries()) == 2


def test_refused_by_a_criterion(world):
    """One entry, with what was required; no release, and nothing to compare it with."""
    path = world.impossible_stays()
    run = world.run(path)
    assert states(run)["deidentify"] == "failed"
    assert states(run)["released"] == "failed"
    entry, document = recorded(run)
    assert (entry.outcome, entry.release_id, entry.privacy_margin) == ("refused", None, None)
    assert document["reason"]["task"] == "deidentify"
    assert document["reason"]["error"] == "ReleaseRefused"
    assert document["reason"]["message"].startswith("NoSolution: no transformation of the")
    assert [(one["required"], one["observed"]) for one in document["privacy"]] == [(1_000_000, None)]
    assert document["source"]["rows"] is None
    assert document["solution"] is None
    assert world.left() == []


def test_refused_by_the_validation(world):
    """What would have been released is described, from what was staged; the reason names the expectation."""

    def miscounted(dag):
        dag.get_task("validate").source_rows = 7

    path = world.job(STEM)
    run = world.run(path, alter=miscounted)
    assert states(run)["validate"] == "failed"
    entry, document = recorded(run)
    assert (entry.outcome, document["reason"]["task"]) == ("refused", "validate")
    job = load_job(path)
    assert document["job"] == {"sha256": job.sha256, "document": job.document()}
    assert "expect_rows_accounted_for" in document["reason"]["message"]
    assert document["validation"]["success"] is False
    assert document["solution"]["optimal"] is True
    assert entry.information_loss == document["solution"]["information_loss"] > 0
    assert all(one["holds"] for one in document["privacy"])
    assert world.left() == []


def test_a_task_that_is_killed(world):
    """Nobody could say why: the attempt failed, and its entry says which task."""
    run = world.run(world.job(STEM), alter=lambda dag: dying(dag, "validate"))
    entry, document = recorded(run)
    assert entry.outcome == "failed"
    assert document["reason"]["task"] == "validate"
    assert "log" in document["reason"]["message"]
    assert world.left() == []


def dying(dag, task_id):
    """Let a task end without a word, as one does whose process is killed; the retry of it as well."""
    task = dag.get_task(task_id)

    def execute(context):
        raise SystemExit(-signal.SIGKILL)

    task.execute = execute
    task.retries = 0


def test_a_publication_that_fails_for_good_is_taken_back(world):
    """The folder was written, the table cannot be: after the run there is neither, and no other trace."""
    engine = create_engine(world.research)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE hospital_stays (mrn TEXT)"))
        connection.execute(text("INSERT INTO hospital_stays VALUES ('foreign')"))
    engine.dispose()
    run = world.run(world.job(STEM))
    assert states(run)["publish"] == "failed"
    entry, document = recorded(run)
    assert entry.outcome == "failed"
    assert document["reason"]["task"] == "publish"
    assert "is not a release" in document["reason"]["message"]
    assert document["publication"] is None
    assert world.left() == []


def test_the_ledger_in_a_connection(world, monkeypatch, postgres_database):
    """A PostgreSQL by connection id; in the thorough profile two jobs."""
    monkeypatch.setenv("AIRFLOW_CONN_THE_LEDGER", connection_of(postgres_database))
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", "the_ledger")
    stems = ["demographics_with_diagnosis", STEM][: 2 if thorough() else 1]
    for stem in stems:
        entry, _ = recorded(world.run(JOBS / f"{stem}.yaml"))
        assert entry.outcome == "released"
    assert [entry.sequence for entry in open_ledger().entries()] == [2, 1][-len(stems) :]
    assert not (world.folder / "release_ledger.sqlite").exists()
