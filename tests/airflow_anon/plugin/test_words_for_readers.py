"""What pages say in the words of their readers: refusals, what leaves, losses of two measures, runs without entry."""

from __future__ import annotations

import copy
import datetime as dt

import pytest

from airflow_anon.plugin.pages.remedies import remedies
from airflow_anon.plugin.schedules import dags_tagged, run_only_checks, run_tasks
from tests.airflow_anon.plugin.documents import refused_by_validation, released, series, typed, unreleased
from tests.airflow_anon.plugin.html import Page

pytestmark = pytest.mark.airflow

RUN = "scheduled__2026-03-01T02:15:00+00:00"
PAGE = f"/dags/stays/runs/{RUN}"


def test_a_refusal_says_what_can_be_done_and_by_whom(get, ledger):
    document = unreleased()
    document["job"]["document"]["dag"] = {"owner": "clinical-data"}
    ledger.append(document)
    text = Page(get(PAGE).text).text
    assert "What can be done" in text
    assert "suppression_limit" in text
    assert "By the owner of the job, clinical-data." in text
    assert "By whoever answers for privacy." in text


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (refused_by_validation(), "Do not publish the output by hand"),
        (unreleased("failed"), "clear the run"),
        (unreleased(), "coarser levels"),
        (released(), None),
    ],
)
def test_what_can_be_done_depends_on_why(document, words):
    told = " ".join(one["what"] for one in remedies(typed(document)))
    assert (words is None and not told) or words in told


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("none", "no record was suppressed"),
        ("star", "Each still shows its diagnosis, ward."),
        ("drop", "They are left out of the release."),
        (None, "Not recorded in this entry."),
    ],
)
def test_the_certificate_says_what_leaves(get, ledger, form, words):
    document = released()
    if form is not None:
        document["records"]["suppressed_form"] = form
    ledger.append(document)
    told = get(f"/api{PAGE}/certificate").json()["leaves"]
    assert (told["removed"], told["sensitive"], told["insensitive"]) == (["mrn"], ["diagnosis"], ["ward"])
    text = Page(get(f"{PAGE}/certificate").text).text
    assert "Removed: direct identifiers mrn" in text
    assert "Sensitive, leave as they are diagnosis" in text
    assert words in text


def test_the_certificate_says_which_identifiers_are_pseudonyms_and_which_dates_are_shifted(get, ledger):
    """Entries of earlier versions say nothing of it: there each identifying column was dropped."""
    document = released()
    written = document["job"]["document"]
    key = {"key_conn_id": "deid_key", "key_id": "00ff00ff00ff00ff"}
    written["attributes"]["mrn"] |= {"action": "pseudonymize", **key}
    written["attributes"]["visit"] = {"role": "identifying", "action": "pseudonymize", "family": "encounter"}
    written["attributes"]["ward"] = {"role": "insensitive", "action": "shift"}
    written["attributes"]["born"] = {"role": "quasi-identifying", "action": "shift", "hierarchy": {"builder": "date"}}
    written["shift"] = {"days": 60, "weeks": True, **key}
    ledger.append(document)
    told = get(f"/api{PAGE}/certificate").json()["leaves"]
    assert (told["removed"], told["sensitive"], told["insensitive"]) == ([], ["diagnosis"], [])
    assert told["pseudonymized"] == [
        "mrn: pseudonyms by the key 00ff00ff00ff00ff, which stays over releases",
        "visit: pseudonyms of the family encounter by a key of this release alone",
    ]
    moved = "shifted by the days of each person (whole weeks, at most 60 days) by the key 00ff00ff00ff00ff, which stays"
    assert told["shifted"] == [f"born, ward: {moved} over releases"]
    text = Page(get(f"{PAGE}/certificate").text).text
    assert "Pseudonymized identifiers mrn: pseudonyms by the key" in text
    assert "Shifted dates born, ward: shifted by the days of each person" in text
    columns = get(f"/api{PAGE}").json()["entry"]["content"]["lineage"]["columns"]
    becomes = {one["name"]: one["becomes"] for one in columns}
    assert becomes["mrn"].startswith("pseudonyms by the key")
    assert becomes["ward"].startswith("shifted by the days")
    assert becomes["born"].endswith("then generalized to its level, or suppressed")


