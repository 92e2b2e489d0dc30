"""A page and its JSON are one document, and whatever comes from a job, the data or a user is text in it."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest

import airflow_anon.plugin.app as module
from airflow_anon.ledger import Ledger
from tests.airflow_anon.plugin.conftest import PREFIX, client_of, made_app
from tests.airflow_anon.plugin.documents import (
    HOSTILE,
    hostile,
    publish,
    recoded,
    refused_by_validation,
    released,
    series,
    unreleased,
)
from tests.airflow_anon.plugin.html import Page

pytestmark = pytest.mark.airflow

RUN = quote("scheduled__2026-03-01T02:15:00+00:00", safe="")
HOSTILE_RUN = quote(f"manual__{HOSTILE}", safe="")
TWINS = [
    ("/", "/api/jobs"),
    ("/?q=stay&state=refused&alerts=1", "/api/jobs?q=stay&state=refused&alerts=1"),
    ("/ledger", "/api/ledger"),
    ("/ledger?documents=1", "/api/ledger?documents=1"),
    *(
        (path, f"/api{path}")
        for path in (
            "/dags/stays",
            "/dags/stays?page=2&state=released",
            "/dags/unknown",
            "/dags/stays/frontier?job=hospital-stays",
            f"/dags/stays/runs/{RUN}",
            f"/dags/stays/runs/{RUN}/tasks/publish",
            f"/dags/stays/runs/{RUN}/certificate",
            "/dags/stays/runs/pending",
            "/dags/visits/runs/v",
            "/dags/labs/runs/f",
            "/dags/wards/runs/w",
            "/dags/wards/runs/w/certificate",
            f"/dags/hostile/runs/{HOSTILE_RUN}",
            f"/dags/hostile/runs/{HOSTILE_RUN}/certificate",
        )
    ),
]


@pytest.fixture(scope="module")
def _filled_once(tmp_path_factory):
    """Fill a ledger with entries of every kind, which takes as long as all pages of a test."""
    folder = tmp_path_factory.mktemp("filled")
    ledger = Ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
    ledger.migrate()
    series(ledger, 60)
    document = released()
    publish(document, folder / "share")
    ledger.append(document)
    ledger.append(hostile())
    ledger.append(refused_by_validation(name="visits", dag_id="visits", run_id="v"))
    ledger.append(unreleased("failed", name="labs", dag_id="labs", run_id="f"))
    ledger.append(released(name="wards", dag_id="wards", run_id="v", release_id="20260201T000000Z-00000000"))
    ledger.append(recoded(name="wards", dag_id="wards", run_id="w"))
    ledger.begin(released("pending-job", run_id="pending", release_id="20260401T000000Z-00000000"))
    return folder / "ledger.sqlite"


@pytest.fixture
def filled(ledger, _filled_once, monkeypatch):
    """Let the pages read the filled ledger; tests only read it."""
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{_filled_once}")


@pytest.mark.parametrize(("path", "api"), TWINS)
def test_the_json_is_what_the_page_was_rendered_from(get, filled, monkeypatch, path, api):
    rendered = []
    render = module.render
    monkeypatch.setattr(module, "render", lambda name, page, to: rendered.append(page) or render(name, page, to))
    assert get(path).status_code == 200
    answer = get(api)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == json.loads(json.dumps(rendered[0]))


@pytest.mark.parametrize("path", [path for path, _ in TWINS])
def test_no_page_has_inline_script_or_style_or_loads_from_outside(get, filled, path):
    page = Page(get(path).text)
    assert page.tags().isdisjoint({"iframe", "object", "embed", "base", "style", "img"})
    assert all(found.get("src") for found in page.all("script"))
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    for address in page.addresses():
        assert address.startswith((f"{PREFIX}/", "/dags/", "#")), address


def test_a_pending_publication_is_shown_with_what_ends_it_where_no_run_does(get, filled):
    text = Page(get("/dags/stays/runs/pending").text).text
    assert "A publication is pending." in text
    assert "airflow-anon settle pending-job/20260401T000000Z-00000000" in text


def test_a_local_recoding_shows_the_share_of_records_at_each_level(get, filled):
    text = Page(get("/dags/wards/runs/w").text).text
    assert "Each record has levels of its own (mixed levels)" in text
    assert "37.5% at level 2, such as 40-49" in text
    assert "then local recoding from the levels that it found" in text
    assert "no local recoding has less than" in text
    assert "each record to a level of its own" in text
    certificate = Page(get("/dags/wards/runs/w/certificate").text).text
    assert re.search(r"62\.5% at level 0[^%]*, 37\.5% at level 2, such as 40-49", certificate)
    assert "Labels overlap" in certificate
    assert "several levels: 62.5% at level 0" in Page(get("/dags/wards/compare").text).text


@pytest.mark.parametrize(
    "path", ["/", "/dags/hostile", f"/dags/hostile/runs/{HOSTILE_RUN}", f"/dags/hostile/runs/{HOSTILE_RUN}/certificate"]
)
def test_markup_from_outside_is_text(get, filled, path):
    answer = get(path)
    page = Page(answer.text)
    assert " ".join(HOSTILE.split()) in page.text
    assert "49" not in page.text.replace("49%", "") or "{{ 7*7 }}" in page.text
    assert "<script>alert" not in answer.text
    assert "onerror=alert(1)>" not in answer.text.replace("&gt;", "")
    scripts = [found.get("src", "") for found in page.all("script")]
    assert all(source.startswith(f"{PREFIX}/static/") for source in scripts)


def test_every_hostile_text_of_a_release_is_shown(get, filled):
    """None of the places was forgotten: each name that comes from outside is somewhere in the page, as text."""
    page = Page(get(f"/dags/hostile/runs/{HOSTILE_RUN}").text)
    assert page.text.count('<script>alert("x")</script>') >= 25


def test_charts_carry_their_data_as_an_attribute(get, filled):
    page = Page(get(f"/dags/stays/runs/{RUN}").text)
    drawn = [json.loads(found["data-chart"]) for _, found in page.elements if "data-chart" in found]
    told = get(f"/api/dags/stays/runs/{RUN}").json()["entry"]["content"]
    assert drawn == [told["classes"]["chart"], told["risk"]["chart"]]
    assert page.tags() >= {"details", "summary", "table"}
    for chart in drawn:
        columns = list(zip(*chart["table"]["rows"], strict=True))
        assert list(columns[0]) == chart["series"][0]["x"]
        assert list(columns[1]) == chart["series"][0]["y"]


@pytest.mark.parametrize("run_id", ["a/b", "a+b", "a b", "a?b#c", "ä:é", "x/tasks"])
def test_any_run_id_has_its_page(get, ledger, run_id):
    entry = ledger.append(released(run_id=run_id))
    place = quote(run_id, safe="")
    for path in (f"/dags/stays/runs/{place}", f"/dags/stays/runs/{place}/tasks/publish"):
        assert get(f"/api{path}").json()["entry"]["sequence"] == entry.sequence
    assert get(f"/api/dags/stays/runs/{place}/certificate").json()["entry"]["sequence"] == entry.sequence
    links = Page(get("/dags/stays").text).links()
    assert f"{PREFIX}/dags/stays/runs/{place}?entry={entry.sequence}" in links
    assert get(f"/dags/stays/runs/{place}?entry={entry.sequence}").status_code == 200


def test_a_fingerprint_that_was_made_without_a_key_is_on_no_page(get, ledger):
    """Entries of earlier versions have one, from which a record that is known but for a little can be found."""
    old = released(run_id="old", fingerprint="old")
    del old["source"]["fingerprint_key_id"]
    ledger.append(old)
    new = ledger.append(released(run_id="new", release_id="20260302T021500Z-0a1b2c3d", fingerprint="new"))
    told = {run: released(fingerprint=run)["source"]["fingerprint"] for run in ("old", "new")}
    for page in ("", "/certificate", "/tasks/publish"):
        for path in (f"/dags/stays/runs/old{page}", f"/api/dags/stays/runs/old{page}"):
            assert told["old"] not in get(path).text, path
        for path in (f"/dags/stays/runs/new{page}", f"/api/dags/stays/runs/new{page}"):
            text = get(path).text
            assert told["new"] in text
            assert "0123456789abcdef" in text
            assert told["old"] not in text
    content = get(f"/api/dags/stays/runs/new?entry={new.sequence}").json()["entry"]["content"]
    assert content["comparison"]["data"] == "unknown"


def test_a_download_of_the_certificate_needs_nothing_else(get, filled):
    answer = get(f"/dags/hostile/runs/{HOSTILE_RUN}/certificate?download")
    page = Page(answer.text)
    assert answer.headers["content-disposition"].startswith('attachment; filename="certificate-')
    assert page.tags().isdisjoint({"script", "link", "img", "a", "form"})
    assert page.addresses() == []
    assert "default-src 'none'" in next(found["content"] for found in page.all("meta") if "http-equiv" in found)
    assert '<script>alert("x")</script>' in page.text


@pytest.mark.thorough
def test_all_pages_work_below_a_base_path(airflow_settings, filled, passwords, monkeypatch):
    """Every address in a page, followed, is a page or a file; none leaves the base path."""
    base = "/some/base"
    client = client_of(made_app(f"{base}/"), "admin", passwords, base)
    seen, asked = set(), [f"{base}{PREFIX}/"]
    while asked and len(seen) < 30:
        address = asked.pop()
        seen.add(address)
        answer = client.get(address)
        assert answer.status_code == 200, address
        if "html" not in answer.headers["content-type"] or f"{PREFIX}/" not in address:
            continue
        for found in Page(answer.text).addresses():
            assert found.startswith((f"{base}/", "#")), found
            if found.startswith(f"{base}{PREFIX}/") and found not in seen and "scheduled__2023" not in found:
                asked.append(found)
    assert {address.partition("?")[0].rpartition("/")[2] for address in seen} >= {
        "ledger",
        "frontier",
        "certificate",
        "audit.css",
        "charts.js",
    }


def test_the_views_of_the_ui_have_the_base_path(monkeypatch):
    from airflow_anon.plugin import _views  # noqa: PLC0415 (needs the environment)

    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://host:8080/some/base/")
    views = _views()
    assert {view["destination"] for view in views} == {"nav", "dag", "dag_run", "task_instance"}
    for view in views:
        assert view["href"].startswith("/some/base/deidentification/")
        assert view["icon"].startswith("/some/base/deidentification/static/")
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "")
    assert [view["href"] for view in _views() if view["destination"] == "nav"] == ["/deidentification/"]


@pytest.mark.parametrize("page", ["", "/certificate"])
def test_warnings_and_what_is_counted_are_on_page_and_certificate(get, ledger, page):
    """An entry of a version without a linter has its page too."""
    told, before = released(run_id="now"), released(run_id="before", release_id="20260228T021500Z-0a1b2c3d")
    told["warnings"] = ["identifying column 'mrn': several records have the same value"]
    del before["lint"]
    for document in (before, told):
        ledger.append(document)
    html = get(f"/dags/stays/runs/now{page}").text
    assert html.count("identifying column &#39;mrn&#39;: several records have the same value") == 1
    assert "risks count records" in html
    old = get(f"/dags/stays/runs/before{page}")
    assert old.status_code == 200
    assert "several records" not in old.text


def test_how_columns_vary_is_on_the_page(get, ledger):
    ledger.append(released(run_id="now"))
    html = get("/dags/stays/runs/now").text
    assert all(text in html for text in ("accept: unique", "3, with 2.1% of the records", "97%"))
    found = get("/api/dags/stays/runs/now").json()["entry"]["content"]["lint"]
    assert found["unit"] is None
    assert [one["homogeneous"] for one in found["columns"]] == [None, 3, None]


def test_what_is_counted_is_called_a_record(get, filled):
    for path in ("/dags/stays", f"/dags/stays/runs/{RUN}", f"/dags/stays/runs/{RUN}/certificate"):
        assert " person" not in get(path).text.lower()
