"""The demo's Airflow below a base path whose ledger knows every kind of attempt, and its users: one for all tests.

In: an empty folder, and an empty PostgreSQL database for Airflow's metadata (on SQLite, two requests to the API server
at once can each wait for the other, until one is answered with status 500). Out: the world after its runs: releases,
refusals by a criterion and by the validation, a run that somebody ended, a release whose file was changed afterwards, a
frontier, and names that look like markup. The jobs are the shipped ones, and some more beside them.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from airflow_anon.demo import standalone
from airflow_anon.demo.environment import DemoFolders, airflow_environment
from tests.places import ROOT
from tests.ports import free_port
from tests.profiles import thorough
from tests.statsd import StatsdServer

BASE = "/clinic"
BETWEEN_QUESTIONS = 1.0
"""Seconds between two questions whether a run has ended: each takes the server a fiftieth of a second."""
PERSONS = 3_000
USERS = {"admin": "admin", "only-hospital-stays": "viewer", "blind": "viewer"}
STAYS, PEOPLE, IMPOSSIBLE, MISCOUNTED, ENDED, MARKUP = (
    "hospital-stays",
    "demographics-with-diagnosis",
    "impossible-stays",
    "miscounted-stays",
    "ended-stays",
    "markup",
)
FRONTIER = "risk_utility_frontier"
SHIPPED = {STAYS, PEOPLE, FRONTIER}
OTHERS = {IMPOSSIBLE, MISCOUNTED, ENDED, MARKUP}
JOBS = {STAYS, PEOPLE} | OTHERS
COLUMN = "<script>document.title='owned'</script>"
LABEL = "<img src=x onerror=\"document.title='owned'\">"
MISCOUNT = """
made["miscounted-stays"].get_task("validate").source_rows = 7
"""


@dataclass
class AuditWorld:
    """A running `airflow standalone`, and beside it an API server on the same databases that knows users by DAG.

    Standalone has the simple auth manager whatever is configured, and that shows every DAG to everybody.

    Attributes
    ----------
    port, guarded_port : int
        Of standalone, and of the other server.
    metrics : StatsdServer
        What all runs have sent.
    said : str
        What the demo printed when it was started.
    runs : dict
        Run ids of each DAG, in the order of the runs.
    """

    folders: DemoFolders
    port: int
    guarded_port: int
    metrics: StatsdServer
    said: str = ""
    passwords: dict[str, str] = field(default_factory=dict)
    runs: dict[str, list[str]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}{BASE}"

    @property
    def pages(self) -> str:
        return f"{self.url}/deidentification"

    @property
    def ledger(self) -> Path:
        return Path(self.folders.ledger_url.removeprefix("sqlite:///"))

    @property
    def guarded(self) -> str:
        return f"http://localhost:{self.guarded_port}{BASE}"

    def token(self, user: str, url: str) -> str:
        """Log in; return the token."""
        body = json.dumps({"username": user, "password": self.passwords[user]}).encode()
        request = urllib.request.Request(f"{url}/auth/token", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["access_token"]

    def get(self, path: str, user: str | None) -> tuple[int, str]:
        """Ask the server that knows users by DAG for a page; return status and content."""
        headers = {} if user is None else {"Authorization": f"Bearer {self.token(user, self.guarded)}"}
        request = urllib.request.Request(f"{self.guarded}/deidentification{path}", headers=headers)
        try:
            with urllib.request.build_opener(_NoRedirect).open(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as problem:
            return problem.code, problem.read().decode()

    def document(self, path: str) -> Any:
        """Return the JSON of a page, as the administrator sees it."""
        status, content = self.get(f"/api{path}", "admin")
        assert status == 200, content
        return json.loads(content)

    def of_run(self, dag_id: str, number: int = -1) -> str:
        """Return the path of a run's page."""
        return f"/dags/{dag_id}/runs/{quoted(self.runs[dag_id][number])}"

    @cached_property
    def _administrator(self) -> str:
        return self.token("admin", self.url)

    def call(self, path: str, body: Any = None, method: str | None = None) -> Any:
        """Call Airflow's REST API as the administrator; a body makes it a POST."""
        request = urllib.request.Request(
            f"{self.url}/api/v2{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self._administrator}"},
            method=method,
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def run(self, dag_id: str, expected: str) -> None:
        """Trigger a DAG, wait for its end and assert its state."""
        self.wait(dag_id, self.trigger(dag_id), expected)

    def trigger(self, dag_id: str) -> str:
        """Let a DAG run; return the run's id."""
        return self.call(f"/dags/{dag_id}/dagRuns", {"logical_date": None})["dag_run_id"]

    def end(self, dag_id: str, after: str) -> None:
        """Trigger a DAG, mark its run as failed once a task of it has succeeded, and wait for its end."""
        run = self.trigger(dag_id)
        task = f"/dags/{dag_id}/dagRuns/{run}/taskInstances/{after}"
        while self.call(task)["state"] != "success":
            time.sleep(0.5)
        self.call(f"/dags/{dag_id}/dagRuns/{run}", {"state": "failed"}, "PATCH")
        self.wait(dag_id, run, "failed")

    def wait(self, dag_id: str, run: str, expected: str) -> None:
        """Wait for the end of a run and assert its state."""
        while (state := self.call(f"/dags/{dag_id}/dagRuns/{run}")["state"]) not in {"success", "failed"}:
            time.sleep(BETWEEN_QUESTIONS)
        assert state == expected, (dag_id, state)
        self.runs.setdefault(dag_id, []).append(run)

    def sequence(self, dag_id: str, number: int = -1) -> int:
        """Return the number of the ledger's entry of a run."""
        with sqlite3.connect(self.ledger) as ledger:
            query = "SELECT sequence FROM release_ledger WHERE run_id = ? AND dag_id = ?"
            (found,) = ledger.execute(query, (self.runs[dag_id][number], dag_id)).fetchone()
        ledger.close()
        return int(found)

    def release(self, dag_id: str) -> Path:
        """Return the folder of the current release."""
        return (self.folders.share / dag_id / "current").resolve()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


