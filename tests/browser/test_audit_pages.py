"""The pages in headless Chromium, served by Airflow's API app: nothing runs, loads or leaves that should not.

`SCREENSHOTS=docs/images pytest tests/browser` also renews the pictures of the documentation.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from tests.ports import free_port
from tests.profiles import only

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.airflow]

SERVER = """
import os, sys
import uvicorn
from airflow.api_fastapi.app import get_cookie_path
from tests.airflow_anon.plugin.conftest import made_app
uvicorn.run(made_app(get_cookie_path()), port=int(sys.argv[1]), log_level="error")
"""
BASE = "/some/base"
RUN = quote("scheduled__2026-03-01T02:15:00+00:00", safe="")


class Served:
    """A running server, its address and a token of its admin."""

    def __init__(self, address, token):
        self.address, self.token = address, token


@pytest.fixture(scope="module")
def served(chromium_path, tmp_path_factory, migrated_metadata):
    """Serve the pages below a base path, on a ledger with releases of every kind."""
    home = tmp_path_factory.mktemp("airflow")
    port = free_port()
    url = f"sqlite:///{home / 'ledger.sqlite'}"
    fill(url, home / "share")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")},
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin",
        "AIRFLOW__API__BASE_URL": f"http://localhost:{port}{BASE}",
        "AIRFLOW__API_AUTH__JWT_SECRET": "a secret of the tests, " * 4,
        "AIRFLOW_ANON_LEDGER": url,
        "PYTHONPATH": ".",
    }
    shutil.copy(migrated_metadata, home)
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(port)], env=environment)
    try:
        yield Served(f"http://localhost:{port}{BASE}", token(home, f"http://localhost:{port}{BASE}", server))
    finally:
        server.terminate()
        server.wait()


def fill(url, share):
    from airflow_anon.ledger import Ledger  # noqa: PLC0415 (only where there is a browser)
    from tests.airflow_anon.plugin import documents  # noqa: PLC0415

    ledger = Ledger(url)
    ledger.migrate()
    documents.series(ledger, 40)
    for document in (documents.released(age=3), documents.released("tampered", dag_id="tampered")):
        folder = documents.publish(document, share / document["name"])
        ledger.append(document)
    (folder / "data.parquet").write_bytes(b"PAR2" * 100)
    ledger.append(documents.hostile())
    ledger.append(documents.unreleased(name="refused", dag_id="refused", run_id="1"))
    ledger.append(documents.unreleased(name="n" * 128, dag_id="d" * 128, run_id="1"))
    ledger.begin(documents.released("pending", dag_id="pending", run_id="1"))


def token(home, address, server):
    while server.poll() is None:
        found = asked(home, address)
        if found is not None:
            return found
        time.sleep(0.2)
    pytest.fail("the server ended")


def asked(home, address):
    """Ask for a token; None while the server does not answer."""
    try:
        passwords = json.loads((home / "simple_auth_manager_passwords.json.generated").read_text())
        body = json.dumps({"username": "admin", "password": passwords["admin"]}).encode()
        request = urllib.request.Request(f"{address}/auth/token", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["access_token"]
    except (OSError, ValueError):
        return None


@pytest.fixture
def visit(served, chromium):
    """Give `visit(path, scheme="light", width=1400)`, which opens a page and waits for its charts."""
    with visits(served, chromium) as visiting:
        yield visiting


@pytest.fixture(scope="module")
def seen(served, chromium):
    """Give the same for tests that only look: who asks for a page once more is given the one that is open."""
    with visits(served, chromium) as visiting:
        yield functools.cache(visiting)


@contextmanager
def visits(served, chromium):
    contexts = []

    def visiting(path, scheme="light", width=1400):
        context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        contexts.append(context)
        context.add_cookies([{"name": "_token", "value": served.token, "url": served.address}])
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.trouble, page.hosts = [], set()
        page.on("console", lambda line: page.trouble.append(line.text) if line.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.trouble.append(str(error)))
        page.on("dialog", lambda dialog: (page.trouble.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: page.hosts.add(urlsplit(request.url).netloc))
        page.goto(f"{served.address}/deidentification{path}")
        if page.locator("script[data-library]").count():
            page.wait_for_selector("html[data-ready]")
        return page

    yield visiting
    for context in contexts:
        context.close()


PAGES = {
    "overview": "/",
    "history": "/dags/stays",
    "release": f"/dags/stays/runs/{RUN}",
    "tampered": f"/dags/tampered/runs/{RUN}",
    "hostile": None,
    "refused": "/dags/refused/runs/1",
    "pending": "/dags/pending/runs/1",
    "certificate": f"/dags/stays/runs/{RUN}/certificate",
    "frontier": "/dags/stays/frontier",
    "ledger": "/ledger",
}
FORMS = {"comparison": "/dags/stays/compare", "approval": f"/dags/stays/runs/{RUN}/tasks/deidentify/approval"}
SCHEMES = ("light", "dark")
LIGHT = [(name, "light") for name in PAGES]
"""What the gate sees of each page; in the dark, one that any test opens says what all pages share."""
PICTURES = {"history": ("audit-history", 1500), "comparison": ("audit-compare", 1140)}
"""Pages whose top the documentation shows, with more releases than the Airflow of the tests has."""


@pytest.mark.parametrize(
    ("name", "scheme"), only(itertools.product(PAGES, SCHEMES), lambda case: case in {*LIGHT, ("history", "dark")})
)
def test_nothing_runs_or_leaves_that_should_not(served, seen, name, scheme):
    """No violation of the security policy, no error, no dialog, no other host; all text within the width."""
    from tests.airflow_anon.plugin.documents import HOSTILE  # noqa: PLC0415 (only where there is a browser)

    path = PAGES[name] or f"/dags/hostile/runs/{quote('manual__' + HOSTILE, safe='')}"
    page = seen(path, scheme)
    assert page.trouble == []
    assert page.hosts == {urlsplit(served.address).netloc}
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    charts = page.locator("[data-chart]")
    assert page.locator("[data-chart] svg.main-svg").count() >= charts.count()
    if name == "hostile":
        assert HOSTILE.split("{{")[0] in page.inner_text("h1")
        assert page.locator("main script, main img").count() == 0


@pytest.mark.parametrize(
    "name",
    only([name for name, path in PAGES.items() if path], {"history", "release", "certificate", "ledger"}.__contains__),
)
def test_pages_fit_a_telephone(visit, name):
    """390 pixels wide: only tables and code scroll sideways, in their own frames, and nothing lies outside."""
    page = visit(PAGES[name], width=390)
    outside = """() => [...document.querySelectorAll("main *")].filter(one => {
        const box = one.getBoundingClientRect();
        return box.width && box.right > innerWidth + 1 && !one.closest(".wide, .drawing, .unseen");
    }).map(one => one.outerHTML.slice(0, 120))"""
    assert page.evaluate(outside) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_name_of_the_greatest_length_leaves_alerts_their_width(seen):
    """Else each is a column of single words, and some dozens of jobs are many screens long."""
    page = seen("/")
    widths = page.eval_on_selector_all(".wide .alert", "found => found.map(one => one.getBoundingClientRect().width)")
    assert widths
    assert min(widths) > 230


@pytest.mark.parametrize(
    ("name", "scheme"),
    only(
        itertools.product([*(name for name, path in PAGES.items() if path), *FORMS], SCHEMES),
        lambda case: case in {*LIGHT, ("comparison", "light"), ("approval", "light"), ("release", "dark")},
    ),
)
def test_nothing_keeps_anybody_out(seen, name, scheme):
    """The rules of axe-core, those of WCAG 2 among them: nothing serious or critical."""
    page = seen({**PAGES, **FORMS}[name], scheme)
    if "SCREENSHOTS" in os.environ and name in PICTURES and scheme == "light":
        picture, height = PICTURES[name]
        clip = {"x": 0, "y": 0, "width": 1400, "height": height}
        page.screenshot(path=Path(os.environ["SCREENSHOTS"]) / f"{picture}.png", full_page=True, clip=clip)
    page.evaluate(resources.files("axe_core_python").joinpath("axe.min.js").read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [one["help"] for one in found if one["impact"] in {"serious", "critical"}] == []


def test_what_is_put_into_a_page_does_not_run(visit):
    """The security policy holds even where escaping would not."""
    page = visit("/")
    title = page.title()
    page.evaluate(
        "document.querySelector('main').insertAdjacentHTML('beforeend',"
        ' \'<img src=x onerror="document.title=1"><iframe srcdoc="<script>top.document.title=1</script>"></iframe>\')'
    )
    page.wait_for_timeout(300)
    assert page.title() == title
    assert any("Content Security Policy" in line for line in page.trouble)


def test_charts_take_the_colours_of_the_theme(visit):
    """The UI keeps the choice in the browser; a change of it is followed while the page is open."""
    from playwright.sync_api import expect  # noqa: PLC0415 (only where there is a browser)

    page = visit("/dags/stays")
    colour = "getComputedStyle(document.querySelector('.xtick text')).fill"
    light = page.evaluate(colour)
    page.evaluate("localStorage.setItem('theme', 'dark'); dispatchEvent(new StorageEvent('storage'))")
    expect(page.locator(".xtick text").first).not_to_have_css("fill", light)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_frame_takes_the_theme_of_the_ui_around_it(served, visit):
    """Framed as the UI frames it, with its sandbox: scripts run, links of Airflow leave the frame, nothing prints."""
    page = visit("/ledger")
    # Our own pages have no frames; this one of Airflow has no security policy either, as the UI.
    page.goto(f"{served.address}/api/v2/version")
    page.evaluate(
        """address => {
            document.documentElement.className = "dark";
            document.body.innerHTML = '<iframe sandbox="allow-scripts allow-same-origin allow-forms allow-downloads">';
            document.querySelector("iframe").src = address;
        }""",
        f"{served.address}/deidentification{PAGES['release']}",
    )
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for()
    assert frame.locator("html").get_attribute("data-theme") == "dark"
    page.evaluate("document.documentElement.className = 'light'")
    frame.locator("html[data-theme=light]").wait_for()
    frame.locator("a.airflow").first.click()
    page.wait_for_url(f"{served.address}/dags/stays/runs/**")


def test_the_certificate_is_one_printed_page_and_its_annex_another(visit):
    page = visit(PAGES["certificate"])
    assert page.get_by_role("button", name="Print, or save as PDF").is_visible()
    pdf = page.pdf(prefer_css_page_size=True)
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") == 2


def test_every_row_of_a_chart_is_in_the_table_behind_it(visit):
    page = visit(PAGES["release"])
    page.get_by_text("The table behind the chart").first.click()
    rows = page.locator("figure").first.locator("tbody tr")
    assert rows.first.is_visible()
    assert rows.count() == len(
        json.loads(page.locator("[data-chart]").first.get_attribute("data-chart"))["table"]["rows"]
    )


def test_usual_bounds_and_refused_attempts_are_drawn(visit):
    """The page has them as data; what a reader sees is drawn by the script."""
    charts = visit(PAGES["history"]).locator(".charts figure")
    risk = charts.filter(has_text="Highest risk")
    assert risk.locator(".shapelayer path").count() == 2
    assert risk.locator(".annotation").all_text_contents() == ["0.05", "0.09"]
    crosses = json.loads(risk.locator("[data-chart]").get_attribute("data-chart"))["refused"]
    assert crosses
    assert risk.locator(".scatterlayer .trace").last.locator(".point").count() == len(crosses)


def test_the_filters_work_by_keyboard(visit):
    page = visit("/")
    page.get_by_label("Job or DAG").fill("refus")
    page.keyboard.press("Enter")
    page.wait_for_url("**/deidentification/?q=refus**")
    assert page.locator("tbody tr").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(visit, scheme):
    """By the contrast ratio of WCAG 2.1, at least 4.5, for each colour of text on each ground it is used on."""
    page = visit("/", scheme)
    grounds = {"paper": ("ink", "faint", "accent", "good", "bad", "worry"), "card": ("ink", "faint", "accent")}
    grounds |= {"bad-card": ("ink", "faint", "accent", "bad", "worry"), "good-card": ("ink", "good", "faint")}
    grounds |= {"worry-card": ("ink", "faint", "accent", "worry")}
    for ground, texts in grounds.items():
        for text in texts:
            assert contrast(colour(page, text), colour(page, ground)) >= 4.5, (text, ground)


def colour(page, name):
    found = page.evaluate("name => getComputedStyle(document.documentElement).getPropertyValue(name)", f"--{name}")
    digits = found.strip().removeprefix("#")
    return [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]


def contrast(first, second):
    lights = sorted(luminance(one) + 0.05 for one in (first, second))
    return lights[1] / lights[0]


def luminance(parts):
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
