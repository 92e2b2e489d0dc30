"""What readers get is shown on every page: badges, the comparison, and what somebody changed in the share."""

from __future__ import annotations

import copy

import pyarrow.parquet as pq
import pytest
from sqlalchemy import create_engine

from airflow_anon.share.sql_content import content_of
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.plugin.documents import publish, released, unreleased
from tests.airflow_anon.plugin.html import Page
from tests.airflow_anon.publication.publishing import TABLE
from tests.reference.content_hash import content_hash_by_sums

pytestmark = pytest.mark.airflow

IDS = ("20260301T021500Z-0a1b2c3d", "20260302T021500Z-0a1b2c3d", "20260303T021500Z-0a1b2c3d")


def night(ledger, share, number, **changes):
    document = released(run_id=f"run-{number}", release_id=IDS[number], **changes)
    document["publication"]["table"] = None
    publish(document, share)
    return ledger.append(document)


def page(get, number, query=""):
    return get(f"/api/dags/stays/runs/run-{number}{query}").json()["entry"]


def readers(get):
    return {one["release_id"]: one["readers"] for one in get("/api/ledger").json()["listed"]["attempts"]}


@pytest.fixture
def share(tmp_path):
    return tmp_path / "share"


def test_every_list_says_which_release_readers_get(get, ledger, share):
    """The second night was caught up last, so its release never became current."""
    for number in (0, 2, 1):
        night(ledger, share, number)
    ledger.append(unreleased(run_id="refused"))
    told = {IDS[0]: "superseded", IDS[2]: "current", IDS[1]: "never-current", None: None}
    assert readers(get) == told
    (history,) = get("/api/dags/stays").json()["histories"]
    assert {one["release_id"]: one["readers"] for one in history["attempts"]} == told
    assert get("/api/jobs").json()["jobs"][0]["last_release"]["readers"] == "current"
    for path in ("/", "/ledger", "/dags/stays", "/dags/stays/runs/run-2", "/dags/stays/runs/run-2/certificate"):
        assert "readers get this" in Page(get(path).text).text
    text = Page(get("/ledger").text).text
    assert "superseded" in text
    assert "never current" in text
    assert ",current," in get("/ledger.csv").text


def test_the_comparison_is_with_what_was_current(get, ledger, share):
    """Not with the run before, whose release readers never got."""
    sequences = {number: night(ledger, share, number).sequence for number in (0, 2, 1)}
    refused = ledger.append(unreleased(run_id="refused"))
    told = get("/api/dags/stays/runs/refused").json()["entry"]
    assert told["sequence"] == refused.sequence
    assert told["content"]["comparison"]["previous"]["sequence"] == sequences[2]
    assert page(get, 2)["content"]["comparison"]["previous"]["sequence"] == sequences[0]
    assert page(get, 1)["content"]["comparison"]["previous"]["sequence"] == sequences[2]


def test_a_link_to_an_older_release_is_on_every_page(get, ledger, share):
    for number in (0, 1):
        night(ledger, share, number)
    link = share / "job/current"
    link.unlink()
    link.symlink_to(IDS[0])
    assert readers(get) == {IDS[0]: "current", IDS[1]: "astray"}
    newest, older = page(get, 1), page(get, 0)
    assert newest["delivery"]["verdict"] == "changed"
    assert newest["delivery"]["link"]["words"] == f"Leads readers to another release: {IDS[0]}"
    assert older["delivery"]["link"]["state"] == "superseded"
    assert "Readers do not get what was released." in Page(get("/dags/stays/runs/run-1").text).text
    assert "although a newer one exists" in Page(get("/dags/stays/runs/run-0").text).text
    certificate = get("/api/dags/stays/runs/run-1/certificate").json()
    assert not certificate["valid"]
    assert any(IDS[0] in one for one in certificate["objections"])
    (job,) = get("/api/jobs").json()["jobs"]
    assert (job["state"], len(job["harms"])) == ("tampered", 1)
    assert "Changed afterwards" in Page(get("/").text).text


def test_a_changed_file_is_on_the_overview(get, ledger, share):
    night(ledger, share, 0)
    assert get("/api/jobs").json()["jobs"][0]["state"] == "released"
    (share / "job" / IDS[0] / "report.json").write_text("[]")
    (job,) = get("/api/jobs?state=tampered").json()["jobs"]
    assert job["harms"] == ["report.json: Changed after the release"]
    assert get("/api/jobs").json()["counts"]["tampered"] == 1
    assert "report.json: Changed after the release" in Page(get("/?alerts=1").text).text


