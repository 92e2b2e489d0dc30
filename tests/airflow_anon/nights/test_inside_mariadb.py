"""Nights of the DAG in real Airflow, inside MariaDB: whole, and killed when their release waits."""

from __future__ import annotations

import signal

import pytest

from airflow_anon.jobs import deidentification_dag
from airflow_anon.ledger.address import open_ledger
from tests.airflow_anon.nights.night import states
from tests.airflow_anon.warehouse import on_mariadb
from tests.airflow_anon.warehouse.test_night_mariadb import ATTACKERS, LEFT, PUBLISHED, World

pytestmark = [pytest.mark.airflow, pytest.mark.thorough]


@pytest.fixture
def world(mariadb_server, monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW_ANON_STAGING", str(tmp_path / "staging"))
    with on_mariadb.databases(mariadb_server, monkeypatch) as (own, shared):
        found = World(mariadb_server, tmp_path, own, shared)
        found.job["dag"] = {"retries": 0}
        found.fill()
        yield found


def night(world, run_dag, alter=lambda _: None):
    dag = deidentification_dag(world.job, schedule=None)
    alter(dag)
    return run_dag(dag, logical_date=None)


def test_nights_are_published_one_after_the_other(world, run_dag):
    for _ in range(2):
        run = night(world, run_dag)
        reasons = [open_ledger().document(one.sequence)["reason"] for one in open_ledger().entries()]
        assert run.state == "success", reasons
        assert set(states(run).values()) == {"success"}
        assert world.tables() == [LEFT, PUBLISHED]
    assert [entry.outcome for entry in open_ledger().entries()] == ["released"] * 2


@pytest.mark.parametrize("counts", ["records", "persons"])
@pytest.mark.parametrize("task", ["deidentify", "validate", "publish"])
def test_a_night_that_is_killed_leaves_nothing_that_waits(world, run_dag, task, counts):
    if counts == "persons":
        world.of_persons(**ATTACKERS["some rows"])

    def alter(dag):
        def die(*_):
            raise SystemExit(-signal.SIGKILL)

        dag.get_task(task)._post_execute_hook = die

    run = night(world, run_dag, alter)
    assert run.state == "failed"
    assert states(run)["record_attempt"] == "success"
    (entry,) = open_ledger().entries()
    assert entry.outcome == ("released" if task == "publish" else "failed")
    assert world.tables() == [LEFT, PUBLISHED if task == "publish" else []]
