"""`airflow-anon doctor`: what it looks at, and that nothing is changed."""

from __future__ import annotations

import datetime as dt
import os
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
        f"ok       share: {installation}/share, is made by the first release, ",
    ):
        assert what in told


def test_a_share_where_no_folder_can_be_is_told(installation, capsys, monkeypatch):
    """Else the first night finds out, when everything but the publication is done."""
    place = installation / "mount"
    place.symlink_to(installation / "gone")
    monkeypatch.setenv("AIRFLOW_ANON_SHARE", str(place / "share"))
    status, told = looked(installation, capsys)
    assert status == 2
    assert f"problem  share: {place}/share: {place} is no folder, or is a link that leads to none" in told


def test_a_share_that_this_user_may_not_write_is_told(installation, capsys, monkeypatch):
    share = installation / "share"
    share.mkdir()
    may = os.access  # the user of the tests may be root, who may write everywhere
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(share) and may(path, mode))
    status, told = looked(installation, capsys)
    assert status == 2
    assert f"problem  share: {share}: cannot be written by this user" in told


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
        "problem  ledger: connection 'nowhere'",
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


def a_job(installation, name, **changes):
    document = {**JOB, "name": name, "output": {"path": str(installation / name)}, **changes}
    (installation / "jobs" / f"{name}.yaml").write_text(yaml.safe_dump(document))


def test_keys_are_looked_at_and_none_is_made(installation, capsys, monkeypatch):
    monkeypatch.setenv("AIRFLOW_ANON_FINGERPRINTS", str(installation / "fingerprint.key"))
    monkeypatch.setenv("AIRFLOW_CONN_SHORT", '{"conn_type": "generic", "password": "pa55word"}')
    files = {"vault": str(installation / "vault.sqlite"), "key_file": str(installation / "vault.key")}
    a_job(installation, "nights", series=files)
    status, told = looked(installation, capsys)
    assert status == 0, told
    assert f"ok       key of source fingerprints: {installation}/fingerprint.key: is not there; the first run" in told
    assert f"ok       key of the series of job nights: {installation}/vault.key: is not there; the first run" in told

    (installation / "vault.sqlite").touch(mode=0o600)
    (installation / "fingerprint.key").write_text("f" * 64)
    (installation / "fingerprint.key").chmod(0o644)
    a_job(installation, "by_connection", series={"vault_conn_id": "down", "key_conn_id": "short"})
    mail = {"role": "identifying", "action": "pseudonymize", "key_file": str(installation / "lost.key")}
    a_job(installation, "names", attributes={**JOB["attributes"], "email": {**mail, "key_id": "0" * 16}})
    a_job(installation, "first", attributes={**JOB["attributes"], "email": mail})
    status, told = looked(installation, capsys)
    assert status == 2
    of_fingerprints = f"the key of source fingerprints, file {installation}/fingerprint.key: has mode 0644"
    for what in (
        f"problem  key of source fingerprints: {of_fingerprints}",
        f"problem  key of the series of job nights: series.key_file, file {installation}/vault.key: cannot be read",
        "problem  key of the series of job by_connection: series.key_conn_id: 'short': the length of its password",
        "problem  connection 'down': reaching it",
        f"problem  attributes.email of job names: attributes.email.key_file, file {installation}/lost.key: cannot be",
        "warning  attributes.email of job first: has no key_id",
    ):
        assert what in told


def test_the_connections_of_stores_and_of_spark_are_looked_for(installation, capsys, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", "spark-connect://127.0.0.1:1")
    a_job(installation, "stored", output={"path": "s3://no_store@bucket/share"})
    a_job(installation, "counted", backend="spark", spark={"conn_id": "cluster"}, subject=None, unit="record")
    status, told = looked(installation, capsys)
    assert status == 2
    assert "problem  connection 'no_store': of s3://no_store@bucket/share, is not defined; add it" in told
    assert "ok       connection 'cluster': of spark of job counted, is there" in told


def test_a_run_with_a_date_in_the_future_holds_up_the_others(installation, capsys, airflow_home):
    """Airflow keeps it running until then, begins no task of it, and tells nobody."""
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 (needs the database of the fixture)
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import delete  # noqa: PLC0415

    def run(run_id, date, state):
        return DagRun(dag_id="stays", run_id=run_id, logical_date=date, run_type="manual", state=state)

    soon = dt.datetime.now(dt.timezone.utc) + dt.timedelta(days=400)
    with create_session() as session:
        session.add(run("ahead", soon, "running"))
        session.add(run("ended", soon + dt.timedelta(days=1), "failed"))
    try:
        status, told = looked(installation, capsys)
    finally:
        with create_session() as session:
            session.execute(delete(DagRun).where(DagRun.run_id.in_(["ahead", "ended"])))
    assert status == 2
    assert "problem  run ahead of DAG stays: has a date in the future" in told
    assert "run ended" not in told


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


def test_dates_that_let_a_run_by_hand_hide_the_next_night_are_told(installation, capsys, monkeypatch):
    """A night has the date of the night before it then, and a run by hand that of its start."""
    assert "dates of runs" not in looked(installation, capsys)[1]
    monkeypatch.setenv("AIRFLOW__SCHEDULER__CREATE_CRON_DATA_INTERVALS", "True")
    status, told = looked(installation, capsys)
    assert status == 0
    assert "warning  dates of runs: [scheduler] create_cron_data_intervals is on" in told
