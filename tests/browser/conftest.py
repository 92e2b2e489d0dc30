"""The demo's Airflow, and headless Chromium logged in to its UI."""

from __future__ import annotations

import json
import shutil
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.audit_world import OTHERS, AuditWorld, demo
from tests.ports import free_port
from tests.profiles import thorough

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is the same engine without a window's frame, which takes half of the processor's time."""
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
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
    """A running Airflow of the demo, and its login.

    Attributes
    ----------
    others : set
        Names of the DAGs beside the shipped ones.
    runs : dict
        Ids of runs that have succeeded, of each DAG.
    """

    home: Path
    url: str
    password: str
    token: str
    others: AbstractSet[str] = frozenset()
    runs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def call(self, path: str, body: Any = None) -> Any:
        """Call the REST API; a body makes it a POST."""
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def finished_run(self, dag_id: str) -> str:
        """Give the id of a run that succeeded; trigger it if there is none."""
        if dag_id in self.runs:
            return self.runs[dag_id][-1]
        run = self.call(f"/api/v2/dags/{dag_id}/dagRuns", {"logical_date": None})["dag_run_id"]
        while (state := self.call(f"/api/v2/dags/{dag_id}/dagRuns/{run}")["state"]) not in {"success", "failed"}:
            time.sleep(0.2)
        assert state == "success"
        return run


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Give the browser, or skip."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium-headless-shell)")
    from playwright.sync_api import expect  # noqa: PLC0415 (only where there is a browser)

    expect.set_options(timeout=60_000)  # as of the pages: a busy machine is no failure
    return CHROMIUM


@pytest.fixture(scope="module")
def airflow_ui(
    chromium_path: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Airflow]:
    """Give what the demo's `ui` command starts: the Airflow of all tests; in the thorough profile one as shipped."""
    if not thorough():
        yield _of_all_tests(request.getfixturevalue("audit_world"))
        return
    home, port = tmp_path_factory.mktemp("demo"), free_port()
    try:
        said = demo("ui", home, port, {})
        password = json.loads((home / "ui_passwords.json").read_text())["admin"]
        assert f"admin / {password}" in said
        url = f"http://localhost:{port}"
        yield Airflow(home, url, password, _token(url, password))
    finally:
        demo("stop", home, 0, {})


def _of_all_tests(world: AuditWorld) -> Airflow:
    password = world.passwords["admin"]
    assert f"admin / {password}" in world.said
    token = world.token("admin", world.url)
    return Airflow(world.folders.home, world.url, password, token, others=OTHERS, runs=world.runs)


def _token(url: str, password: str) -> str:
    request = urllib.request.Request(
        f"{url}/auth/token",
        data=json.dumps({"username": "admin", "password": password}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["access_token"]


@pytest.fixture(scope="module")
def chromium(chromium_path: str) -> Iterator[Any]:
    """Give a running browser; each test opens windows of its own, which know nothing of each other."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (only where there is a browser)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=QUIET)
        yield browser
        browser.close()


def logged_in(chromium: Any, url: str, password: str, user: str = "admin") -> Any:
    """Log in to Airflow, by default as the administrator; return what a window has to know to be logged in."""
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(url)
    page.fill("input[name=username]", user)
    page.fill("input[name=password]", password)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "login" not in url)
    page.wait_for_load_state("networkidle")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture(scope="module")
def login(chromium: Any, airflow_ui: Airflow) -> Any:
    """Give the state of a window that is logged in to the demo's Airflow."""
    return logged_in(chromium, airflow_ui.url, airflow_ui.password)


@pytest.fixture
def page(chromium: Any, login: Any) -> Iterator[Any]:
    """Give a page of a browser that is logged in."""
    context = chromium.new_context(viewport={"width": 1600, "height": 900}, storage_state=login)
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()
