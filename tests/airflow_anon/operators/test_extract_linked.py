"""Several tables in one file: by one statement, on SQLite and PostgreSQL, by both transports."""

from __future__ import annotations

import json
import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowFailException
from sqlalchemy import create_engine, text

from airflow_anon.operators.extract_linked import ExtractLinkedTablesOperator
from tests.airflow_anon.nights.night import connection_of

BOTH = pytest.mark.parametrize("transport", ["adbc", "sqlalchemy"])
ROLES = {
    "person_id": "identifying",
    "name": "identifying",
    "sex": "quasi-identifying",
    "visit_id": "identifying",
    "day": "quasi-identifying",
    "cost": "insensitive",
}
TABLES = {
    "person": {"table": "person", "columns": ["person_id", "name", "sex"]},
    "visit": {"query": "SELECT person_id, visit_id, day FROM visit", "columns": ["person_id", "visit_id", "day"]},
    "bill": {"table": "bill", "columns": ["person_id", "cost"]},
}
STATEMENTS = [
    "CREATE TABLE person (person_id INTEGER, name TEXT, sex TEXT)",
    "INSERT INTO person VALUES (7001, 'Ada', 'f'), (7002, 'Bob', NULL)",
    "CREATE TABLE visit (person_id INTEGER, visit_id INTEGER, day DATE)",
    "INSERT INTO visit VALUES (7001, 1, '2026-01-31'), (7001, 2, '2026-02-01'), (7002, 3, NULL)",
    "CREATE TABLE bill (person_id INTEGER, cost DOUBLE PRECISION)",
    "INSERT INTO bill VALUES (7002, 12.5)",
]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def warehouse(request, tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/w.db"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_database")
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in STATEMENTS:
            connection.execute(text(statement))
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", connection_of(url))
    yield engine
    engine.dispose()


def extract(tmp_path, transport="auto", **arguments):
    given = {"tables": TABLES, "attributes": ROLES, "subject": "person_id", "pseudonymized": ["visit_id"], **arguments}
    operator = ExtractLinkedTablesOperator(
        task_id="extract", conn_id="warehouse", staging=str(tmp_path / "staging"), transport=transport, **given
    )
    result = operator.execute({})
    return result, pq.read_table(result["path"])


@BOTH
def test_the_records_of_all_tables_are_in_one_file(warehouse, tmp_path, transport):
    result, table = extract(tmp_path, transport)
    assert table.column_names == result["columns"] == ["table", "person_id", "sex", "visit_id", "day", "cost"]
    assert [table.schema.field(name).type for name in ("table", "person_id", "visit_id", "cost")] == [
        pa.string(),
        pa.int64(),
        pa.int64(),
        pa.float64(),
    ]
    rows = sorted(table.to_pylist(), key=lambda row: (row["table"], row["person_id"], row["visit_id"] or 0))
    days = [str(row["day"]) if row["day"] is not None else None for row in rows]
    assert [(row["table"], row["person_id"], row["sex"], row["visit_id"], row["cost"]) for row in rows] == [
        ("bill", 7002, None, None, 12.5),
        ("person", 7001, "f", None, None),
        ("person", 7002, None, None, None),
        ("visit", 7001, None, 1, None),
        ("visit", 7001, None, 2, None),
        ("visit", 7002, None, 3, None),
    ]
    assert days == [None, None, None, "2026-01-31", "2026-02-01", None]
    told = result["read"]["tables"]
    assert set(told) == {"person", "visit", "bill"}
    assert told["person"]["table"] == "person"
    assert told["visit"]["query"] == "SELECT person_id, visit_id, day FROM visit"
    assert "repeats" not in result


def test_one_statement_reads_all_tables(warehouse, tmp_path, monkeypatch):
    """A record of one table is never newer than those of another."""
    seen = []
    from airflow_anon.transport.database_read import Reading  # noqa: PLC0415 (next to its use)

    original = Reading.batches
    monkeypatch.setattr(Reading, "batches", lambda reading: [seen.append(reading._select()), original(reading)][1])
    extract(tmp_path)
    (statement,) = seen
    assert statement.count("UNION ALL") == 2


def test_a_column_that_is_not_named_in_its_table_is_an_error(warehouse, tmp_path):
    tables = {**TABLES, "person": {"table": "person", "columns": ["person_id", "sex"]}}
    with pytest.raises(AirflowFailException, match="table person: has the column 'name', which the job does not name"):
        extract(tmp_path, tables=tables)


def test_a_table_that_lacks_the_subject_is_an_error(warehouse, tmp_path):
    tables = {**TABLES, "bill": {"query": "SELECT cost FROM bill", "columns": ["person_id", "cost"]}}
    with pytest.raises(AirflowFailException, match="lacks the column 'person_id'"):
        extract(tmp_path, tables=tables)


def test_a_table_that_is_not_there_is_an_error(warehouse, tmp_path):
    with pytest.raises(AirflowFailException, match="extracting the tables person, visit, bill over connection"):
        extract(tmp_path, tables={**TABLES, "bill": {"table": "nowhere", "columns": ["person_id", "cost"]}})


def test_ids_of_two_types_are_an_error(tmp_path, monkeypatch):
    connection = sqlite3.connect(tmp_path / "w.db")
    for statement in STATEMENTS[:5]:
        connection.execute(statement)
    connection.execute("INSERT INTO bill VALUES ('p7002', 12.5)")
    connection.commit()
    connection.close()
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps({"conn_type": "sqlite", "host": str(tmp_path / "w.db")}))
    match = (
        r"'person_id': has several types over the tables of the job \(int64 in person, int64 in visit, string in bill"
    )
    with pytest.raises(AirflowFailException, match=match):
        extract(tmp_path)


@pytest.mark.parametrize(
    ("tables", "match"),
    [
        ({}, "name at least one"),
        ({"a": {"table": "t", "query": "SELECT 1", "columns": []}}, "either a table or a query"),
    ],
)
def test_arguments_that_do_not_go_together(tmp_path, tables, match):
    with pytest.raises(ValueError, match=match):
        extract(tmp_path, tables=tables)
