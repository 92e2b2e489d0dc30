"""A custodian in headless Chromium, in a real Airflow: sees what waits, refuses it with a comment, approves the next.

`SCREENSHOTS=FOLDER pytest -m thorough tests/browser/test_approval.py` keeps pictures of each step.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_anon.demo.environment import DemoFolders
from tests.audit_world import STAYS, AuditWorld, demo, quoted, settings_of
from tests.browser.conftest import logged_in
from tests.conftest import empty_database
from tests.places import ROOT
from tests.ports import free_port
from tests.statsd import StatsdServer

pytestmark = [pytest.mark.browser, pytest.mark.airflow, pytest.mark.slow, pytest.mark.thorough]

CUSTODIAN = "custodian"


@pytest.fixture(scope="module")
def world(
    chromium_path: str, compiled_kernels: Any, tmp_path_factory: pytest.TempPathFactory, postgres_url: str
) -> Iterator[AuditWorld]:
    """Give an Airflow with one job, whose releases wait for the custodian."""
    del chromium_path, compiled_kernels
    home = tmp_path_factory.mktemp("approval")
    world = AuditWorld(DemoFolders(home), free_port(), free_port(), StatsdServer())
    _write_job(home / "dags")
    with empty_database(postgres_url) as metadata:
        users = {"AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"admin:admin,{CUSTODIAN}:user"}
        try:
            demo("ui", home, world.port, {**settings_of(world, metadata), **users})
            world.passwords = yaml.safe_load(world.folders.passwords.read_text())
            while STAYS not in {dag["dag_id"] for dag in world.call("/dags")["dags"]}:
                time.sleep(0.2)
            world.call(f"/dags/{STAYS}", {"is_paused": False}, "PATCH")
            yield world
        finally:
            demo("stop", home, world.port, {})
            world.metrics.stop()


def _write_job(dags: Path) -> None:
    shutil.copytree(ROOT / "dags", dags, ignore=shutil.ignore_patterns("__pycache__"))
    (dags / "risk_utility_frontier.py").unlink()
    for path in (dags / "jobs").glob("*.yaml"):
        job = yaml.safe_load(path.read_text())
        job["dag"] |= {"schedule": None, "retries": 0}
        if job["name"] == STAYS:
            job["approval"] = {"by": [CUSTODIAN], "expires": "2h"}
        path.write_text(yaml.safe_dump(job))


class Custodian:
    """A window in which the custodian is logged in."""

    def __init__(self, world: AuditWorld, chromium: Any, login: Any, width: int) -> None:
        self.world = world
        context = chromium.new_context(viewport={"width": width, "height": 900}, storage_state=login)
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.width = width

    def waits(self) -> str:
        """Let the job run until its release waits, and open its page; return the run."""
        run = self.world.trigger(STAYS)
        task = f"/dags/{STAYS}/dagRuns/{quoted(run)}/taskInstances/approve"
        while self.world.call(task)["state"] != "awaiting_input" or not self._is_heard_of(run):
            time.sleep(0.5)
        self.page.goto(f"{self.world.pages}/dags/{STAYS}/runs/{quoted(run)}")
        self.page.get_by_role("link", name="See it, compare it, and answer").click()
        self.page.wait_for_load_state("networkidle")
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.width
        return run

    def _is_heard_of(self, run: str) -> bool:
        """Return whether the scheduler knows that the process has ended that asked for approval.

        Airflow fails a task that is answered before: it takes the end of the first process for that of the second.
        """
        lines = (self.world.folders.home / "standalone.log").read_text(errors="replace").splitlines()
        return any("executor_state=success" in line and "task_id=approve" in line and run in line for line in lines)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", self.page.inner_text("body"))

    def picture(self, name: str, height: int | None = None) -> None:
        """Keep a picture of the whole page, or of its top."""
        folder = os.environ.get("SCREENSHOTS")
        if folder:
            clip = None if height is None else {"x": 0, "y": 0, "width": self.width, "height": height}
            self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True, clip=clip)

    def answers(self, button: str, comment: str) -> None:
        self.page.get_by_label("Comment").fill(comment)
        self.page.get_by_role("button", name=button, exact=True).click()
        self.page.wait_for_load_state("networkidle")


def test_a_custodian_refuses_one_release_and_approves_the_next(world, chromium):
    login = logged_in(chromium, world.url, world.passwords[CUSTODIAN], CUSTODIAN)
    desk = Custodian(world, chromium, login, 1400)
    run = desk.waits()
    assert "Waits for approval" in desk.text
    assert "Readers had no release of this job before" in desk.text
    desk.picture("approval-desktop", height=1000)
    desk.answers("Refuse", "Ages of children are too exact.")
    assert "custodian has answered" in desk.text or "Refused by custodian" in desk.text
    world.wait(STAYS, run, "failed")
    desk.page.goto(f"{world.pages}/dags/{STAYS}/runs/{quoted(run)}")
    assert "custodian refused the release: Ages of children are too exact." in desk.text
    desk.picture("approval-refused")
    assert not (world.folders.share / STAYS / "current").exists()

    phone = Custodian(world, chromium, login, 390)
    run = phone.waits()
    phone.picture("approval-phone", height=1400)
    phone.answers("Approve and publish", "Seen with the data protection officer.")
    world.wait(STAYS, run, "success")
    first = world.release(STAYS)
    phone.page.reload()
    assert "Approved by custodian at" in phone.text
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390
    phone.picture("approval-phone-approved")

    run = desk.waits()
    assert "Compared with what was current before" in desk.text
    assert "The levels are the same" in desk.text
    desk.picture("approval-compared")
    admin = Custodian(world, chromium, logged_in(chromium, world.url, world.passwords["admin"]), 1400)
    admin.page.goto(desk.page.url)
    admin.answers("Approve and publish", "")
    assert "whoever started a run may not answer for its release" in admin.text
    admin.picture("approval-by-the-wrong-person")
    desk.page.goto(f"{world.url}/required_actions")
    desk.page.get_by_text(f"Approve the release of {STAYS}?").first.wait_for()
    desk.picture("approval-required-actions")
    assert world.release(STAYS) == first