def test_the_certificate_says_which_columns_are_coded_and_aggregated(get, ledger):
    """They are neither generalized nor as they were."""
    document = released()
    columns = document["job"]["document"]["attributes"]
    columns["ward"] = {"role": "insensitive", "coding": {"top": 60, "round_to": 5}}
    columns["height"] = {"role": "quasi-identifying", "microaggregation": "mean", "coding": {"bottom": 150}}
    ledger.append(document)
    told = get(f"/api{PAGE}/certificate").json()["leaves"]
    assert told["insensitive"] == []
    assert "height" not in told["generalized"]
    mean = "150 or less joined, the mean of its equivalence class for each record"
    assert told["transformed"] == [f"height: {mean}", "ward: rounded to 5, 60 or more joined"]
    assert (
        "Coded, aggregated or drawn at random height: 150 or less joined" in Page(get(f"{PAGE}/certificate").text).text
    )
    lines = get(f"/api{PAGE}").json()["entry"]["content"]["lineage"]["columns"]
    assert {one["name"]: one["becomes"] for one in lines}["height"] == mean


def test_the_certificate_says_which_columns_are_drawn_at_random_and_grouped(get, ledger):
    document = released()
    columns = document["job"]["document"]["attributes"]
    columns["ward"] = {"role": "insensitive", "pram": {"pd": 0.8, "alpha": 0.5}}
    columns["height"] = {"role": "insensitive", "microaggregation": "mdav"}
    columns["income"] = {"role": "insensitive", "noise": {"percent": 25.0}}
    ledger.append(document)
    told = get(f"/api{PAGE}/certificate").json()["leaves"]
    assert told["insensitive"] == []
    assert told["transformed"] == [
        "height: the mean of a group of alike records of its equivalence class for each record",
        "income: random noise of 25% of its standard deviation",
        "ward: some categories changed at random (PRAM, pd 0.8, alpha 0.5)",
    ]


def test_the_page_and_the_certificate_say_that_it_is_a_sample(get, ledger):
    document = released()
    document["job"]["document"]["sample"] = {"fraction": 0.25}
    ledger.append(document)
    assert get(f"/api{PAGE}").json()["entry"]["content"]["lineage"]["sample"] == 0.25
    assert "Random sample these records, each of the source drawn with 25" in Page(get(PAGE).text).text
    assert "records: a random sample, each of the source drawn with 25" in Page(get(f"{PAGE}/certificate").text).text


def test_the_page_and_the_certificate_say_which_classes_of_a_private_sample_are_shown(get, ledger):
    document = released()
    model = {"model": "differential-privacy", "epsilon": 1, "delta": 1e-06, "sampling_fraction": 0.5}
    document["job"]["document"] |= {"sample": {"fraction": 0.5}, "privacy": [model]}
    document["timings"] = document["search"]["seconds"] = document["search"]["warm_up_seconds"] = None
    ledger.append(document)
    words = "each of the source drawn with 50%; of those drawn, only classes of at least 5 records"
    assert words in Page(get(PAGE).text).text
    assert "of which classes of at least 5 records are shown" in Page(get(f"{PAGE}/certificate").text).text


def test_losses_of_two_measures_are_two_lines(get, ledger):
    """And no difference between them is told."""
    series(ledger, 3)
    other = released(release_id="20270301T021500Z-0a1b2c3d", run_id="other")
    other["solution"]["measure"] = "entropy"
    other["job"]["sha256"] = "cd" * 32
    ledger.append(other)
    chart = get("/api/dags/stays").json()["histories"][0]["charts"][0]
    assert len(chart["series"]) == 2
    assert [sum(value is not None for value in one["y"]) for one in chart["series"]] == [3, 1]
    assert all("Information loss (" in one["name"] for one in chart["series"])
    lately = get("/api/jobs").json()["jobs"][0]["lately"]
    assert [loss is not None for loss in lately["information_loss"]] == [False, False, False, True]
    figures = get("/api/dags/stays/runs/other").json()["entry"]["content"]["comparison"]["figures"]
    losses = [one for one in figures if one["title"].startswith("Information loss")]
    assert [(one["before"]["value"] is None, one["now"]["value"] is None) for one in losses] == [
        (False, True),
        (True, False),
    ]
    assert all(one["change"]["value"] is None for one in losses)


