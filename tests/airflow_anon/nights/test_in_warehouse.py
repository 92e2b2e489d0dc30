"""A night inside the warehouse: the release arrives in its table, and no record is written anywhere else."""

from __future__ import annotations

from collections import Counter

import pytest
import sqlalchemy as sa

from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.table_check import read_table
from engine import load_job
from tests.airflow_anon.nights.night import prepared, states

pytestmark = [pytest.mark.airflow, pytest.mark.postgres]

TASKS = {
    "prepare_staging",
    "deidentify",
    "validate",
    "publish",
    "record_attempt",
    "released",
    "remove_staging",
}
TABLE = "research.hospital_stays"


@pytest.fixture
def world(tmp_path, run_dag, monkeypatch, postgres_database):
    """Give the world of a night whose source and share are in one PostgreSQL database."""
    found = prepared(tmp_path, run_dag, monkeypatch, postgres_database, postgres_database)
    run_statements(found, "CREATE SCHEMA research")
    return found


@pytest.fixture
def job(world):
    """Give the path of a job inside the warehouse, which is not tried again."""
    return job_of(world)


def job_of(world, **changes):
    return world.job(
        "hospital_stays",
        backend="sql",
        output=lambda _: {"conn_id": "clinical_warehouse", "table": TABLE},
        dag=lambda settings: {**settings, "retries": 0},
        **changes,
    )


def run_statements(world, *statements):
    engine = sa.create_engine(world.warehouse, poolclass=sa.NullPool)
    with engine.begin() as connection:
        return [connection.exec_driver_sql(one) for one in statements]


def rows(world, statement):
    engine = sa.create_engine(world.warehouse, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(statement)]


def tables(world):
    engine = sa.create_engine(world.warehouse, poolclass=sa.NullPool)
    return sorted(sa.inspect(engine).get_table_names(schema="research"))


def test_a_release_arrives_in_the_table_and_nowhere_else(world, job):
    run = world.run(job)
    assert run.state == "success", [open_ledger().document(one.sequence)["reason"] for one in open_ledger().entries()]
    assert states(run) == dict.fromkeys(TASKS, "success")
    assert tables(world) == ["hospital_stays", "hospital_stays_release"]
    assert world.left() == []
    loaded = load_job(job)
    (entry,) = open_ledger().entries()
    document = open_ledger().document(entry.sequence)
    assert document["outcome"] == "released"
    columns = ", ".join(loaded.quasi_identifiers)
    classes = Counter(rows(world, f"SELECT {columns} FROM {TABLE}"))
    suppressed = classes.pop(("*",) * len(loaded.quasi_identifiers), 0)
    assert min(classes.values()) >= loaded.minimum_class_size
    assert suppressed <= loaded.suppression_limit * (suppressed + classes.total())
    # what readers get is what the ledger says
    content = document["publication"]["table"]["content"]
    kinds = {column["name"]: column["kind"] for column in content["columns"]}
    assert read_table("clinical_warehouse", TABLE, kinds).sha256 == content["sha256"]
    assert document["source"]["fingerprint"]
    assert document["validation"]["success"] is True
