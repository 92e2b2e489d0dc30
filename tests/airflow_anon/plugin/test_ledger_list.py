"""The entries on the page of the ledger and as CSV: those that the user may see, filtered, and no withheld figure."""

from __future__ import annotations

import csv
import io

import pytest

from tests.airflow_anon.plugin.documents import refused_by_validation, released, series, unreleased
from tests.airflow_anon.plugin.html import Page

pytestmark = pytest.mark.airflow


def rows(answer):
    return list(csv.DictReader(io.StringIO(answer.text)))


@pytest.fixture
def filled(ledger):
    series(ledger, 60)
    ledger.append(refused_by_validation(name="visits", dag_id="visits", run_id="v"))
    ledger.append(unreleased("failed", name="labs", dag_id="other", run_id="f"))
    return ledger


def test_all_entries_are_listed_newest_first(get, filled):
    listed = get("/api/ledger").json()["listed"]
    assert (listed["total"], listed["page"], listed["pages"]) == (62, 1, 2)
    assert [one["sequence"] for one in listed["attempts"]] == list(range(62, 12, -1))
    second = get("/api/ledger?page=2").json()["listed"]
    assert [one["sequence"] for one in second["attempts"]] == list(range(12, 0, -1))
    assert [int(row["sequence"]) for row in rows(get("/ledger.csv"))] == list(range(62, 0, -1))


@pytest.mark.parametrize(
    ("query", "sequences"),
    [("job=visits", [61]), ("state=failed", [62]), ("job=visits&state=failed", []), ("job=unknown", [])],
)
def test_the_list_and_its_file_have_the_same_filter(get, filled, query, sequences):
    assert [one["sequence"] for one in get(f"/api/ledger?{query}").json()["listed"]["attempts"]] == sequences
    assert [int(row["sequence"]) for row in rows(get(f"/ledger.csv?{query}"))] == sequences
    links = Page(get(f"/ledger?{query}").text).links()
    assert any(link.endswith(f"/ledger.csv?{query}") for link in links)


def test_only_entries_of_dags_that_the_user_may_see(get, filled):
    assert get("/api/ledger", "only-other").json()["listed"]["total"] == 1
    assert [row["dag_id"] for row in rows(get("/ledger.csv", "only-other"))] == ["other"]
    assert rows(get("/ledger.csv", "blind")) == []


def test_the_file_has_the_figures_of_the_entry(get, ledger):
    entry = ledger.append(released())
    answer = get("/ledger.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="release-ledger.csv"'
    (row,) = rows(answer)
    assert row["entry_sha256"] == entry.entry_sha256
    assert (row["state"], row["job"], row["rows"], row["suppressed"]) == ("released", "hospital-stays", "4000", "40")
    assert float(row["suppressed_share"]) == 0.01
    assert float(row["information_loss"]) == 0.31


def test_few_suppressed_records_are_in_no_cell(get, ledger):
    ledger.append(released(suppressed=3))
    (row,) = rows(get("/ledger.csv"))
    assert row["suppressed"] == row["suppressed_share"] == "fewer than 5 records"


@pytest.mark.parametrize("text", ["=1+1", "@SUM(A1)", "-2", "+2", '=HYPERLINK("http://x","y")'])
def test_no_text_is_a_formula(get, ledger, text):
    ledger.append(released(text))
    (row,) = rows(get("/ledger.csv"))
    assert row["job"] == f"'{text}"
    assert text in Page(get("/ledger").text).text
