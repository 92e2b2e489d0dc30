"""A process that gets SIGTERM while a driver waits in C: psycopg2 and ADBC call no handler of Python meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
import sqlalchemy as sa

from airflow_anon.transport.killed_task import TERMINATED
from tests.places import ROOT

pytestmark = pytest.mark.postgres

SECONDS = 60
"""After which a statement that goes on is ended, and the test has failed."""

WAITING = """
import signal, sys
from airflow_anon.transport.killed_task import TERMINATED, cancelling_when_killed

def handler(*_):
    raise SystemExit(TERMINATED)

if sys.argv[2] == "psycopg2":
    import psycopg2
    connection = psycopg2.connect(sys.argv[1])
    cancel = connection.cancel
else:
    from adbc_driver_postgresql import dbapi
    connection = dbapi.connect(sys.argv[1])
    cancel = connection.adbc_cancel
signal.signal(signal.SIGTERM, handler)
with cancelling_when_killed(cancel):
    connection.cursor().execute("SELECT pg_sleep(3600)")
"""


@pytest.mark.parametrize("driver", ["psycopg2", "adbc"])
def test_the_statement_is_cancelled_at_once_and_the_handler_follows(postgres_database, driver):
    url = sa.make_url(postgres_database).set(drivername="postgresql").render_as_string(hide_password=False)
    process = subprocess.Popen([sys.executable, "-c", WAITING, url, driver], cwd=ROOT, stderr=subprocess.DEVNULL)
    sleeping = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
    with sa.create_engine(postgres_database, isolation_level="AUTOCOMMIT").connect() as connection:
        while not connection.exec_driver_sql(f"SELECT count(*) {sleeping}").scalar():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            connection.exec_driver_sql(f"SELECT pg_terminate_backend(pid) {sleeping}")
            process.kill()
    assert process.wait() == TERMINATED
