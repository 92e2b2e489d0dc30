"""A sample with coded, aggregated, grouped and drawn columns in a real Airflow: numbers stay numbers up to SQL."""

from __future__ import annotations

import json
import sqlite3

import pyarrow.parquet as pq
import pytest

from airflow_anon.jobs import deidentification_dag
from tests.airflow_anon.operators.sqlite_warehouse import warehouse_of

STAYS = [
    (f"021{i % 3}", 20 + i % 70, (i * 37) % 900 + 0.5, i % 17, (i * 53) % 997, "abc"[i * i % 3], 150 + i % 50)
    for i in range(300)
]
NAME = "stays-coded-and-sampled"


@pytest.mark.airflow
def test_numbers_stay_numbers_up_to_the_sql_share(run_dag, tmp_path, monkeypatch):
    create = (
        "CREATE TABLE stay (zip TEXT, age INTEGER, cost REAL, days INTEGER, income INTEGER, ward TEXT, height INTEGER)"
    )
    folder = warehouse_of(tmp_path, monkeypatch, create, STAYS)
    document = {
        "name": NAME,
        "source": {"conn_id": "warehouse", "table": "stay"},
        "unit": "record",
        "sample": {"fraction": 0.8},
        "attributes": {
            "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 4}},
            "age": {"role": "quasi-identifying", "microaggregation": "mean", "coding": {"top": 60}},
            "cost": {"role": "sensitive", "coding": {"top": 500, "round_to": 100}},
            "days": {"role": "quasi-identifying", "microaggregation": "median"},
            "income": {"role": "insensitive", "noise": {"percent": 40}, "accept": "unique"},
            "ward": {"role": "insensitive", "pram": {"pd": 0.5}},
            "height": {"role": "insensitive", "microaggregation": "mdav"},
        },
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "output": {"path": str(folder / "share"), "conn_id": "warehouse", "table": "released_stay"},
    }
    (folder / "job.yaml").write_text(json.dumps(document))  # YAML holds JSON
    dag_run = run_dag(deidentification_dag(folder / "job.yaml", schedule=None), logical_date=None)
    assert dag_run.state == "success"
    release = (folder / "share" / NAME / "current").resolve()
    report, validation = (json.loads((release / file).read_text()) for file in ("report.json", "validation.json"))
    assert report["sample"] == {"fraction": 0.8}
    assert 180 < report["rows"] < 290
    assert validation["success"] is True
    schema = pq.read_schema(release / "data.parquet")
    assert {field.name: str(field.type) for field in schema} == {
        "zip": "string",
        "age": "double",
        "cost": "double",
        "days": "int64",
        "income": "int64",
        "ward": "string",
        "height": "double",
    }
    table = pq.read_table(release / "data.parquet")
    drawn = {"expect_drawn_values", "expect_groups_of_alike_records"}
    assert drawn <= {one["expectation_type"] for one in validation["results"]}
    assert len(set(table["income"].to_pylist()) - {row[4] for row in STAYS}) > 10
    assert table.group_by(["zip", "height"]).aggregate([([], "count_all")])["count_all"].to_numpy().min() >= 5
    with sqlite3.connect(folder / "warehouse.db") as connection:
        rows = connection.execute("SELECT age, cost, days FROM released_stay").fetchall()
    assert len(rows) == report["rows"]
    assert {tuple(type(cell) for cell in row) for row in rows} == {(float, float, int)}
    assert max(cost for _, cost, _ in rows) == 500
    assert not [path for path in (folder / "staging").rglob("*") if path.is_file()]
