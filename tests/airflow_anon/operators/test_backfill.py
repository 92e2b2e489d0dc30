"""A run of a backfill has an old date, and reads the table of today: whoever looks at its log is told."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace

import pytest

from airflow_anon.operators.check import PrepareRunOperator
from airflow_anon.operators.staging import PrepareStagingOperator
from engine import load_job
from tests.airflow_anon.publication.publishing import job

NOW, OF_ITS_DAY = {"table": "stays"}, {"query": "SELECT * FROM stays WHERE day = '{{ ds }}'"}


@pytest.mark.parametrize(
    ("run_type", "source", "is_told"),
    [
        ("backfill", NOW, True),
        ("backfill", OF_ITS_DAY, False),
        ("scheduled", NOW, False),
        ("manual", NOW, False),
    ],
)
def test_a_backfill_of_the_table_of_today_is_told(monkeypatch, capfd, run_type, source, is_told):
    monkeypatch.setattr(PrepareStagingOperator, "execute", lambda *_: "/staging")
    task = PrepareRunOperator(
        task_id="prepare_staging",
        job=load_job({**job({"path": "/share"}), "source": {"conn_id": "warehouse", **source}}),
    )
    day = dt.datetime(2026, 3, 1, tzinfo=dt.timezone.utc)
    run = SimpleNamespace(run_type=run_type, logical_date=day, conf={})
    context = {"dag_run": run, "ds": "2026-03-01", "params": {}}
    assert task.execute(context) == "/staging"
    assert (
        "reads the table as it is now, and its release has the date 2026-03-01" in capfd.readouterr().out
    ) == is_told
