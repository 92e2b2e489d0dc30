"""`airflow-anon doctor`: what it looks at, and that nothing is changed."""

from __future__ import annotations

import sqlite3
import sys

import pytest
import yaml
from airflow.configuration import conf

from airflow_anon.commands.main import main
from tests.airflow_anon.commands.test_check import JOB


@pytest.fixture
def installation(tmp_path, monkeypatch):
    sqlite3.connect(tmp_path / "warehouse.sqlite").close()
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", f"sqlite:///{tmp_path}/warehouse.sqlite")
    monkeypatch.setenv("AIRFLOW_CONN_DOWN", "postgresql://reader:pa55word@127.0.0.1:1/clinic")
    monkeypatch.setenv("AIRFLOW_ANON_JOBS", str(tmp_path / "jobs"))
    monkeypatch.setenv("AIRFLOW_ANON_STAGING", str(tmp_path / "staging"))
    monkeypatch.setenv("AIRFLOW_ANON_SHARE", str(tmp_path / "share"))
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "stays.yaml").write_text(yaml.safe_dump(JOB))
    return tmp_path


def looked(installation, capsys):
    before = sorted(installation.rglob("*"))
    status = main(["doctor"])
    told = capsys.readouterr().out
    assert sorted(installation.rglob("*")) == before
    assert "pa55word" not in told
    return status, told


def test_a_sound_installation(installation, capsys):
    status, told = looked(installation, capsys)
    assert status == 0, told
    for what in (
        "ok       Airflow: 3.",
        "ok       provider:",
        "ok       plugin with the pages:",
        "ok       job file stays.yaml:",
        "ok       connection 'warehouse': reached, sqlite",
        "ok       ledger:",
        "ok       staging:",
    ):
        assert what in told


def test_what_is_wrong_is_told_and_the_rest_is_looked_at_all_the_same(installation, capsys, monkeypatch):
    source = {"conn_id": "down", "table": "stays"}
    (installation / "jobs" / "down.yaml").write_text(yaml.safe_dump({**JOB, "name": "down", "source": source}))
    (installation / "jobs" / "broken.yaml").write_text("name: broken\n")
    monkeypatch.setenv("AIRFLOW_ANON_STAGING", "s3://staging")
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", "nowhere")
    dags = installation / "dags"
    dags.mkdir()
    (dags / "engine.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(dags))
    assert conf.get("core", "dags_folder") == str(dags)
    status, told = looked(installation, capsys)
    assert status == 2
    for what in (
        f"problem  a module named engine: {dags}/engine.py",
        "problem  job file broken.yaml:",
        "ok       job file stays.yaml:",
        "ok       connection 'warehouse'",
        "problem  connection 'down': reaching it: the connection was refused",
        "problem  ledger:",
        "problem  staging:",
    ):
        assert what in told


def test_a_pool_that_airflow_does_not_have(installation, capsys, airflow_home):
    """Airflow begins no task of it, fails no run, and tells its scheduler's log alone."""
    for name, pool in (("stays", "default_pool"), ("visits", "warehuose")):
        document = {**JOB, "name": name, "dag": {"pool": pool}, "output": {"path": str(installation / name)}}
        (installation / "jobs" / f"{name}.yaml").write_text(yaml.safe_dump(document))
    status, told = looked(installation, capsys)
    assert status == 2
    assert "ok       pool 'default_pool': is there" in told
    assert "problem  pool 'warehuose': is not there" in told
    assert "dag.pool of job visits" in told


def test_without_job_files_it_says_how_to_get_one(installation, capsys, monkeypatch):
    (installation / "jobs" / "stays.yaml").unlink()
    status, told = looked(installation, capsys)
    assert status == 0
    assert "warning  job files:" in told
    assert "airflow-anon init" in told
    monkeypatch.setenv("AIRFLOW_ANON_JOBS", str(installation / "none"))
    assert "cannot be read" in looked(installation, capsys)[1]


def test_a_share_in_sqlite_is_made_by_its_first_release(installation, capsys, monkeypatch):
    """A source is never made, so that a mistyped one does not become an empty one."""
    output = {"path": "share", "conn_id": "research", "table": "stays"}
    (installation / "jobs" / "stays.yaml").write_text(yaml.safe_dump({**JOB, "output": output}))
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH", f"sqlite:///{installation}/research share.sqlite")
    status, told = looked(installation, capsys)
    assert f"ok       connection 'research': {installation}/research share.sqlite, made by the first release" in told
    assert status == 0
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH", f"sqlite:///{installation}/nowhere/research.sqlite")
    status, told = looked(installation, capsys)
    assert "problem  connection 'research': " in told
    assert "its folder is not there, or cannot be written by this user; make it" in told
    assert status == 2
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", f"sqlite:///{installation}/warehuose.sqlite")
    assert "problem  connection 'warehouse': reaching it" in looked(installation, capsys)[1]
