"""Retention and recall in a real Airflow: what is left of three nights of which one is kept, and one taken back."""

from __future__ import annotations

import pytest

from airflow_anon.commands.main import main
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.cli import main as ledger_command
from tests.airflow_anon.nights.night import prepared, states

pytestmark = [pytest.mark.airflow, pytest.mark.slow]
STEM, NAME = "demographics_with_diagnosis", "demographics-with-diagnosis"


@pytest.fixture
def world(tmp_path, run_dag, monkeypatch, own_warehouse):
    return prepared(tmp_path, run_dag, monkeypatch, own_warehouse, f"sqlite:///{tmp_path}/out.db")


def test_nights_of_which_one_is_kept_and_recalled(world, capsys):
    path = world.job(
        STEM,
        output=lambda written: {**written, "keep": 1},
        dag=lambda settings: {**settings, "retries": 0},
    )
    for _ in range(2):
        assert set(states(world.run(path)).values()) == {"success"}
    ledger = open_ledger()
    assert [one.outcome for one in ledger.of_job(NAME)] == ["removed", "released", "released"]
    second, first = ledger.of_job(NAME, outcome="released")
    there = sorted(one.name for one in (world.share / NAME).iterdir())
    assert there == [second.release_id, "current"]
    assert ledger.withdrawal(NAME, first.release_id).outcome == "removed"

    assert main(["recall", f"{NAME}/{second.release_id}", "--reason", "a wrong join"]) == 0
    assert "is recalled" in capsys.readouterr().out
    assert list((world.share / NAME).iterdir()) == []
    assert ledger_command(["verify", "--files", "--share", str(world.share)]) == 0

    run = world.run(path)
    assert set(states(run).values()) == {"success"}
    third = ledger.of_job(NAME, outcome="released")[0]
    assert (world.share / NAME / "current").readlink().name == third.release_id
    assert ledger.document(third.sequence)["delivered"] is None
    assert ledger_command(["verify", "--files", "--share", str(world.share)]) == 0
