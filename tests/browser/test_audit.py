"""What a privacy officer sees: every page of the plugin in headless Chromium, in a real Airflow below a base path.

`SCREENSHOTS=docs/images pytest tests/browser` also renews the pictures of the documentation.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_anon.plugin.app import make_app
from tests.audit_world import (
    BASE,
    COLUMN,
    ENDED,
    IMPOSSIBLE,
    JOBS,
    LABEL,
    MARKUP,
    MISCOUNTED,
    PEOPLE,
    STAYS,
    AuditWorld,
    quoted,
)
from tests.browser.conftest import logged_in

pytestmark = [pytest.mark.browser, pytest.mark.airflow, pytest.mark.slow]

WITHOUT_RUN = ["/", "/ledger", f"/dags/{STAYS}", f"/dags/{PEOPLE}/frontier?job={PEOPLE}"]
OTHER_WORDS = """([before, after]) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(before, after);
}"""


@pytest.fixture(scope="module")
def world(chromium_path: str, audit_world: AuditWorld) -> AuditWorld:
    """Give the Airflow whose ledger knows every kind of attempt."""
    return audit_world


class Browser:
    """A page of a browser that is logged in, what it asked for, and what its console said."""

    def __init__(self, page: Any, world: AuditWorld) -> None:
        self.page = page
        self.world = world
        self.asked: list[str] = []
        self.said: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda line: self.said.append(line.text) if line.type == "error" else None)
        page.on("pageerror", lambda problem: self.said.append(str(problem)))

    def open(self, path: str) -> Any:
        """Open a page of the plugin by itself, and wait for its charts."""
        answer = self.page.goto(self.world.pages + path)
        assert answer.status == 200
        self.page.wait_for_load_state("networkidle")
        return self.page

    def picture(self, name: str, height: int | None = None) -> None:
        """Renew a picture of the documentation: the whole page, or its top, without the folders of this machine."""
        folder = os.environ.get("SCREENSHOTS")
        if folder:
            self.page.evaluate(OTHER_WORDS, [str(self.world.folders.share.resolve()), "/srv/research-share"])
            size = self.page.viewport_size
            clip = None if height is None else {"x": 0, "y": 0, "width": size["width"], "height": height}
            self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True, clip=clip)


@pytest.fixture(scope="module")
def login(world: AuditWorld, chromium: Any) -> Any:
    """Give the state of a window that is logged in as the administrator."""
    return logged_in(chromium, world.url, world.passwords["admin"])


@pytest.fixture(params=["light"])
def browser(world: AuditWorld, chromium: Any, login: Any, request: Any) -> Iterator[Browser]:
    """Give a browser that is logged in as the administrator; it must have asked nobody else for anything."""
    viewport = {"width": 1400, "height": 900}
    context = chromium.new_context(viewport=viewport, color_scheme=request.param, storage_state=login)
    page = context.new_page()
    page.set_default_timeout(60_000)
    watched = Browser(page, world)
    yield watched
    context.close()
    outside = [url for url in watched.asked if not url.startswith((world.url, "data:", "blob:"))]
    assert outside == []
    assert watched.said == []


def text_of(page: Any) -> str:
    return re.sub(r"\s+", " ", page.inner_text("body"))


def report_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "report.json").read_text())


def test_all_jobs(world, browser):
    """Changed ones first, then refused ones; loss, share and margin of the newest release as in its report; filters."""
    page = browser.open("/")
    rows = page.locator("tbody tr")
    names = [re.split(r"\s", row)[0] for row in rows.all_inner_texts()]
    assert set(names) == JOBS
    assert names[0] == PEOPLE
    assert set(names[1:3]) == {IMPOSSIBLE, MISCOUNTED}
    report = report_of(world.release(PEOPLE))
    row = re.sub(r"\s+", " ", rows.filter(has_text=PEOPLE).inner_text())
    assert f"{report['solution']['information_loss']:.2%}".rstrip("0%").rstrip(".") in row
    assert f"{report['solution']['suppressed'] / report['rows']:.1%}".rstrip("0%").rstrip(".") in row
    assert "Changed afterwards" in row
    assert "data.parquet: Changed after the release" in row
    assert "Ledger intact" in text_of(page)
    browser.picture("audit-overview")
    page = browser.open("/?state=refused")
    assert page.locator("tbody tr").count() == 2


def test_the_pages_are_in_the_ui_of_airflow(world, browser):
    """In the navigation, on a DAG, a run and a task instance, each in its frame; buttons on the task."""
    from playwright.sync_api import expect  # noqa: PLC0415 (only where there is a browser)

    page = browser.page
    run = world.runs[STAYS][-1]
    page.goto(world.url)
    page.get_by_label("De-identification").or_(page.get_by_text("De-identi")).first.click()
    expect(page.frame_locator("iframe").get_by_role("heading", name="De-identification")).to_be_visible()
    page.goto(f"{world.url}/dags/{STAYS}")
    page.get_by_role("link", name="Releases").first.click()
    expect(page.frame_locator("iframe").get_by_role("heading", name=f"Releases of {STAYS}")).to_be_visible()
    page.goto(f"{world.url}/dags/{STAYS}/runs/{run}")
    page.get_by_role("link", name="Release audit").first.click()
    expect(page.frame_locator("iframe").get_by_text("25-anonymity").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    browser.picture("audit-in-airflow")
    page.goto(f"{world.url}/dags/{STAYS}/runs/{run}/tasks/publish/details")
    page.get_by_role("link", name="Release certificate").first.wait_for()
    addresses = {_path(link.get_attribute("href")) for link in page.locator("a[href*='/deidentification/']").all()}
    path = world.of_run(STAYS)
    assert f"{BASE}/deidentification{path}/tasks/publish" in addresses
    assert f"{BASE}/deidentification{path}/certificate" in addresses
    page.goto(f"{world.pages}{path}/tasks/publish")
    expect(page.get_by_text("25-anonymity").first).to_be_visible()
    _forget_airflows_own_noise(browser)


def _path(address: str) -> str:
    return re.sub(r"^https?://[^/]+", "", address)


def _forget_airflows_own_noise(browser: Browser) -> None:
    """Airflow's own UI may complain in the console; what is asserted there is that nobody else is asked."""
    browser.said.clear()


