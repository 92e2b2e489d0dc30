"""What the audit page says of the usefulness of a release, and what it withholds of an entry that says too much."""

from __future__ import annotations

import pytest

from airflow_anon.plugin.pages.usefulness import OTHER, UNSHOWN, usefulness
from tests.airflow_anon.plugin.documents import HOSTILE, released, typed
from tests.airflow_anon.plugin.html import Page

RUN = "scheduled__2026-03-01T02:15:00+00:00"
PAGE = f"/dags/stays/runs/{RUN}"
AGE = {
    "column": "age",
    "records": 4_000,
    "labels": [
        {"label": "0-39", "before": 1_600, "after": 1_588},
        {"label": "40-79", "before": 2_000, "after": 2_000},
        {"label": None, "before": 384, "after": 372, "other": True},
    ],
    "suppressed": 40,
    "untold": 16,
    "step": 12,
    "mean_overlap": 0.8,
    "proportion_overlap": 0.9,
    "least_proportion_overlap": 0.6,
}
ZIP = {**AGE, "column": "zip", "labels": [], "suppressed": 0, "step": None, "mean_overlap": None}
MODELS = [
    {
        "model": "logistic-regression",
        "source": {"accuracy": 0.83, "auc": 0.91},
        "release": {"accuracy": 0.79, "auc": 0.9},
    },
    {"model": "random-forest", "source": {"accuracy": 0.85, "auc": 0.9}, "release": {"accuracy": None, "auc": None}},
]
TARGET = {"target": "diagnosis", "records": 4_000, "rarest": None, "classes": 4, "baseline": 0.61, "models": MODELS}
USEFULNESS = {"records": 4_000, "restricted": False, "folds": 5, "targets": [TARGET], "columns": [AGE, ZIP]}


def told(**changes):
    return usefulness(typed({**released(), "usefulness": {**USEFULNESS, **changes}}))


def test_the_page_tells_models_overlaps_and_distributions(get, ledger):
    ledger.append({**released(), "usefulness": USEFULNESS})
    text = Page(get(PAGE).text).text
    assert "What the release is still good for" in text
    for figure in ("Logistic regression", "61%", "83%", "79%", "0.91", "80%", "60%"):
        assert figure in text
    assert "zip: no distribution" in text
    found = get(f"/api{PAGE}").json()["entry"]["content"]["usefulness"]
    chart = found["columns"][0]["chart"]
    assert [one["name"] for one in chart["series"]] == ["Before", "After"]
    assert chart["series"][0]["x"] == ["0-39", "40-79", OTHER, UNSHOWN]
    assert chart["series"][0]["y"] == pytest.approx([0.4, 0.5, 0.096, 0.004])
    assert chart["series"][1]["y"] == pytest.approx([0.397, 0.5, 0.093, 0.01])
    assert sum(chart["series"][0]["y"]) == pytest.approx(sum(chart["series"][1]["y"])) == pytest.approx(1)
    assert "whole steps of 12" in chart["note"]


def test_a_release_that_did_not_ask_says_nothing(get, ledger):
    ledger.append(released())
    assert "still good for" not in Page(get(PAGE).text).text
    assert get(f"/api{PAGE}").json()["entry"]["content"]["usefulness"] is None


def test_an_entry_with_small_counts_is_not_drawn_with_them():
    """As somebody who changed an entry, or another version, may have written it: k is 5."""
    labels = [
        {"label": "few", "before": 4, "after": 4},
        {"label": "few suppressed", "before": 104, "after": 101},
        {"label": "enough", "before": 105, "after": 100},
    ]
    (column,) = told(columns=[{**AGE, "labels": labels, "suppressed": 4}])["columns"]
    before, after = column["chart"]["series"]
    assert before["x"] == after["x"] == ["few suppressed", "enough"]
    assert before["y"] == [None, 105 / 4_000]
    assert after["y"] == [101 / 4_000, 100 / 4_000]


def test_where_persons_are_counted_the_page_says_what_is_not_published_and_why(get, ledger):
    why = {"before": "records of one person may have several labels", "proportion_overlap": "they are the same"}
    columns = [
        {**AGE, "suppressed": 0, "step": None, "not_told": why, "proportion_overlap": None},
        {**ZIP, "not_told": {**why, "labels": "they may be of few persons"}},
    ]
    ledger.append(
        {**released(), "usefulness": {**USEFULNESS, "persons": 3_000, "restricted": True, "columns": columns}}
    )
    text = Page(get(PAGE).text).text
    assert "3,000 or more of whom the file shows a record" in text
    assert "measured as if there had been none of them" not in text
    assert "Not published of age, zip: the overlap of shares, because they are the same." in text
    assert "Not published of zip: the distribution, because they may be of few persons." in text
    assert "zip: no distribution" not in text
    found = get(f"/api{PAGE}").json()["entry"]["content"]["usefulness"]
    chart = found["columns"][0]["chart"]
    assert [(one["name"], one["x"]) for one in chart["series"]] == [("In the file", ["0-39", "40-79", OTHER])]
    assert found["columns"][1]["chart"] is None


@pytest.mark.parametrize("records", [None, 0])
def test_without_its_records_a_column_is_not_drawn(records):
    (column,) = told(columns=[{**AGE, "records": records}])["columns"]
    assert column["chart"] is None


def test_labels_are_text(get, ledger):
    labels = [{"label": HOSTILE, "before": 1_600, "after": 1_588}]
    ledger.append(
        {**released(), "usefulness": {**USEFULNESS, "columns": [{**AGE, "column": HOSTILE, "labels": labels}]}}
    )
    page = get(PAGE).text
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_few_records_left_out_are_said_not_to_count(get, ledger):
    ledger.append({**released(), "usefulness": {**USEFULNESS, "restricted": True}})
    assert "measured as if there had been none of them" in Page(get(PAGE).text).text
