"""A run that was cut off between its entry and the switch of `current`, with nobody to settle it before the next night.

That night would tell readers' old release as a change that somebody made.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk import DagRunState
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.comms import ErrorResponse

from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators.record import RecordAttemptOperator
from airflow_anon.run.release_id import release_id
from airflow_anon.share.folder_share import FolderShare
from tests.airflow_anon.publication.publishing import Staged, job, run_context
from tests.airflow_anon.publication.test_review import cut_off, world

__all__ = ["world"]

FIRST = release_id(run_context(1))


def night(world, told, *, publishes=True):
    """Run the next night, which Airflow tells that the task `publish` of yesterday has a state, or an error."""

    def states(*, dag_id, task_ids, run_ids):
        if isinstance(told, Exception):
            raise told
        assert dag_id == "nightly"
        own = run_context(3)["dag_run"].run_id
        return {run: dict.fromkeys(task_ids, "failed" if run == own else told) for run in run_ids}

    context = run_context(3)
    context["ti"] = SimpleNamespace(
        task_id="publish" if publishes else "record_attempt",
        get_task_states=states,
        get_dagrun_state=lambda **_: DagRunState("failed"),
        xcom_pull=lambda **_: None,
        xcom_push=lambda **_: None,
    )
    if publishes:
        Staged.there(world.folder / "3").publish(world.output, context)
    else:
        RecordAttemptOperator(
            task_id="record_attempt",
            job=job(world.output),
            tasks=["publish"],
            staging_base=str(world.folder / "staging"),
        ).execute(context)
    newest = open_ledger().entries(1)[0]
    return open_ledger().document(newest.sequence)["delivered"]


def named(world):
    return (world.share / "current").readlink().name


@pytest.mark.parametrize("world", ["folder", "both"], indirect=True)
@pytest.mark.parametrize("publishes", [True, False], ids=["published", "failed"])
def test_the_next_night_leads_readers_to_it_and_tells_of_no_change(world, monkeypatch, publishes):
    """Whether or not that night makes a release of its own."""
    cut_off(world, monkeypatch, FolderShare, "make_current")
    assert named(world) == FIRST
    delivered = night(world, "failed", publishes=publishes)
    assert (delivered["release_id"], delivered["link"]) == (world.today, "matches")
    assert named(world) == (release_id(run_context(3)) if publishes else world.today)
    assert world.outcomes() == ["released", "released", "released" if publishes else "failed"]


def test_a_link_that_was_removed_is_told_as_a_change(world, monkeypatch):
    cut_off(world, monkeypatch, FolderShare, "make_current")
    (world.share / "current").unlink()
    assert night(world, "failed", publishes=False)["link"] == "missing"


def test_a_link_that_was_turned_back_is_told_as_a_change(world):
    """Airflow says that its run led readers to it."""
    world.publish()
    (world.share / "current").unlink()
    (world.share / "current").symlink_to(FIRST)
    assert night(world, "success", publishes=False)["link"] == "changed"
    assert named(world) == FIRST


def test_a_link_that_leads_elsewhere_is_told_as_a_change(world, monkeypatch):
    cut_off(world, monkeypatch, FolderShare, "make_current")
    (world.share / "current").unlink()
    (world.share / "current").symlink_to("20260101T023000Z-00000000")
    assert night(world, "failed", publishes=False)["link"] == "changed"


def test_where_airflow_does_not_answer_the_night_goes_on(world, monkeypatch, capfd):
    cut_off(world, monkeypatch, FolderShare, "make_current")
    problem = AirflowRuntimeError(ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail={"status_code": 503}))
    assert night(world, problem)["link"] == "changed"
    assert "is not known, or not mended" in capfd.readouterr().out
    assert named(world) == release_id(run_context(3))


def test_a_share_that_is_not_mounted_is_asked_of_nobody(world, monkeypatch):
    """The first release has none before it: a folder that is not there is not taken for a link that was not made."""
    (world.folder / "share").rename(world.folder / "away")
    with pytest.raises(AirflowException, match="mount the share"):
        night(world, AssertionError("Airflow was asked"))
    (world.folder / "away").rename(world.folder / "share")
    cut_off(world, monkeypatch, FolderShare, "make_current")
    (world.folder / "share").rename(world.folder / "away")
    with pytest.raises(AirflowException, match="the share must be mounted"):
        world.record()
    (world.folder / "away").rename(world.folder / "share")
    assert world.record() == "released"