def test_the_history_of_a_job(world, browser):
    from playwright.sync_api import expect  # noqa: PLC0415 (only where there is a browser)

    page = browser.open(f"/dags/{STAYS}")
    assert page.locator("tbody tr").filter(has_text="manual__").count() == 3
    # The page's security policy forbids the strings of code that `wait_for_function` would try again and again.
    expect(page.locator(".js-plotly-plot")).to_have_count(6)
    assert page.locator("details").count() >= 6


def test_the_audit_of_a_release(world, browser):
    """Everything a reader asks for, and the figures are those of the report in the share."""
    page = browser.open(world.of_run(STAYS))
    folder = world.release(STAYS)
    report, text = report_of(folder), text_of(page)
    for heading in (
        *("Privacy criteria", "Levels", "Compared with what was current before", "Why this transformation"),
        *("Class sizes and risk", "Utility", "Validation", "From the source to the share", "Files in the share"),
    ):
        assert heading in text
    for criterion in report["privacy"]:
        assert criterion["description"] in text
        assert f"at least {criterion['required']:.0f} {criterion['observed']:.0f}" in text
    for name, level in report["solution"]["levels"].items():
        assert re.search(rf"{name} {level} of \d", text)
    assert "proven optimal" in text.lower()
    assert f"{report['search']['space']:,} possible" in text
    assert "The levels differ because the configuration changed." in text
    manifest = json.loads((folder / "manifest.json").read_text())
    for file, facts in manifest["files"].items():
        assert f"{file} Unchanged" in text
        assert facts["sha256"] in text
    assert "started by" in text.lower()
    assert "admin" in text
    browser.picture("audit-release", height=2600)