@pytest.fixture
def table(ledger, tmp_path, monkeypatch):
    """Give the URL of a SQL share that holds a release, and the document of its entry."""
    url = f"sqlite:///{tmp_path}/share.db"
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(url))
    pq.write_table(TABLE, tmp_path / "data.parquet")
    document = released(run_id="run-0", release_id=IDS[0])
    manifest = document["publication"]["manifest_sha256"]
    SqlShare(hook_of("research_share"), "stays").publish(IDS[0], manifest, tmp_path / "data.parquet", salt="s")
    content = content_of(tmp_path / "data.parquet", "sqlite", "s")
    document["publication"]["table"] = {
        "conn_id": "research_share",
        "table": "stays",
        "content": content.document(),
    }
    return url, document


def test_a_changed_table_is_on_its_page_its_certificate_and_the_overview(get, ledger, table):
    url, document = table
    ledger.append(document)
    assert page(get, 0)["delivery"]["table"]["state"] == "matches"
    assert get("/api/dags/stays/runs/run-0/certificate").json()["valid"]
    sha256 = document["publication"]["table"]["content"]["sha256"]
    assert sha256 in get("/dags/stays/runs/run-0").text
    assert sha256 in get("/dags/stays/runs/run-0/certificate").text
    with create_engine(url).begin() as connection:
        connection.exec_driver_sql("UPDATE stays SET diagnosis = 'I11' WHERE diagnosis = 'I10'")
    assert page(get, 0)["delivery"]["verdict"] == "changed"
    assert not get("/api/dags/stays/runs/run-0/certificate").json()["valid"]
    (job,) = get("/api/jobs").json()["jobs"]
    assert job["harms"] == ["table stays of connection research_share: Changed after the release"]


def test_a_table_that_an_earlier_version_released_is_compared_by_its_method(get, ledger, table):
    url, document = table
    kinds = dict.fromkeys(TABLE.column_names, "text")
    records = zip(*(TABLE[name].to_pylist() for name in kinds), strict=True)
    content = document["publication"]["table"]["content"]
    del content["method"]
    content["sha256"] = content_hash_by_sums(kinds, records, "s")
    ledger.append(document)
    assert page(get, 0)["delivery"]["table"]["state"] == "matches"
    with create_engine(url).begin() as connection:
        connection.exec_driver_sql("UPDATE stays SET diagnosis = 'I11' WHERE diagnosis = 'I10'")
    assert page(get, 0)["delivery"]["table"]["state"] == "changed"


def test_a_large_table_is_recounted_on_request(get, ledger, table, monkeypatch):
    """By the link on its page and by the one on the overview."""
    url, document = table
    ledger.append(document)
    with create_engine(url).begin() as connection:
        connection.exec_driver_sql("DELETE FROM stays WHERE diagnosis = 'I10'")
    monkeypatch.setattr("airflow_anon.plugin.pages.release.ROWS_AT_ONCE", 2)
    monkeypatch.setattr("airflow_anon.plugin.pages.found_outside.ROWS_AT_ONCE", 2)
    assert page(get, 0)["delivery"]["table"]["state"] == "not-counted"
    assert any("files=all" in link for link in Page(get("/dags/stays/runs/run-0").text).links())
    assert page(get, 0, "?files=all")["delivery"]["table"]["state"] == "changed"
    assert get("/api/jobs").json()["jobs"][0]["harms"] == []
    assert any("files=all" in link for link in Page(get("/").text).links())
    assert get("/api/jobs?files=all").json()["jobs"][0]["harms"]


def test_a_table_of_an_earlier_version_was_not_recorded(get, ledger, table):
    url, document = table
    del document["publication"]["table"]["content"]
    ledger.append(document)
    with create_engine(url).begin() as connection:
        connection.exec_driver_sql("DELETE FROM stays")
    told = page(get, 0)["delivery"]
    assert (told["verdict"], told["table"]["state"]) == ("open", "not-recorded")
    assert "was not recorded" in Page(get("/dags/stays/runs/run-0").text).text
    assert get("/api/jobs").json()["jobs"][0]["harms"] == []


def test_what_the_nightly_run_found_stays_an_alert(get, ledger, share):
    """Also where the next release has replaced what was changed."""
    found = {"sequence": 1, "release_id": IDS[0], "files": "matches", "link": "matches", "table": "changed"}
    night(ledger, share, 0)
    document = copy.deepcopy(released(run_id="run-1", release_id=IDS[1]))
    document["delivered"] = found
    ledger.append(document)
    (job,) = get("/api/jobs").json()["jobs"]
    assert [alert["kind"] for alert in job["alerts"]] == ["tampered"]
    assert "table that readers query" in Page(get("/").text).text
