"""A job file that breaks while its run publishes: the task of the broken job ends the attempt in its place."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.ledger import Ledger
from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators import BrokenJobOperator
from airflow_anon.share import sql_share
from tests.airflow_anon.publication.publishing import run_context
from tests.airflow_anon.publication.test_review import cut_off, world

__all__ = ["world"]

REASON = "job file stays.yaml: privcy: unknown key"


def ended(day=2, states=None, group="", **arguments):
    """Run the task in the run of a day; `states` are those of the tasks that Airflow has removed from it."""
    context = run_context(day)
    removed = {f"{group}record_attempt": "removed"} if states is None else states
    context["ti"] = SimpleNamespace(
        task_id="job_file_is_broken",
        get_task_states=lambda **_: {context["dag_run"].run_id: removed},
        xcom_push=lambda **_: None,
    )
    operator = BrokenJobOperator(
        task_id="job_file_is_broken", reason=REASON, **{"job_name": "stays", "group": group, **arguments}
    )
    with pytest.raises(AirflowFailException, match="privcy: unknown key"):
        operator.execute(context)


@pytest.mark.parametrize("world", ["both"], indirect=True)
@pytest.mark.parametrize(
    ("owner", "name", "outcome"),
    [
        (Ledger, "begin", "failed"),
        (sql_share, "load", "failed"),
        (Ledger, "complete", "released"),
    ],
)
def test_what_was_cut_off_is_settled_and_the_attempt_has_one_entry(world, monkeypatch, owner, name, outcome):
    cut_off(world, monkeypatch, owner, name)
    ended()
    ended()
    assert world.outcomes() == ["released", outcome]
    assert world.is_there() == (outcome == "released")
    if outcome == "failed":
        reason = open_ledger().document(2)["reason"]
        assert reason["message"] == REASON


@pytest.mark.parametrize("world", ["folder"], indirect=True)
def test_a_release_that_the_attempt_has_made_stays_its_entry(world):
    world.publish()
    ended()
    assert world.outcomes() == ["released", "released"]


@pytest.mark.parametrize("world", ["folder"], indirect=True)
@pytest.mark.parametrize("given", [{"states": {}}, {"job_name": None}])
def test_without_an_attempt_there_is_no_entry(world, given):
    """The run began with the broken file, or the group in its DAG is another job's."""
    ended(**given)
    assert world.outcomes() == ["released"]


@pytest.mark.parametrize("world", ["folder"], indirect=True)
def test_of_many_tables_the_entry_is_of_the_group(world):
    ended(group="stays.")
    assert open_ledger().entries()[0].task_group == "stays."
    assert world.outcomes() == ["released", "failed"]


@pytest.mark.parametrize("world", ["folder"], indirect=True)
def test_a_ledger_that_is_away_hides_no_reason(world, monkeypatch):
    def away(*_):
        raise AirflowException("the ledger cannot be reached")

    monkeypatch.setattr(Ledger, "append", away)
    ended()