def test_the_night_before_differs_by_its_data(world, browser):
    """The second release: same job, other records."""
    page = browser.open(world.of_run(STAYS, 1))
    text = text_of(page)
    assert "The data of the source changed" in text or "because the data changed" in text
    assert "configuration changed" not in text


def test_a_refusal_by_a_criterion(world, browser):
    page = browser.open(world.of_run(IMPOSSIBLE))
    text = text_of(page)
    assert "Refused" in text
    assert "no transformation of the" in text
    assert "500-anonymity" in text
    assert "at least 500" in text
    assert "Nothing was published" in text
    browser.picture("audit-refused")


def test_a_refusal_by_the_validation(world, browser):
    page = browser.open(world.of_run(MISCOUNTED))
    text = text_of(page)
    assert "Refused" in text
    assert "expect_rows_accounted_for" in text
    assert page.locator("tr.state-fails").count() >= 1


def test_a_run_that_somebody_ended(world, browser):
    """Marked as failed in the UI before anything was released: an entry as any other, and staging is gone."""
    text = text_of(browser.open(world.of_run(ENDED)))
    assert "Failed" in text
    # the next task may have begun by then
    assert "the run was ended before this task began" in text or "the task was ended from outside" in text
    assert "Nothing of it reached the share" in text
    assert not (world.folders.share / ENDED).exists()
    assert list(world.folders.staging.rglob("*.parquet")) == []


def test_a_changed_file(world, browser):
    """One byte of the released table was changed after the release."""
    page = browser.open(world.of_run(PEOPLE))
    text = text_of(page)
    assert "The files in the share are not those that were released" in text
    assert re.search(r"data\.parquet Changed", text)
    assert re.search(r"report\.json Unchanged", text)
    browser.picture("audit-tampered", height=900)


def test_names_that_look_like_markup_are_text(world, browser):
    page = browser.open(world.of_run(MARKUP))
    text = text_of(page)
    assert COLUMN in text
    assert LABEL in text
    assert page.locator("img[src='x']").count() == 0
    for path in (f"/dags/{MARKUP}", "/", f"{world.of_run(MARKUP)}/certificate"):
        browser.open(path)
        assert page.title() != "owned"
        assert page.locator("img[src='x']").count() == 0


def test_the_certificate_is_one_printed_page_and_its_annex_another(world, browser, tmp_path):
    page = browser.open(f"{world.of_run(STAYS)}/certificate")
    text = text_of(page)
    entry = world.document(f"{world.of_run(STAYS)}/certificate")["entry"]
    assert f"airflow-anon ledger verify --entry {entry['sequence']}:" in text
    assert "25-anonymity" in text
    browser.picture("audit-certificate")
    page.pdf(path=tmp_path / "certificate.pdf", format="A4", print_background=True)
    content = (tmp_path / "certificate.pdf").read_bytes()
    assert len(re.findall(rb"/Type\s*/Page[^s]", content)) == 2
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("Download")).first.click()
    saved = Path(download.value.path()).read_text()
    assert "25-anonymity" in saved
    assert "<script" not in saved


def test_the_frontier(world, browser):
    page = browser.open(f"/dags/{PEOPLE}/frontier?job={PEOPLE}")
    report = json.loads((world.folders.share / PEOPLE / "frontier/current/frontier.json").read_text())
    text = text_of(page)
    assert "Safe Harbor" in text
    assert f"{len(report['frontier']):,} on the frontier" in text
    assert all(entry["why"] in text for entry in report["shortlist"])
    assert page.locator(".js-plotly-plot").count() == 1
    browser.picture("audit-frontier")


@pytest.mark.parametrize("browser", ["dark"], indirect=True)
def test_dark_mode(world, browser):
    """The page is dark, its text is light, and the charts follow."""
    page = browser.open(world.of_run(STAYS))
    background, ink = page.evaluate(
        "(() => { const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]; })()"
    )
    assert luminance(background) < 0.1
    assert luminance(ink) > 0.6
    drawn = page.evaluate("getComputedStyle(document.querySelector('.js-plotly-plot text')).fill")
    assert luminance(drawn) > 0.4
    browser.picture("audit-dark", height=1200)


