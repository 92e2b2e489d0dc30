"""A real `airflow standalone` on the demo's world, and headless Chromium logged in to its UI."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@dataclass(frozen=True)
class Airflow:
    """A running Airflow and its login."""

    home: Path
    port: int
    password: str
    token: str

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def call(self, path: str, body: Any = None) -> Any:
        """Call the REST API; a body makes it a POST."""
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def run_to_its_end(self, dag_id: str) -> tuple[str, str]:
        """Trigger a DAG; return run id and final state."""
        run = self.call(f"/api/v2/dags/{dag_id}/dagRuns", {"logical_date": None})["dag_run_id"]
        while True:
            state = self.call(f"/api/v2/dags/{dag_id}/dagRuns/{run}")["state"]
            if state in {"success", "failed"}:
                return run, state
            time.sleep(0.5)


@pytest.fixture(scope="module")
def airflow_ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Airflow]:
    """Run the demo's `ui` command on a free port with a small warehouse, and `stop` at the end."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium)")
    home = tmp_path_factory.mktemp("demo")
    port = free_port()
    demo = [sys.executable, "-m", "airflow_anon.demo"]
    try:
        done = subprocess.run(
            [*demo, "ui", "--home", home, "--persons", "3000", "--port", str(port)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            log = home / "standalone.log"
            tail = log.read_text(errors="replace")[-3000:] if log.is_file() else ""
            pytest.fail(f"the demo's UI did not start:\n{done.stdout}\n{done.stderr}\n{tail}")
        password = json.loads((home / "ui_passwords.json").read_text())["admin"]
        assert f"admin / {password}" in done.stdout
        yield Airflow(home, port, password, _token(port, password))
    finally:
        subprocess.run([*demo, "stop", "--home", home], check=True)


def _token(port: int, password: str) -> str:
    request = urllib.request.Request(
        f"http://localhost:{port}/auth/token",
        data=json.dumps({"username": "admin", "password": password}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["access_token"]


@pytest.fixture
def page(airflow_ui: Airflow) -> Iterator[Any]:
    """Give a page of a browser that is logged in."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (only where there is a browser)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_context(viewport={"width": 1600, "height": 900}).new_page()
        page.set_default_timeout(60_000)
        page.goto(airflow_ui.url)
        page.fill("input[name=username]", "admin")
        page.fill("input[name=password]", airflow_ui.password)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "login" not in url)
        yield page
        browser.close()
