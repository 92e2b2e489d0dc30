"""The nightly DAG as a data engineer sees it in Airflow's own UI, and the weekly chart as a custodian does.

`SCREENSHOTS=docs/images pytest tests/browser` also renews the pictures of the documentation.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.airflow, pytest.mark.slow]

DAG = "demographics-with-diagnosis"
TASKS = ["prepare_staging", "extract", "deidentify", "validate", "publish", "record_attempt", "remove_staging"]


def picture(page, name):
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page.wait_for_load_state("networkidle")
        page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.fixture(scope="module")
def finished(airflow_ui):
    """Give the id of a triggered run that succeeded."""
    return airflow_ui.finished_run(DAG)


def test_the_jobs_and_the_frontier_are_scheduled_dags(airflow_ui):
    dags = {dag["dag_id"]: dag for dag in airflow_ui.call("/api/v2/dags")["dags"]}
    assert dags.keys() - airflow_ui.others == {
        DAG,
        "hospital-stays",
        "patients-visits-conditions",
        "risk_utility_frontier",
    }
    assert not any(dag["is_paused"] for dag in dags.values())
    assert airflow_ui.call("/api/v2/importErrors")["total_entries"] == 0


def test_xcom_and_asset_event_carry_the_metrics(airflow_ui, finished):
    path = f"/api/v2/dags/{DAG}/dagRuns/{finished}/taskInstances/publish/xcomEntries/return_value"
    xcom = airflow_ui.call(f"{path}?deserialize=true")["value"]
    assert xcom["rows"] == 3000
    assert 0 <= xcom["suppressed"] <= 150
    assert xcom["smallest_class"] >= 11
    assert xcom["prosecutor_risk"] == pytest.approx(1 / xcom["smallest_class"])
    assert xcom["optimal"] is True
    events = airflow_ui.call("/api/v2/assets/events")["asset_events"]
    event = next(event for event in events if event["source_run_id"] == finished)
    assert event["name"] == f"release-{DAG}"
    assert event["extra"] == xcom
    assert (Path(xcom["path"]) / "manifest.json").is_file()
    assert Path(xcom["path"]).is_relative_to(airflow_ui.home / "share")


def test_the_run_in_the_browser(airflow_ui, finished, page):
    from playwright.sync_api import expect  # noqa: PLC0415 (only where there is a browser)

    page.goto(f"{airflow_ui.url}/dags")
    expect(page.get_by_text("hospital-stays").first).to_be_visible()
    page.goto(f"{airflow_ui.url}/dags/{DAG}/runs/{finished}")
    for task in TASKS:
        expect(page.get_by_role("link", name=task, exact=True).first).to_be_visible()
    page.get_by_label("Show Graph").first.click()
    page.get_by_label("Expand all task groups").first.click()
    expect(page.locator(".react-flow__node").filter(has_text="PublishReleaseOperator").first).to_be_visible()
    page.get_by_label("Collapse Details Panel").first.click()
    page.locator(".react-flow__controls-fitview").first.click()
    picture(page, "airflow-graph")


METRIC = "release_id|ledger_sequence|information_loss|smallest_class|prosecutor_risk"
"""Keys of what `publish` returns; the editor shows only some lines at once."""


def unfold(page, text):
    """Open folded JSON until a text is there: the editor folds it some time after it has shown it, or never loads."""
    for second in range(90):
        if page.get_by_text(re.compile(text)).count():
            return
        if second % 30 == 29:
            page.reload()
        for control in (page.get_by_label("Expand all extra JSON"), page.locator(".codicon-folding-collapsed")):
            if control.count():
                control.first.click()
        page.wait_for_timeout(1000)


def test_the_metrics_in_the_browser(airflow_ui, finished, page):
    from playwright.sync_api import expect  # noqa: PLC0415 (only where there is a browser)

    page.goto(f"{airflow_ui.url}/dags/{DAG}/runs/{finished}/tasks/publish/xcom")
    unfold(page, METRIC)
    expect(page.get_by_text(re.compile(METRIC)).first).to_be_visible()
    page.goto(f"{airflow_ui.url}/dags/{DAG}/runs/{finished}/tasks/publish/asset_events")
    unfold(page, METRIC)
    expect(page.get_by_text(re.compile(METRIC)).first).to_be_visible()


def test_the_weekly_frontier(airflow_ui, page):
    """The page of the demo's patients: what the DAG wrote is what it shows."""
    from playwright.sync_api import expect  # noqa: PLC0415 (only where there is a browser)

    run = airflow_ui.finished_run("risk_utility_frontier")
    task = f"{DAG}.frontier"
    path = f"/api/v2/dags/risk_utility_frontier/dagRuns/{run}/taskInstances/{task}/xcomEntries/return_value"
    xcom = airflow_ui.call(f"{path}?deserialize=true")["value"]
    folder = airflow_ui.home / "share" / DAG / "frontier/current"
    assert Path(xcom["path"]) == folder.resolve()
    report = json.loads((folder / "frontier.json").read_text())
    assert xcom["rows"] == 3000
    assert xcom["policies"] == len(report["frontier"])
    page.set_viewport_size({"width": 1400, "height": 1250})
    page.goto((folder / "frontier.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    expect(page.get_by_role("heading", name=f"Risk and utility of policies: {DAG}")).to_be_visible()
    assert page.locator("#shortlist tbody tr").count() == xcom["shortlist"] == len(report["shortlist"])
    picture(page, "frontier")
