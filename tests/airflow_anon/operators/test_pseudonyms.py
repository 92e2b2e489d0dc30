"""A job with pseudonyms and shifted dates in a real Airflow: its keys are in connections, and in nothing it leaves."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import sqlite3
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from airflow_anon.jobs import deidentification_dag
from tests.airflow_anon.operators.sqlite_warehouse import connect, warehouse_of
from tests.reference.pseudonyms import key_id, pseudonym

KEY, OTHER = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0", "ab" * 32
KEY_ID = key_id(KEY.encode())
# numbers that no hash and no time holds by chance
VISITS = [
    (
        881000431000 + i // 3,
        770000431000 + i,
        "31" if i < 15 else "41",
        f"2024-02-{1 + i % 20:02}",
        f"2024-03-0{1 + i % 9}",
    )
    for i in range(30)
]


def write_job(folder, name, **changes):
    """Write a job file and its hierarchy; give its path. No two tests have a DAG of one name."""
    folder.mkdir(exist_ok=True)
    (folder / "age.csv").write_text("31;30s;*\n41;40s;*\n")
    lasting = {"key_conn_id": "deid_key", "key_id": KEY_ID}
    document = {
        "name": name,
        "source": {"conn_id": "warehouse", "table": "visit"},
        "subject": "mrn",
        "attributes": {
            "mrn": {"role": "identifying", "action": "pseudonymize", "accept": "linked-rows", **lasting},
            "visit": {"role": "identifying", "action": "pseudonymize"},
            "age": {"role": "quasi-identifying", "hierarchy": "age.csv"},
            "admitted": {"role": "insensitive", "action": "shift"},
            "discharged": {"role": "insensitive", "action": "shift"},
        },
        "shift": {"days": 200, "weeks": True, "ages_on": "2026-11-23", **lasting},
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "output": {"path": str(folder.parent / "share"), "conn_id": "research", "table": name.replace("-", "_")},
        **changes,
    }
    path = folder / "job.yaml"
    path.write_text(json.dumps(document))  # YAML holds JSON
    return path


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    """Make the table visit, and the Airflow connections of warehouse, share and key; give what a run needs."""
    create = "CREATE TABLE visit (mrn INTEGER, visit INTEGER, age TEXT, admitted DATE, discharged TEXT)"
    connect(tmp_path, monkeypatch, "research")
    monkeypatch.setenv("AIRFLOW_CONN_DEID_KEY", json.dumps({"conn_type": "generic", "password": KEY}))
    return warehouse_of(tmp_path, monkeypatch, create, VISITS)


def kept_by_airflow():
    """Return the content of metadata database, ledger and logs: all files of Airflow but its configuration."""
    home = Path(os.environ["AIRFLOW_HOME"])
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file() and path.suffix != ".cfg")


def day_of(value):
    return dt.date.fromisoformat(str(value)[:10])


@pytest.mark.airflow
def test_a_night_with_pseudonyms_and_shifted_dates(run_dag, warehouse, caplog, capfd):
    name = "visits-with-pseudonyms"
    path = write_job(warehouse / "jobs", name)
    dag_run = run_dag(deidentification_dag(path, schedule=None), logical_date=None)
    assert dag_run.state == "success"
    release = (warehouse / "share" / name / "current").resolve()
    content = {path.name: path.read_bytes() for path in release.iterdir()}
    released = pq.read_table(release / "data.parquet").to_pandas()
    secret = KEY.encode()
    own = {pseudonym(secret, name, "mrn", str(mrn)): mrn for mrn, *_ in VISITS}
    assert set(released["mrn"]) == set(own)
    lengths = [(day_of(b) - day_of(a)).days for a, b in released[["admitted", "discharged"]].itertuples(index=False)]
    assert sorted(lengths) == sorted((day_of(b) - day_of(a)).days for *_, a, b in VISITS)
    assert len(set(released["visit"])) == len(VISITS)
    report, validation = json.loads(content["report.json"]), json.loads(content["validation.json"])
    assert report["identifying"][0] == {
        "column": "mrn",
        "action": "pseudonymize",
        "family": "mrn",
        "key": "persistent",
        "key_id": KEY_ID,
    }
    assert report["shift"]["key_id"] == KEY_ID
    (judged,) = [one for one in validation["results"] if one["expectation_type"] == "expect_replaced_columns"]
    assert judged["success"] is True
    assert set(judged["kwargs"]) == {"quasi_identifiers", "pseudonymized", "shifted"}
    with sqlite3.connect(warehouse / "research.db") as share:
        assert {mrn for (mrn,) in share.execute("SELECT mrn FROM visits_with_pseudonyms")} == set(own)
    told = capfd.readouterr()
    kept = kept_by_airflow()
    assert KEY_ID.encode() in kept
    everything = b"".join(content.values()) + kept + (caplog.text + told.out + told.err).encode()
    for hidden in (KEY, *(str(number) for visit in VISITS for number in visit[:2])):
        assert hidden.encode() not in everything
    assert not [path for path in (warehouse / "staging").rglob("*") if path.is_file()]


@pytest.mark.airflow
@pytest.mark.parametrize(
    ("connection", "told"),
    [
        ({"conn_type": "generic", "password": OTHER}, f"shift.key_id: is {KEY_ID}, and that of the key is "),
        ({"conn_type": "generic", "password": "short"}, "must be at least 32"),
        (None, "the connection is not defined"),
    ],
)
def test_a_lost_or_changed_key_ends_the_run_before_anything_is_read(run_dag, warehouse, monkeypatch, connection, told):
    name = f"visits-without-key-{hashlib.sha256(told.encode()).hexdigest()[:6]}"
    path = write_job(warehouse / "jobs", name)
    if connection is None:
        monkeypatch.delenv("AIRFLOW_CONN_DEID_KEY")
    else:
        monkeypatch.setenv("AIRFLOW_CONN_DEID_KEY", json.dumps(connection))
    # what is not there cannot be read: the key is opened first
    (warehouse / "warehouse.db").unlink()
    dag_run = run_dag(deidentification_dag(path, schedule=None), logical_date=None)
    assert dag_run.state == "failed"
    refusal = dag_run.get_task_instance("extract").xcom_pull("extract", key="refusal")
    assert told in refusal["message"]
    assert OTHER not in refusal["message"]
    assert not (warehouse / "share").exists()
