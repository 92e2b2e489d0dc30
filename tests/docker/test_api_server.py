"""The API server of compose.yaml as a plain process: by the entry point, on PostgreSQL, with secrets in files."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from tests.conftest import empty_database
from tests.places import ROOT
from tests.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.airflow, pytest.mark.postgres]


@dataclass(frozen=True)
class Server:
    """A running API server."""

    port: int
    home: Path
    secrets: Path
    log: Path
    environment: dict[str, str]

    def login(self, password: str) -> str:
        """Return a token of the user admin."""
        body = json.dumps({"username": "admin", "password": password}).encode()
        request = Request(f"http://localhost:{self.port}/auth/token", body, {"Content-Type": "application/json"})
        with urlopen(request) as answer:
            return json.load(answer)["access_token"]

    def answers(self) -> bool:
        """Whether it listens and its database is there."""
        try:
            return self.get("/api/v2/monitor/health")["metadatabase"]["status"] == "healthy"
        except URLError:
            return False

    def get(self, path: str, token: str | None = None) -> Any:
        """Return the JSON at a path."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        with urlopen(Request(f"http://localhost:{self.port}{path}", headers=headers)) as answer:
            return json.load(answer)


def environment_of(service: dict[str, Any], home: Path, secrets: Path, database: str, port: int) -> dict[str, str]:
    """Return the service's environment, with what only a container has replaced: names, folders, and the port."""
    changed = {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database.replace("@", "{secret:metadata_password}@", 1),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://localhost:{port}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "ui_passwords.json"),
        "AIRFLOW__API__BASE_URL": f"http://localhost:{port}",
        "AIRFLOW_ANON_HEALTH_URL": f"http://localhost:{port}/api/v2/monitor/health",
    }
    assert set(changed) <= set(service["environment"])
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}",
        "HOME": str(home),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(home / "logs"),
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_STORAGE_PATH": str(home / "bundles"),
        "AIRFLOW_ANON_SECRETS": str(secrets),
        **service["environment"],
        **changed,
    }


@pytest.fixture(scope="module")
def database(postgres_url: str) -> Iterator[str]:
    with empty_database(postgres_url) as url:
        yield url


@pytest.fixture(scope="module")
def server(
    docker_folder: Path, compose: dict[str, Any], database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Migrate and start, as the services `migrate` and `api-server` do; stop with the signal of `docker stop`."""
    home = tmp_path_factory.mktemp("home")
    secrets, log, port = home / "secrets", home / "api-server.log", free_port()
    subprocess.run([docker_folder / "make-secrets.sh", secrets], check=True, capture_output=True)
    shutil.copy(docker_folder / "airflow.cfg", home)
    service = compose["services"]["api-server"]
    environment = environment_of(service, home, secrets, database, port)
    entrypoint = [sys.executable, str(docker_folder / "entrypoint.py")]
    migrate = [*entrypoint, *compose["services"]["migrate"]["command"]]
    subprocess.run(migrate, env=environment, check=True, capture_output=True)
    command = [*entrypoint, *service["command"], "--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        started = Server(port, home, secrets, log, environment)
        while not started.answers():
            assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
            time.sleep(0.2)
        yield started
        process.send_signal(signal.SIGTERM)
        process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def health(component: str, docker_folder: Path, environment: dict[str, str]) -> int:
    check = [sys.executable, docker_folder / "healthcheck.py", component]
    return subprocess.run(check, env=environment, capture_output=True, check=False).returncode


def test_health_document_tells_what_runs(server: Server, docker_folder: Path) -> None:
    """The server answers on its database; no scheduler was started, and none is healthy."""
    assert server.get("/api/v2/monitor/health")["metadatabase"]["status"] == "healthy"
    assert health("metadatabase", docker_folder, server.environment) == 0
    assert health("scheduler", docker_folder, server.environment) == 1


def test_password_of_the_secret_opens_the_door_and_no_other(server: Server) -> None:
    password = json.loads((server.secrets / "ui_passwords").read_text(encoding="utf-8"))["admin"]
    assert server.get("/api/v2/dags", server.login(password))["total_entries"] == 0
    for wrong in ("admin", "", password[:-1]):
        with pytest.raises(HTTPError) as refused:
            server.login(wrong)
        assert refused.value.code in {400, 401, 422}


def test_nothing_is_shown_without_a_login(server: Server) -> None:
    with pytest.raises(HTTPError) as refused:
        server.get("/api/v2/dags")
    assert refused.value.code == 401


def test_token_is_signed_with_the_secret(server: Server) -> None:
    """With a key drawn by itself, the server would refuse what the scheduler signs."""
    import jwt  # noqa: PLC0415 (of Airflow)

    password = json.loads((server.secrets / "ui_passwords").read_text(encoding="utf-8"))["admin"]
    key = (server.secrets / "jwt_secret").read_text(encoding="utf-8")
    claims = jwt.decode(server.login(password), key, algorithms=["HS512"], options={"verify_aud": False})
    assert claims["sub"] == "admin"


def test_configuration_is_the_images(server: Server) -> None:
    """An Airflow that found no airflow.cfg would have written one with keys of its own."""
    assert (server.home / "airflow.cfg").read_bytes() == (ROOT / "docker" / "airflow.cfg").read_bytes()
    assert stat.S_IMODE((server.home / "ui_passwords.json").stat().st_mode) == 0o600


def test_log_holds_no_secret(server: Server) -> None:
    log = server.log.read_text(encoding="utf-8")
    assert "Uvicorn running" in log
    for secret in server.secrets.iterdir():
        assert secret.read_text(encoding="utf-8").strip() not in log, secret.name
    assert json.loads((server.secrets / "ui_passwords").read_text(encoding="utf-8"))["admin"] not in log
