"""Incremental nights in a real Airflow: rows are kept with the publication, and a night that is refused keeps none."""

from __future__ import annotations

import sqlite3

import pyarrow.parquet as pq
import pytest

from airflow_anon.jobs import deidentification_dag
from airflow_anon.transport.incremental_read import CHANGES_ALONE
from engine import CountedTable
from tests.airflow_anon.operators.sqlite_warehouse import warehouse_of

pytestmark = [pytest.mark.airflow, pytest.mark.slow, pytest.mark.thorough]
CREATE = "CREATE TABLE person (mrn INTEGER PRIMARY KEY, age INTEGER, diagnosis TEXT, version INTEGER)"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return warehouse_of(tmp_path, monkeypatch, CREATE, [(key, key % 4, "IE"[key % 2], key) for key in range(40)])


def job(folder, k):
    return {
        "name": "people",
        "source": {"conn_id": "warehouse", "table": "person"},
        "attributes": {
            "mrn": {"role": "identifying"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
            "diagnosis": {"role": "sensitive"},
            "version": {"role": "identifying"},
        },
        "incremental": {
            "key": "mrn",
            "changed": "version",
            "list_keys": True,
            "overlap": 5,
            "kept_in": str(folder / "private" / "kept"),
        },
        "privacy": [{"model": "k-anonymity", "k": k}],
        "output": {"path": str(folder / "share")},
        "dag": {"schedule": None, "retries": 0},
    }


def changed(folder, *statements):
    connection = sqlite3.connect(folder / "warehouse.db")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def released(folder):
    """Give the ages of the newest release, and what its job file says of the source."""
    current = folder / "share" / "people" / "current"
    lines = [line for line in (current / "job.yaml").read_text().splitlines() if line.startswith("# source: ")]
    return sorted(pq.read_table(current / "data.parquet")["age"].to_pylist()), lines


def kept(folder):
    return {path.name: path.read_bytes() for path in (folder / "private" / "kept").iterdir()}


def test_nights(folder, run_dag, monkeypatch):
    """A night that is refused keeps nothing, so the next one reads and counts what changed since the one before."""
    asked, tuples = [], CountedTable.tuples
    monkeypatch.setattr(CountedTable, "tuples", lambda *given: asked.append(True) or tuples(*given))
    assert run_dag(deidentification_dag(job(folder, 3))).state == "success"
    assert released(folder)[1] == ["# source: all rows were read: nothing is kept of an earlier night"]
    before = kept(folder)
    changed(folder, "UPDATE person SET age = 3, version = 50 WHERE mrn = 0", "DELETE FROM person WHERE mrn = 1")
    assert run_dag(deidentification_dag(job(folder, 1000))).state == "failed"
    assert kept(folder) == before
    changed(folder, "UPDATE person SET age = 3, version = 60 WHERE mrn = 4")
    changed(folder, "INSERT INTO person VALUES (99, 0, 'I', 61)")
    assert run_dag(deidentification_dag(job(folder, 3))).state == "success"
    ages, lines = released(folder)
    assert lines == [f"# source: {CHANGES_ALONE}"]
    assert ages == ["0"] * 9 + ["1"] * 9 + ["2"] * 10 + ["3"] * 12
    assert kept(folder).keys() != before.keys()
    assert sorted(name.rpartition(".")[2] for name in before) == ["counts", "hashes", "json", "parquet"]
    assert len(asked) == 3
    assert not any((folder / "staging").rglob("*.parquet"))
