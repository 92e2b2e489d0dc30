"""A task that Airflow kills while it works: no file, no table and no statement of it is left, and nothing is released.

Airflow ends a task by SIGTERM, and calls its `on_kill`. A task that does not end would go on for long; a test ends its
statement after a minute, and says so.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

import engine.pipeline.unverified
from airflow_anon.ledger.address import open_ledger
from airflow_anon.operators import RemoveStagingOperator
from tests.airflow_anon.nights.night import prepared, states

pytestmark = [pytest.mark.airflow]

SECONDS = 60


def terminated():
    """Send this process what Airflow's supervisor sends."""
    os.kill(os.getpid(), signal.SIGTERM)


def files(folder):
    """Name the files in staging but the note of which run they are."""
    names = (path.name for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if not name.endswith(".run.json"))


def children():
    return Path(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/children").read_text().split()


@pytest.fixture
def at_its_end(monkeypatch, tmp_path):
    """Give the list of what was in staging whenever a run came to remove it."""
    seen = []
    remove = RemoveStagingOperator.execute

    def removing(*given, **named):
        seen.append(files(tmp_path / "staging"))
        return remove(*given, **named)

    monkeypatch.setattr(RemoveStagingOperator, "execute", removing)
    return seen


def has_failed(world, run, task):
    assert states(run)[task] == "failed"
    assert run.state == "failed"
    assert world.left() == []
    (entry,) = open_ledger().entries()
    assert (entry.outcome, open_ledger().document(entry.sequence)["reason"]["task"]) == ("failed", task)


def test_a_release_that_is_half_written_is_gone_with_its_task(
    tmp_path, run_dag, monkeypatch, own_warehouse, at_its_end
):
    world = prepared(tmp_path, run_dag, monkeypatch, own_warehouse, f"sqlite:///{tmp_path}/out.db")
    write, before, written = engine.pipeline.unverified.written, children(), []

    def writing(*given, **named):
        result = write(*given, **named)
        written.extend(files(tmp_path / "staging"))
        terminated()
        time.sleep(SECONDS)
        return result

    monkeypatch.setattr(engine.pipeline.unverified, "written", writing)
    run = world.run(world.job("hospital_stays", dag=lambda settings: {**settings, "retries": 0}))
    has_failed(world, run, "deidentify")
    assert "data.parquet" in written
    assert at_its_end == [["source.parquet"]]
    assert children() == before


def busy(engine):
    """Count the statements that another client runs or has not committed in this database.

    The server's own cleaning is no client's: it comes once per minute to a table that was filled.
    """
    asked = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND backend_type = 'client backend' AND state <> 'idle'"
    )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        return connection.exec_driver_sql(asked).scalar()


@pytest.fixture
def warehouse(postgres_database):
    engine = sa.create_engine(postgres_database, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA research")
    return engine


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("backend", "unit", "task"),
    [
        pytest.param("sql", "record", "deidentify", id="counts inside"),
        pytest.param("sql", None, "deidentify", id="asks whether persons repeat"),
        pytest.param("auto", "record", "extract", id="extracts"),
    ],
)
def test_a_statement_that_a_task_waits_for_ends_with_it(
    tmp_path, run_dag, monkeypatch, postgres_database, warehouse, at_its_end, backend, unit, task
):
    """The driver waits in C, where no handler of Python is called."""
    world = prepared(tmp_path, run_dag, monkeypatch, postgres_database, postgres_database)
    slow = "SELECT * FROM deid_hospital_stays WHERE pg_sleep(3600) IS NOT NULL"
    job = world.job(
        "hospital_stays",
        backend=backend,
        unit=unit,
        source={"conn_id": "clinical_warehouse", "query": slow},
        output={"conn_id": "clinical_warehouse", "table": "research.hospital_stays"},
        dag=lambda settings: {**settings, "retries": 0},
    )
    sleeping = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
    helped = []

    def kill():
        with warehouse.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:

            def sleeps():
                return connection.exec_driver_sql(f"SELECT count(*) {sleeping}").scalar()

            while not sleeps():
                time.sleep(0.05)
            terminated()
            end = time.monotonic() + SECONDS
            while sleeps():
                time.sleep(0.05)
                if time.monotonic() > end:
                    helped.append(connection.exec_driver_sql(f"SELECT pg_terminate_backend(pid) {sleeping}").all())

    killing = threading.Thread(target=kill, daemon=True)
    killing.start()
    run = world.run(job)
    killing.join()
    assert not helped
    has_failed(world, run, task)
    assert busy(warehouse) == 0
    assert sa.inspect(warehouse).get_table_names(schema="research") == []
    assert at_its_end == [[]]
