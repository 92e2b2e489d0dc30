"""Nights of a series, one after the other, in a real Airflow: nothing grows, nothing stays, and no trace is below k."""

from __future__ import annotations

import datetime as dt
import gc
import json
import sqlite3

import psutil
import pyarrow.parquet as pq
import pytest

from airflow_anon.commands.main import main
from airflow_anon.jobs import deidentification_dag
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.cli import main as ledger_command
from tests.airflow_anon.nights.night import states
from tests.airflow_anon.operators.sqlite_warehouse import connect, warehouse_of
from tests.engine.series.nights import in_file, job, patients
from tests.reference import traces

pytestmark = [pytest.mark.airflow, pytest.mark.slow, pytest.mark.thorough]
NIGHTS, KEPT, MEMORY, K = 30, 4, 6, 3
FIRST = dt.datetime(2026, 3, 1, 2, 30, tzinfo=dt.timezone.utc)
COLUMNS = "mrn TEXT, who TEXT, age TEXT, ward TEXT, diagnosis TEXT"


def fill(folder, people):
    with sqlite3.connect(folder / "warehouse.db") as connection:
        connection.execute("DELETE FROM patients")
        rows = [(f"M{n}", str(n), str(age), str(ward), value) for n, (age, ward, value) in people.items()]
        connection.executemany("INSERT INTO patients VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()


def document_of(folder):
    document = job(folder, K, 2, memory=MEMORY, stability={"keep_levels": True}).document()
    document["source"] = {"conn_id": "warehouse", "table": "patients"}
    document["output"] = {"path": str(folder / "share"), "conn_id": "out", "table": "patients", "keep": KEPT}
    document["drift"] = {"facts": str(folder / "facts.json"), "distance": 0.5}
    document["dag"] = {"retries": 0}
    return document


def test_thirty_nights(tmp_path, run_dag, monkeypatch):
    warehouse_of(tmp_path, monkeypatch, f"CREATE TABLE patients ({COLUMNS})", [])
    connect(tmp_path, monkeypatch, "out")
    document, people, seen, measured = document_of(tmp_path), patients(120), [], []
    process, share, ledger = psutil.Process(), tmp_path / "share" / "patients", open_ledger()

    def night(day):
        dag = deidentification_dag(document, schedule=None)
        return set(states(run_dag(dag, logical_date=FIRST + dt.timedelta(days=day))).values())

    for day in range(NIGHTS):
        fill(tmp_path, people)
        assert night(day) == {"success"}
        newest = (share / "current").resolve()
        seen = [*seen[1 - MEMORY :], in_file(pq.ParquetFile(newest / "data.parquet").read())]
        assert traces.smallest(seen) >= K
        assert traces.fewest_values(seen) >= 2
        people.pop(day)
        people |= {1_000 + day: (30 + day % 3, day % 4, "abcd"[day % 4])}
        assert list((tmp_path / "staging").rglob("*.parquet")) == []
        assert len([one for one in share.iterdir() if one.name != "current"]) <= KEPT
        gc.collect()
        sizes = [(tmp_path / name).stat().st_size for name in ("vault.sqlite", "out.db")]
        measured.append((process.memory_info().rss, process.num_fds(), *sizes))
    half, last = measured[NIGHTS // 2], measured[-1]
    assert last[0] < half[0] + 128 * 2**20
    assert last[1] <= half[1] + 4
    assert all(now < 1.5 * before for now, before in zip(last[2:], half[2:], strict=True))
    assert len(ledger.of_job("patients", outcome="released")) == NIGHTS
    assert len(ledger.of_job("patients", outcome="removed")) == NIGHTS - KEPT

    current = (share / "current").readlink()
    assert "failed" in night(NIGHTS // 2)
    reason = open_ledger().document(ledger.of_job("patients")[0].sequence)["reason"]["message"]
    assert "of a date before release" in reason
    assert "recall it, and set series.begin to the name of a new series" in reason
    assert (share / "current").readlink() == current

    path = tmp_path / "patients.yaml"
    path.write_text(json.dumps(document))
    assert main(["vault", "verify", str(path)]) == 0
    assert ledger_command(["verify", "--files", "--share", str(tmp_path / "share")]) == 0
    assert night(NIGHTS) == {"success"}
