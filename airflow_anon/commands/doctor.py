"""`airflow-anon doctor`, the part that needs Airflow: versions, plugin, jobs, connections, keys, ledger, folders.

In: this installation. Out: one line per thing that was looked at; nothing is changed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from airflow.configuration import conf
from airflow.providers.common.compat.sdk import AirflowException, BaseHook

from airflow_anon.commands.doctor_keys import key_findings
from airflow_anon.commands.doctor_shares import share_findings
from airflow_anon.commands.init import WAIT_SECONDS
from airflow_anon.commands.looked import Looked
from airflow_anon.engine_name import hidden_engine_text, other_engines
from airflow_anon.jobs.folder import JOBS_ENVIRONMENT, job_files
from airflow_anon.jobs.nightly import deidentification_dag
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.errors import LedgerError
from airflow_anon.run.staging import UnsafeStagingError, base_folder
from airflow_anon.transport.connection import engine_of, hook_of, password_of, sqlite_file
from airflow_anon.transport.failure import database_errors
from airflow_anon.transport.object_store import is_in_store
from engine import EngineError, Job, load_job

OLDEST_AIRFLOW = (3, 1)
_PACKAGE = "airflow-anon"


def add_doctor(commands: Any) -> None:
    """Add the command."""
    commands.add_parser("doctor").set_defaults(command=_doctor)


def _doctor(_: argparse.Namespace) -> int:
    status = 0
    for one in findings():
        sys.stdout.write(f"{one}\n")
        sys.stdout.flush()
        status = max(status, 2 if one.state == "problem" else 0)
    return status


def findings() -> Iterator[Looked]:
    """Look at the installation."""
    yield _airflow()
    yield from _data_intervals()
    yield from _entry_points()
    for folder in (conf.get("core", "dags_folder"), conf.get("core", "plugins_folder", fallback="")):
        if folder and folder not in sys.path:
            sys.path.append(folder)  # as Airflow does where it reads DAG files
    yield from (Looked("problem", "a module named engine", hidden_engine_text(place)) for place in other_engines())
    jobs: list[Job] = []
    yield from _job_files(jobs)
    yield from _connections(jobs)
    yield from _places_without_sql(jobs)
    yield from key_findings(jobs)
    yield from _pools(jobs)
    yield from _runs_of_the_future(jobs)
    yield _ledger()
    yield _staging()
    yield from share_findings(jobs)


def _airflow() -> Looked:
    found = version("apache-airflow")
    numbers = tuple(map(int, found.split(".")[:2]))
    oldest = ".".join(map(str, OLDEST_AIRFLOW))
    if numbers < OLDEST_AIRFLOW:
        return Looked("problem", "Airflow", f"{found}; {oldest} or newer is needed")
    return Looked("ok", "Airflow", found)


def _data_intervals() -> Iterator[Looked]:
    """Look whether a night has the date of the night before it: by their dates releases are older or newer."""
    if conf.getboolean("scheduler", "create_cron_data_intervals", fallback=False):
        yield Looked(
            "warning",
            "dates of runs",
            "[scheduler] create_cron_data_intervals is on, so the night after a run by hand is older than that run, "
            "which readers then keep, and a series refuses it; turn it off",
        )


def _entry_points() -> Iterator[Looked]:
    """Load what Airflow finds by entry points: an installation by path alone has none."""
    for group, what in (("apache_airflow_provider", "provider"), ("airflow.plugins", "plugin with the pages")):
        ours = [one for one in entry_points(group=group) if one.dist is not None and one.dist.name == _PACKAGE]
        if not ours:
            yield Looked("problem", what, f"is not installed; install {_PACKAGE} by pip where Airflow is")
        for one in ours:
            try:
                one.load()
            except Exception as problem:  # noqa: BLE001, PERF203 (whatever it is, Airflow would not load it either)
                yield Looked("problem", what, f"cannot be loaded: {type(problem).__name__}: {problem}")
            else:
                yield Looked("ok", what, one.value)
    importlib.invalidate_caches()


def _job_files(jobs: list[Job]) -> Iterator[Looked]:
    """Look at the job files; sound ones are added to `jobs`."""
    folder = os.environ.get(JOBS_ENVIRONMENT) or str(Path(conf.get("core", "dags_folder")) / "jobs")
    try:
        files = job_files(folder)
    except EngineError as problem:
        yield Looked("warning", "job files", str(problem))
        return
    if not files:
        yield Looked("warning", "job files", f"{folder} has none; airflow-anon init drafts one")
    for path in files:
        try:
            deidentification_dag(path, auto_register=False)
            jobs.append(load_job(path))
        except Exception as problem:  # noqa: BLE001, PERF203 (an error in one file must not hide the others)
            yield Looked("problem", f"job file {path.name}", str(problem))
        else:
            yield Looked("ok", f"job file {path.name}", str(path))


def _connections(jobs: list[Job]) -> Iterator[Looked]:
    shares = [job.output.conn_id for job in jobs if job.output is not None]
    named = [*(source.conn_id for job in jobs for source in job.sources), *shares]
    named += [job.population_query.conn_id for job in jobs if job.population_query is not None]
    named += [job.series.vault_conn_id for job in jobs if job.series is not None]
    for conn_id in dict.fromkeys(named):
        if conn_id is not None:
            yield _connection(conn_id, is_share=conn_id in shares)


def _connection(conn_id: str, *, is_share: bool) -> Looked:
    what = f"connection {conn_id!r}"
    try:
        hook = hook_of(conn_id)
        file = sqlite_file(hook)
        if is_share and file is not None and not file.exists():
            return _share_to_be_made(what, file)
        with database_errors("reaching it", password_of(hook)), engine_of(hook, wait_seconds=WAIT_SECONDS).connect():
            return Looked("ok", what, f"reached, {hook.conn_type}")
    except AirflowException as problem:
        return Looked("problem", what, str(problem))


def _share_to_be_made(what: str, file: Path) -> Looked:
    """Look at where the first release makes the file of a share in SQLite."""
    if os.access(file.parent, os.W_OK):
        return Looked("ok", what, f"{file}, made by the first release")
    return Looked("problem", what, f"{file}: its folder is not there, or cannot be written by this user; make it")


def _places_without_sql(jobs: list[Job]) -> Iterator[Looked]:
    """Look whether the connections to Spark and to object stores are there; none of both is asked for anything."""
    stores = [place for job in jobs if job.output is not None for place in (job.output.path, *job.output.also) if place]
    named = {urlsplit(place).username: f"of {place}" for place in stores if is_in_store(place)}
    named |= {job.spark.conn_id: f"of spark of job {job.name}" for job in jobs if job.spark is not None}
    for conn_id, where in named.items():
        if conn_id is None:
            continue
        try:
            BaseHook.get_connection(conn_id)
        except AirflowException:
            hint = f"add it in Airflow under Admin, Connections, or set AIRFLOW_CONN_{conn_id.upper()}"
            yield Looked("problem", f"connection {conn_id!r}", f"{where}, is not defined; {hint}")
        else:
            yield Looked("ok", f"connection {conn_id!r}", f"{where}, is there")


def _runs_of_the_future(jobs: list[Job]) -> Iterator[Looked]:
    """Look for runs with a date to come: Airflow begins no task of one, and none of a later run of the job."""
    try:
        from airflow.models.dagrun import DagRun  # noqa: PLC0415 (needs Airflow's database, as pools do)
        from airflow.utils.session import create_session  # noqa: PLC0415
        from sqlalchemy import select  # noqa: PLC0415

        with create_session() as session:
            waiting = session.execute(
                select(DagRun.dag_id, DagRun.run_id).where(
                    DagRun.dag_id.in_([job.name for job in jobs]),
                    DagRun.state.in_(["queued", "running"]),
                    DagRun.logical_date > datetime.now(timezone.utc),
                )
            ).all()
    except Exception as problem:  # noqa: BLE001 (whatever it is, the rest is looked at)
        yield Looked("warning", "runs", f"Airflow's database was not read ({type(problem).__name__})")
        return
    for dag_id, run_id in waiting:
        yield Looked(
            "problem",
            f"run {run_id} of DAG {dag_id}",
            "has a date in the future, so that no task of it begins, nor one of a later run; mark the run as failed, "
            "then each of its tasks that is left, then the run once more",
        )


def _pools(jobs: list[Job]) -> Iterator[Looked]:
    """Look for the pools that jobs name: Airflow never starts a task of one that it lacks, and fails no run."""
    named = {job.dag.pool: job.name for job in reversed(jobs) if job.dag is not None and job.dag.pool is not None}
    if not named:
        return
    try:
        from airflow.models.pool import Pool  # noqa: PLC0415 (needs Airflow's database, which not every machine has)
        from airflow.utils.session import create_session  # noqa: PLC0415
        from sqlalchemy import select  # noqa: PLC0415

        with create_session() as session:
            known = set(session.scalars(select(Pool.pool)))
    except Exception as problem:  # noqa: BLE001 (whatever it is, the rest is looked at)
        yield Looked("warning", "pools", f"Airflow's database was not read ({type(problem).__name__})")
        return
    for pool, job in sorted(named.items()):
        if pool in known:
            yield Looked("ok", f"pool {pool!r}", "is there")
        else:
            hint = f"make it by `airflow pools set`, or correct dag.pool of job {job}"
            yield Looked(
                "problem",
                f"pool {pool!r}",
                f"is not there, so that runs of the job begin no task and never end; {hint}",
            )


def _ledger() -> Looked:
    try:
        ledger = open_ledger()
        there = ledger.exists()
    except LedgerError as problem:
        return Looked("problem", "ledger", str(problem).removeprefix("ledger: "))
    return Looked("ok", "ledger", f"{ledger.address}" + ("" if there else ", made at the first run"))


def _staging() -> Looked:
    try:
        folder = base_folder()
    except UnsafeStagingError as problem:
        return Looked("problem", "staging", str(problem))
    there = next(one for one in (folder, *folder.parents) if one.exists())
    if not os.access(there, os.W_OK):
        return Looked("problem", "staging", f"{folder}: cannot be written by this user")
    return Looked("ok", "staging", f"{folder}, {shutil.disk_usage(there).free / 10**9:.1f} GB free")
