"""A real Airflow below a base path whose ledger knows every kind of attempt, and its users.

In: an empty folder, and an empty PostgreSQL database for Airflow's metadata (on SQLite, two requests to the API server
at once can each wait for the other, until one is answered with status 500). Out: the world after its runs: releases,
refusals by a criterion and by the validation, a run that somebody ended, a release whose file was changed afterwards, a
frontier, and names that look like markup.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from airflow_anon.demo import standalone
from airflow_anon.demo.environment import DemoFolders, airflow_environment
from airflow_anon.demo.warehouse import build_warehouse
from tests.places import ROOT
from tests.ports import free_port

BASE = "/clinic"
USERS = {"admin": "admin", "only-hospital-stays": "viewer", "blind": "viewer"}
STAYS, PEOPLE, IMPOSSIBLE, MISCOUNTED, ENDED, MARKUP = (
    "hospital-stays",
    "demographics-with-diagnosis",
    "impossible-stays",
    "miscounted-stays",
    "ended-stays",
    "markup",
)
JOBS = {STAYS, PEOPLE, IMPOSSIBLE, MISCOUNTED, ENDED, MARKUP}
COLUMN = "<script>document.title='owned'</script>"
LABEL = "<img src=x onerror=\"document.title='owned'\">"
DAG_FILE = """
from pathlib import Path

from airflow.sdk import DAG

from airflow_anon.frontier_dag import frontier_dag
from airflow_anon.jobs import deidentification_dags

made = deidentification_dags(Path(__file__).parent / "jobs")
made["miscounted-stays"].get_task("validate").source_rows = 7
globals().update(made)
weekly = frontier_dag(Path(__file__).parent / "jobs", schedule=None)
"""


@dataclass
class AuditWorld:
    """A running `airflow standalone`, and beside it an API server on the same databases that knows users by DAG.

    Standalone has the simple auth manager whatever is configured, and that shows every DAG to everybody.

    Attributes
    ----------
    port, guarded_port : int
        Of standalone, and of the other server.
    runs : dict
        Run ids of each DAG, in the order of the runs.
    """

    folders: DemoFolders
    port: int
    guarded_port: int
    passwords: dict[str, str]
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

    def call(self, path: str, body: Any = None, method: str | None = None) -> Any:
        """Call Airflow's REST API as the administrator; a body makes it a POST."""
        request = urllib.request.Request(
            f"{self.url}/api/v2{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.token('admin', self.url)}"},
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
            time.sleep(0.2)
        self.call(f"/dags/{dag_id}/dagRuns/{run}", {"state": "failed"}, "PATCH")
        self.wait(dag_id, run, "failed")

    def wait(self, dag_id: str, run: str, expected: str) -> None:
        """Wait for the end of a run and assert its state."""
        while (state := self.call(f"/dags/{dag_id}/dagRuns/{run}")["state"]) not in {"success", "failed"}:
            time.sleep(0.5)
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


def make(home: Path, metadata: str) -> AuditWorld:
    """Build the warehouse and the jobs, start Airflow, and run everything that the ledger is to know."""
    folders = DemoFolders(home)
    for folder in (folders.airflow, folders.share):
        folder.mkdir(parents=True)
    folders.staging.mkdir(mode=0o700)
    build_warehouse(folders.warehouse_url, persons=3_000)
    _write_jobs(home / "dags")
    port, guarded_port = free_port(), free_port()
    world = AuditWorld(folders, port, guarded_port, {user: f"secret of {user}" for user in USERS})
    folders.passwords.write_text(json.dumps(world.passwords))
    environment = {
        **airflow_environment(folders, port),
        "PYTHONPATH": str(ROOT),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": metadata,
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in USERS.items()),
        "AIRFLOW__API__BASE_URL": world.url,
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{world.url}/execution/",
    }
    subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], env=environment, check=True, capture_output=True)
    group = standalone.start(environment, home / "standalone.log")
    (home / "standalone.pid").write_text(str(group))
    standalone.wait_until_ready(port, group)
    guarded = subprocess.Popen(
        [sys.executable, "-m", "airflow", "api-server", "--port", str(guarded_port), "--workers", "1"],
        env={**environment, "AIRFLOW__CORE__AUTH_MANAGER": "tests.airflow_anon.plugin.auth.PerDagAuthManager"},
        stdout=(home / "api-server.log").open("wb"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    (home / "api-server.pid").write_text(str(guarded.pid))
    _run_everything(world)
    return world


def stop(home: Path) -> None:
    """Stop what was started."""
    for group in (home / "api-server.pid", home / "standalone.pid"):
        if group.is_file():
            standalone.stop(int(group.read_text()))


def _write_jobs(dags: Path) -> None:
    dags.mkdir()
    (dags / "all.py").write_text(DAG_FILE)
    shutil.copytree(ROOT / "dags/jobs", dags / "jobs")
    jobs = {path.stem: yaml.safe_load(path.read_text()) for path in (dags / "jobs").glob("*.yaml")}
    for stem, job in jobs.items():
        job["dag"] = {**job["dag"], "schedule": None, "retries": 0}
        (dags / f"jobs/{stem}.yaml").write_text(yaml.safe_dump(job))
    stays = jobs["hospital_stays"]
    capped = {
        name: {**one, "maximum_level": 1 if name in {"gender", "admission_date"} else 2} if "hierarchy" in one else one
        for name, one in stays["attributes"].items()
    }
    _write(dags, {**stays, "name": IMPOSSIBLE, "attributes": capped, "privacy": [{"model": "k-anonymity", "k": 500}]})
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
    while {dag["dag_id"] for dag in world.call("/dags")["dags"]} < JOBS:
        time.sleep(0.5)
    with ThreadPoolExecutor(2) as pool:
        done = [
            pool.submit(_three_nights, world),
            pool.submit(world.run, PEOPLE, "success"),
            pool.submit(world.run, IMPOSSIBLE, "failed"),
            pool.submit(world.run, MISCOUNTED, "failed"),
            pool.submit(world.end, ENDED, "prepare_staging"),
            pool.submit(world.run, MARKUP, "success"),
            pool.submit(world.run, "risk_utility_frontier", "success"),
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