@contextmanager
def running(home: Path, metadata: str, before_runs: Callable[[], Any]) -> Iterator[AuditWorld]:
    """Start the demo's UI and the other server, call something that takes time, and run what the ledger is to know."""
    world = AuditWorld(DemoFolders(home), free_port(), free_port(), StatsdServer())
    _write_dags(home / "dags")
    settings = settings_of(world, metadata)
    try:
        world.said = demo("ui", home, world.port, settings)
        world.passwords = json.loads(world.folders.passwords.read_text())
        with _guarded(world, settings):
            before_runs()
            _run_everything(world)
            yield world
    finally:
        demo("stop", home, world.port, {})
        world.metrics.stop()


@contextmanager
def _guarded(world: AuditWorld, settings: dict[str, str]) -> Iterator[None]:
    """Run the server that knows users by DAG."""
    with (world.folders.home / "api-server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "airflow", "api-server", "--port", str(world.guarded_port), "--workers", "1"],
            env={
                **airflow_environment(world.folders, world.port),
                **settings,
                "AIRFLOW__CORE__AUTH_MANAGER": "tests.airflow_anon.plugin.auth.PerDagAuthManager",
            },
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield
    finally:
        standalone.stop(server.pid)


def settings_of(world: AuditWorld, metadata: str) -> dict[str, str]:
    """Return the settings of the world's Airflow that are not the demo's."""
    return {
        "PYTHONPATH": str(ROOT),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": metadata,
        "AIRFLOW__CORE__DAGS_FOLDER": str(world.folders.home / "dags"),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in USERS.items()),
        "AIRFLOW__API__BASE_URL": world.url,
        # A busy machine is no reason for a task to fail.
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "300",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{world.url}/execution/",
        "AIRFLOW__CORE__EXECUTOR": "tests.preloading_executor.PreloadingExecutor,LocalExecutor",
        # Reading every DAG file anew each half minute takes processors from the other tests.
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",
        "AIRFLOW__METRICS__STATSD_ON": "True",
        "AIRFLOW__METRICS__STATSD_PORT": str(world.metrics.port),
    }