@pytest.mark.parametrize(
    ("tasks", "words", "never"),
    [
        (["visits.record_attempt", "labs.record_attempt"], "clear them to record", "frontier"),
        (["people.frontier", "people.extract"], "people.frontier", "record_attempt"),
        (["job_file_is_broken", "remove_staging"], "A job file is broken", "record_attempt"),
        (["other"], "no task that records an attempt", "record_attempt"),
    ],
)
def test_the_page_of_a_run_without_an_entry_names_tasks_that_it_has(get, ledger, monkeypatch, tasks, words, never):
    monkeypatch.setattr("airflow_anon.plugin.pages.release.run_state", lambda *_: "failed")
    monkeypatch.setattr("airflow_anon.plugin.pages.release.run_tasks", lambda *_: tasks)
    text = Page(get("/dags/stays/runs/none").text).text
    assert words in text
    assert never not in text


@pytest.mark.parametrize(
    ("state", "words"),
    [("success", "It found nothing wrong"), ("failed", "A release would not be made"), ("running", "What it finds")],
)
def test_the_page_of_a_run_that_checks_only_says_so(get, ledger, monkeypatch, state, words):
    place = "airflow_anon.plugin.pages.release"
    monkeypatch.setattr(f"{place}.run_state", lambda *_: state)
    monkeypatch.setattr(f"{place}.run_tasks", lambda *_: ["record_attempt"])
    monkeypatch.setattr(f"{place}.run_only_checks", lambda *_: True)
    text = Page(get("/dags/stays/runs/none").text).text
    assert "It was started to check only" in text
    assert words in text
    assert "did not run or could not write" not in text


def test_tasks_and_tags_are_read_from_airflow(airflow_settings):
    """Of a run that is not there: none."""
    assert run_tasks("no-dag", "no-run") == []
    assert not run_only_checks("no-dag", "no-run")
    assert dags_tagged("no-such-tag") == {}


def test_a_broken_job_that_never_ran_is_on_the_overview(get, ledger, monkeypatch):
    found = {"stays": "The job file stays.yaml is broken", "secret": "The job file secret.yaml is broken"}
    monkeypatch.setattr("airflow_anon.plugin.pages.found_outside.dags_tagged", lambda _: found)
    jobs = get("/api/jobs", "only-stays").json()["jobs"]
    assert [(job["job"], job["state"], job["broken"]) for job in jobs] == [("stays", "failed", found["stays"])]
    assert jobs[0]["last_attempt"] is None
    assert "The job file stays.yaml is broken" in Page(get("/?alerts=1", "only-stays").text).text
    assert "secret" not in get("/", "only-stays").text
    ledger.append(released())
    (job,) = get("/api/jobs", "only-stays").json()["jobs"]
    assert (job["job"], job["state"]) == ("hospital-stays", "failed")


def test_who_sees_no_dag_learns_no_number(get, ledger):
    """Neither of entries, nor the newest one, nor of what was changed."""
    series(ledger, 3)
    with ledger._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE release_ledger SET rows = 1")
    told = get("/api/ledger", "blind").json()
    assert (told["entries"], told["newest"], told["jobs"]) == (0, None, 0)
    assert told["listed"]["total"] == 0
    assert [one["sequence"] for one in told["breaks"]] == [None]
    overview = get("/api/jobs", "blind").json()
    assert overview["chain"]["breaks"] == 0
    assert (overview["total"], sum(overview["counts"].values())) == (0, 0)
    assert get("/api/ledger").json()["entries"] == 3


def test_a_user_of_one_dag_gets_the_numbers_of_that_dag(get, ledger):
    first = ledger.append(released())
    ledger.append(copy.deepcopy(released("other", dag_id="other", run_id="o", release_id="o")))
    told = get("/api/ledger", "only-stays").json()
    assert (told["entries"], told["newest"]["sequence"]) == (1, first.sequence)
    assert dt.datetime.fromisoformat(told["newest"]["recorded_at"])
