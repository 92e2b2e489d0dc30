"""Where the ledger is, in each kind of process that asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from airflow.models import Connection
from airflow.sdk import dag, task
from airflow.utils.session import create_session

from airflow_anon.ledger import open_ledger
from airflow_anon.ledger.errors import LedgerError
from airflow_anon.ledger.store import Ledger
from tests.airflow_anon.ledger.documents import document

READ = "from airflow_anon.ledger import open_ledger; print('entries', len(open_ledger().entries()))"


@pytest.fixture(autouse=True)
def _no_ledger_named(monkeypatch):
    monkeypatch.delenv("AIRFLOW_ANON_LEDGER", raising=False)


def test_without_a_name_it_is_a_file_in_airflow_home(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "a home"))
    (tmp_path / "a home").mkdir()
    open_ledger().append(document(1))
    assert [path.name for path in (tmp_path / "a home").iterdir()] == ["deidentification_ledger.sqlite"]


def test_the_variable_names_it_and_an_argument_comes_first(tmp_path, monkeypatch):
    named, given = (f"sqlite:///{tmp_path / name}" for name in ("named", "given"))
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", named)
    open_ledger().append(document(1))
    open_ledger(given).append(document(2))
    assert [entry.run_id for entry in Ledger(named).entries()] == ["run 1"]
    assert [entry.run_id for entry in Ledger(given).entries()] == ["run 2"]
    assert open_ledger(given) is open_ledger(given)


def test_a_connection_names_it_and_a_change_is_noticed(ledger_url, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_LEDGER_TEST", _connection(ledger_url))
    open_ledger("ledger_test").append(document(1))
    assert len(Ledger(ledger_url).entries()) == 1
    assert open_ledger("ledger_test") is open_ledger("ledger_test")
    monkeypatch.setenv("AIRFLOW_CONN_LEDGER_TEST", f"sqlite:///{tmp_path / 'moved.sqlite'}")
    assert open_ledger("ledger_test").entries() == []


@pytest.mark.parametrize(
    ("uri", "said"),
    [(None, "not defined"), ("cassandra://user:secret@host", "no hook"), ("smtp://user:secret@host", "no database")],
)
def test_a_connection_that_is_none_is_refused(monkeypatch, uri, said):
    if uri is not None:
        monkeypatch.setenv("AIRFLOW_CONN_LEDGER_TEST", uri)
    with pytest.raises(LedgerError, match=said) as raised:
        open_ledger("ledger_test")
    assert "secret" not in str(raised.value)


def test_a_fork_of_the_process_uses_the_same_ledger(ledger_url):
    ledger = open_ledger(ledger_url)
    ledger.append(document(1))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            open_ledger(ledger_url).append(document(2))
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    ledger.append(document(3))
    assert sorted(entry.run_id for entry in ledger.entries()) == ["run 1", "run 2", "run 3"]
    assert ledger.check() == []


@pytest.mark.airflow
def test_a_connection_in_the_metadata_database_is_found_by_tasks_server_and_command_line(
    airflow_home, run_dag, tmp_path, monkeypatch
):
    url = f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    with create_session() as session:
        row = Connection(conn_id="kept_in_airflow", uri=_connection(url))  # noqa: AIR311 (a row; tasks see another class)
        session.add(row)
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", "kept_in_airflow")

    @dag(schedule=None, dag_id="writes_to_the_ledger")
    def writes():
        @task
        def write():
            open_ledger().append(document(1))

        write()

    assert run_dag(writes()).state == "success"
    assert len(Ledger(url).entries()) == 1
    monkeypatch.setenv("_AIRFLOW_PROCESS_CONTEXT", "server")
    assert "entries 1" in _python("-c", READ).stdout
    monkeypatch.delenv("_AIRFLOW_PROCESS_CONTEXT")
    verified = _python("-m", "engine", "ledger", "verify")
    assert (verified.returncode, "intact" in verified.stdout) == (0, True), verified.stderr[-2000:]


@pytest.mark.thorough
def test_importing_the_ledger_and_the_operators_costs_no_sqlalchemy_of_ours():
    """A DAG file imports operators; the tables and the migrations are for tasks only."""
    imported = _python(
        "-c",
        "import sys, airflow_anon.ledger, airflow_anon.operators\n"
        "print([name for name in sys.modules if name.startswith(('airflow_anon.ledger.', 'alembic'))])",
    )
    assert imported.returncode == 0, imported.stderr[-2000:]
    assert "airflow_anon.ledger.store" not in imported.stdout
    assert "alembic" not in imported.stdout


def _connection(url: str) -> str:
    parts = sa.make_url(url)
    if parts.get_backend_name() == "sqlite":
        return f"sqlite:///{Path(parts.database)}"
    return f"postgres://{parts.username}@/{parts.database}?host={parts.query['host'].replace('/', '%2F')}"


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
