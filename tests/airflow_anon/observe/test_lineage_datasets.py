"""How tables and folders are called, and which column comes from which table."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from airflow_anon.observe.lineage_datasets import Name, origin_of, output_names
from tests.airflow_anon.nights.night import connection_of

pytest.importorskip("airflow.providers.openlineage", reason="needs apache-airflow-providers-openlineage")


@pytest.mark.postgres
def test_names_in_postgresql_follow_the_convention(postgres_database, monkeypatch):
    """`postgres://HOST:PORT` and `database.schema.table`, as the provider's own operators name them."""
    from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator  # noqa: PLC0415 (next to its use)
    from sqlalchemy import create_engine, text  # noqa: PLC0415

    engine = create_engine(postgres_database)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE person (age int, zip text)"))
    engine.dispose()
    monkeypatch.setenv("AIRFLOW_CONN_CLINIC", connection_of(postgres_database))
    own = SQLExecuteQueryOperator(task_id="own", conn_id="clinic", sql="SELECT age FROM person")
    (expected,) = own.get_openlineage_facets_on_start().inputs
    origin = origin_of(["age"], conn_id="clinic", table="person", query=None)
    assert origin.datasets == ((expected.namespace, expected.name),)
    schema = origin_of(["age"], conn_id="clinic", table="clinic.person", query=None).datasets[0]
    assert schema.name == expected.name.replace(".public.", ".clinic.")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT age, zip FROM person WHERE name = 'Ada'", {"age": [("person", "age")], "zip": [("person", "zip")]}),
        (
            "SELECT p.age, v.zip_code AS zip FROM person p JOIN visit v ON p.id = v.person_id",
            {"age": [("person", "age")], "zip": [("visit", "zip_code")]},
        ),
        ("WITH adults AS (SELECT age, zip FROM person) SELECT * FROM adults", {}),
        ("WITH adults AS (SELECT age FROM person) SELECT age, 1 AS zip FROM adults", {"age": [("person", "age")]}),
    ],
)
def test_a_query_names_its_tables_and_the_origin_of_its_columns(tmp_path, monkeypatch, query, expected):
    monkeypatch.setenv("AIRFLOW_CONN_CLINIC", json.dumps({"conn_type": "sqlite", "host": str(tmp_path / "clinic.db")}))
    origin = origin_of(["age", "zip"], conn_id="clinic", table=None, query=query)
    traced = {name: [(c.dataset.name, c.field) for c in columns] for name, columns in origin.columns.items()}
    assert traced == expected
    assert {table for columns in expected.values() for table, _ in columns} <= {name.name for name in origin.datasets}
    assert "Ada" not in repr(origin)


def test_the_share_keeps_its_name_from_release_to_release(tmp_path):
    output = SimpleNamespace(path=f"file://{tmp_path}/share", also=(), conn_id=None)
    first = Name("file", str((tmp_path / "share/stays").resolve()))
    assert output_names(output, "stays") == [first]
    output.also = (f"{tmp_path}/further", "s3://conn@bucket/research")
    further = [Name("file", str((tmp_path / "further/stays").resolve())), Name("s3://bucket", "research/stays")]
    assert output_names(output, "stays") == [first, *further]