def demo(command: str, home: Path, port: int, settings: dict[str, str]) -> str:
    """Run a command of the demo with some settings of Airflow changed; return what it printed.

    Raises
    ------
    RuntimeError
        It failed; with what it printed, and the end of Airflow's log.
    """
    arguments = [command, "--home", str(home), "--persons", str(PERSONS), "--port", str(port)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.demo_process", *arguments],
        env={**os.environ, "DEMO_SETTINGS": json.dumps(settings)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        log = home / "standalone.log"
        tail = log.read_text(errors="replace")[-3000:] if log.is_file() else ""
        raise RuntimeError(f"the demo's {command} failed:\n{done.stdout}\n{done.stderr}\n{tail}")
    return done.stdout


def _write_dags(dags: Path) -> None:
    """Copy the shipped DAG folder, without retries and schedules (one begins with a run), and put more jobs into it.

    The frontier is searched for less long, but in the thorough profile.
    """
    shutil.copytree(ROOT / "dags", dags, ignore=shutil.ignore_patterns("__pycache__"))
    with (dags / "nightly_deidentification.py").open("a") as file:
        file.write(MISCOUNT)
    frontier = dags / f"{FRONTIER}.py"
    frontier.write_text(frontier.read_text().replace('"jobs")', '"jobs", schedule=None)'))
    jobs = {path.stem: yaml.safe_load(path.read_text()) for path in (dags / "jobs").glob("*.yaml")}
    for stem, job in jobs.items():
        job["dag"] |= {"schedule": None, "retries": 0}
        if "frontier" in job and not thorough():
            job["frontier"]["policies"] = 2_000
        (dags / f"jobs/{stem}.yaml").write_text(yaml.safe_dump(job))
    stays = jobs["hospital_stays"]
    capped = {
        name: {**one, "maximum_level": 1 if name in {"gender", "admission_date"} else 2} if "hierarchy" in one else one
        for name, one in stays["attributes"].items()
    }
    beside = {
        "attributes": capped,
        "privacy": [{"model": "k-anonymity", "k": 500}],
        "output": {**stays["output"], "table": "impossible_stays"},
        "dag": {**stays["dag"], "executor": "LocalExecutor"},
    }
    _write(dags, {**stays, "name": IMPOSSIBLE, **beside})
    _write(dags, {**stays, "name": MISCOUNTED, "output": {"path": "../../share"}})
    _write(dags, {**stays, "name": ENDED, "output": {"path": "../../share"}})
    _write(dags, _with_markup(stays["dag"]))


def _write(dags: Path, job: dict[str, Any]) -> None:
    (dags / f"jobs/{job['name']}.yaml").write_text(yaml.safe_dump(job))


def _with_markup(dag: dict[str, Any]) -> dict[str, Any]:
    quoted = COLUMN.replace('"', '""')
    genders = [line.split(";")[0] for line in (ROOT / "dags/jobs/hierarchies/gender.csv").read_text().splitlines()]
    return {
        "name": MARKUP,
        "source": {
            "conn_id": "clinical_warehouse",
            "query": f'SELECT age, gender AS "{quoted}", diagnosis FROM deid_demographics',
        },
        "attributes": {
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
            COLUMN: {
                "role": "quasi-identifying",
                "minimum_level": 1,
                "hierarchy": {"builder": "grouping", "groups": [{LABEL: genders}]},
            },
            "diagnosis": {"role": "insensitive"},
        },
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "suppression_limit": 0.05,
        "output": {"path": "../../share"},
        "dag": {**dag, "description": LABEL},
    }


def _run_everything(world: AuditWorld) -> None:
    while {dag["dag_id"] for dag in world.call("/dags")["dags"]} < SHIPPED | OTHERS:
        broken = [error["stack_trace"] for error in world.call("/importErrors")["import_errors"]]
        if broken:
            raise RuntimeError(f"a DAG file of the tests cannot be read: {broken[0]}")
        time.sleep(BETWEEN_QUESTIONS)
    for dag in OTHERS:
        world.call(f"/dags/{dag}", {"is_paused": False}, "PATCH")
    with ThreadPoolExecutor(2) as pool:
        done = [
            pool.submit(_three_nights, world),
            pool.submit(world.run, PEOPLE, "success"),
            pool.submit(world.run, IMPOSSIBLE, "failed"),
            pool.submit(world.run, MISCOUNTED, "failed"),
            pool.submit(world.end, ENDED, "prepare_staging"),
            pool.submit(world.run, MARKUP, "success"),
            pool.submit(world.run, FRONTIER, "success"),
        ]
        for one in done:
            one.result()
    data = world.release(PEOPLE) / "data.parquet"
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)


def _three_nights(world: AuditWorld) -> None:
    """Make a first release, one of other data, and one under a stricter criterion."""
    world.run(STAYS, "success")
    with sqlite3.connect(world.folders.warehouse) as warehouse:
        warehouse.execute("DELETE FROM visit_occurrence WHERE visit_occurrence_id % 4 = 0")
    warehouse.close()
    world.run(STAYS, "success")
    path = world.folders.home / "dags/jobs/hospital_stays.yaml"
    job = yaml.safe_load(path.read_text())
    job["privacy"][0]["k"] = 25
    path.write_text(yaml.safe_dump(job))
    world.run(STAYS, "success")


def quoted(text: str) -> str:
    """Percent-encode one part of a path."""
    return urllib.parse.quote(text, safe="")