def luminance(colour: str) -> float:
    """Relative luminance of `rgb(...)`, without gamma: near enough to tell light from dark."""
    red, green, blue = (float(part) / 255 for part in re.findall(r"[\d.]+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def every_address(world: AuditWorld) -> list[str]:
    """Give an address of each route of the app that shows the people's DAG, or none."""
    run = world.runs[PEOPLE][0]
    known = {
        "{dag_id}": PEOPLE,
        "{run_id:path}": quoted(run),
        "{task_id}": "publish",
        "{name}": "audit.css",
    }
    addresses = []
    for route in make_app().routes:
        path = route.path
        for name, value in known.items():
            path = path.replace(name, value)
        assert "{" not in path
        addresses.append(path)
    assert len(addresses) >= 15
    return addresses


def test_nobody_sees_anything_without_a_login(world):
    for path in every_address(world):
        assert world.get(path, None)[0] == 401, path


LISTS = {"/", "/api/jobs", "/ledger", "/api/ledger", "/ledger.csv"}
"""What shows all jobs that a user may see."""


def test_a_user_without_the_dag_sees_nothing_of_it(world):
    """Not its pages, and not a word of it on the pages that show all that a user may see."""
    for user in ("blind", f"only-{STAYS}"):
        for path in every_address(world):
            status, content = world.get(path, user)
            if PEOPLE in path:
                assert status == 403, (user, path)
            else:
                assert status == 200, (user, path)
                assert PEOPLE not in content
                assert (STAYS in content) is (user != "blind" and path in LISTS)


def test_no_page_tells_of_few_records(world):
    """The last release of the stays left out some records, but fewer than its smallest class: nowhere how many."""
    report = report_of(world.release(STAYS))
    assert (report["rows"], report["suppressed_class"]["records"], report["suppressed_class"]["below"]) == (
        None,
        None,
        25,
    )
    content = json.dumps(world.document(world.of_run(STAYS)))
    assert '"below": 25' in content
    # the file has the records that are left: those of the source would tell how many went
    told = f'"records": {{"source": {{"value": null, "below": null}}, "released": {{"value": {report["released"]},'
    assert told in content


@pytest.fixture
def harmed(world):
    """Give a function that changes the ledger, which is put back afterwards."""
    saved = world.ledger.with_suffix(".saved")
    shutil.copyfile(world.ledger, saved)

    def harm(statement: str) -> None:
        connection = sqlite3.connect(world.ledger)
        with connection:
            assert connection.execute(statement).rowcount == 1
        connection.close()

    yield harm
    shutil.copyfile(saved, world.ledger)


def test_an_intact_ledger(world, browser):
    page = browser.open("/ledger")
    assert "The ledger is intact" in text_of(page)
    page = browser.open("/ledger?documents=1")
    assert "The ledger is intact" in text_of(page)


@pytest.mark.parametrize("harm", ["edited", "removed", "the last removed"])
def test_an_edited_and_a_removed_entry_are_shown(world, browser, harmed, harm):
    sequence = 7 if harm == "the last removed" else world.sequence(STAYS, 0)
    edited = f"UPDATE release_ledger SET information_loss = information_loss / 2 WHERE sequence = {sequence}"
    harmed(edited if harm == "edited" else f"DELETE FROM release_ledger WHERE sequence = {sequence}")
    page = browser.open("/")
    assert "Ledger intact" not in text_of(page)
    page = browser.open("/ledger")
    text = text_of(page)
    assert "The ledger is intact" not in text
    assert re.search(rf"\b{sequence}\b", text)
    if harm == "removed":
        browser.picture("audit-ledger")


def test_an_edited_document_is_shown_on_its_page(world, browser, harmed):
    sequence = world.sequence(STAYS, 0)
    edit = """replace(document, '"conn_id":', '"conn_ib":')"""
    harmed(f"UPDATE release_document SET document = {edit} WHERE sequence = {sequence}")
    page = browser.open(world.of_run(STAYS, 0))
    assert "changed after it was written" in text_of(page)
