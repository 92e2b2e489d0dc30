"""What the pages say of releases: states, order, filters, comparison, search, certificate, frontier."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from airflow_anon.plugin.pages import comparison
from airflow_anon.plugin.pages.differences import differences
from airflow_anon.plugin.pages.levels import levels
from airflow_anon.plugin.pages.search import search
from airflow_anon.plugin.sparkline import HEIGHT, WIDTH, sparkline
from tests.airflow_anon.plugin.documents import (
    HOSTILE,
    publish,
    refused_by_validation,
    released,
    series,
    sha256,
    typed,
    unreleased,
    variant,
)
from tests.airflow_anon.plugin.html import Page
from tests.airflow_anon.plugin.test_tampering import change
from tests.engine.frontiers.frontier_report import frontier_report

RUN = "scheduled__2026-03-01T02:15:00+00:00"
PAGE = f"/dags/stays/runs/{RUN}"

settings = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "b"]),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from("xyz"), below, max_size=3),
    max_leaves=6,
)


def flat(value, path=()):
    """Give path and JSON of everything in a value that is no mapping, and of empty mappings."""
    if isinstance(value, dict) and value:
        return {key: text for name, below in value.items() for key, text in flat(below, (*path, name)).items()}
    return {path: json.dumps(value, sort_keys=True)}


def compared(document, before):
    return comparison.compared(typed(document), typed(before))


@given(settings, settings)
def test_settings_differ_where_they_are_written_differently(before, after):
    assert (differences(before, after) == []) == (
        json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
    )


@given(st.dictionaries(st.sampled_from("xyz"), settings, max_size=3), st.dictionaries(st.sampled_from("xyz"), settings))
def test_each_leaf_that_differs_lies_below_a_key_that_is_named(before, after):
    named = [tuple(one["key"].partition("[")[0].split(".")) for one in differences(before, after)]
    old, new = flat(before), flat(after)
    if before and after:
        for path in {*old, *new} - {()}:
            if old.get(path) != new.get(path):
                assert any(path[: len(key)] == key or key[: len(path)] == path for key in named), path


def test_a_setting_in_a_list_is_named_by_its_place():
    """Where both lists are as long; else the whole list is."""
    before = {"privacy": [{"model": "k-anonymity", "k": 5}, {"model": "l-diversity", "l": 2}]}
    after = {"privacy": [{"model": "k-anonymity", "k": 25}, {"model": "l-diversity", "l": 2}]}
    assert differences(before, after) == [{"key": "privacy[0].k", "before": "5", "after": "25"}]
    shorter = {"privacy": before["privacy"][:1]}
    assert [one["key"] for one in differences(before, shorter)] == ["privacy"]


def test_levels_changed_with_the_data():
    told = compared(released(fingerprint="2", age=3), released(fingerprint="1", age=2))
    assert told["verdict"] == "The levels differ because the data changed."
    assert [(one["attribute"], one["before"]["level"], one["after"]["level"]) for one in told["levels"]] == [
        ("age", 2, 3)
    ]
    assert told["levels"][0]["before"]["example"] == "40-49"


def test_levels_changed_with_the_configuration():
    after = released(age=3)
    after["job"]["document"]["attributes"]["age"]["maximum_level"] = 3
    after["job"]["document"]["suppression_limit"] = 0.02
    told = compared(after, released(age=2))
    assert told["verdict"] == "The levels differ because the configuration changed."
    assert told["settings"] == [
        {"key": "attributes.age.maximum_level", "before": None, "after": "3"},
        {"key": "suppression_limit", "before": "0.05", "after": "0.02"},
    ]


def test_levels_changed_with_all_of_them():
    after = released(age=3, fingerprint="2", k=7)
    after["versions"]["airflow-anon"] = "0.2.0"
    told = compared(after, released(age=2))
    assert told["causes"] == ["data", "configuration", "software"]
    assert "the data, the configuration and versions of the software changed" in told["verdict"]


def test_nothing_changed():
    told = compared(released(), released())
    assert told["verdict"] == "The levels are the same. Nothing changed."
    assert (told["levels"], told["settings"], told["versions"], told["causes"]) == ([], [], [], [])


def test_what_an_attempt_does_not_tell_is_no_change():
    """A job file that broke during the run tells no job any more; an attempt that ended early names no packages."""
    early = unreleased("failed")
    early["job"], early["versions"] = {"sha256": None}, {"airflow": "3.3.2"}
    told = compared(early, released())
    assert (told["settings"], told["versions"], told["causes"]) == ([], [], [])
    assert "Changed since: nothing that is recorded" in told["verdict"]


def test_a_change_that_nothing_explains_is_said_to_be_one():
    assert "nothing that is recorded explains it" in compared(released(age=3), released(age=2))["verdict"]


def test_without_a_fingerprint_it_is_not_known_whether_the_data_changed():
    before = released(age=2)
    before["source"]["fingerprint"] = None
    told = compared(released(age=3), before)
    assert told["data"] == "unknown"
    assert "is not known" in told["verdict"]
    unchanged = compared(released(), {**before, "levels": released()["levels"]})
    assert "Nothing changed" not in unchanged["verdict"]


def test_only_fingerprints_under_one_key_are_compared():
    """The same records have other fingerprints under another key, and one without a key is not told."""
    for now, then in (("a" * 16, "b" * 16), ("a" * 16, None), (None, "a" * 16), (None, None)):
        told = compared(released(fingerprint="2", key=now), released(fingerprint="1", key=then))
        assert (told["data"], told["causes"]) == ("unknown", [])
        assert "not known: there are no two fingerprints of the source under one key" in told["verdict"]
        assert compared(released(key=now), released(key=then))["data"] == "unknown"
    assert compared(released(key="a" * 16), released(key="a" * 16))["data"] == "same"


def test_groups_of_a_policy_are_counted_and_not_named():
    """They may name values that a release hides, such as the oldest age."""

    def by(*groups):
        document = released()
        ranges = [{"from": first, "to": last} for first, last in groups]
        document["job"]["document"]["attributes"]["age"]["hierarchy"] = {"builder": "policy", "groups": ranges}
        return document

    before = by((0, 49), (50, 103))
    assert compared(by((0, 49), (50, 103)), before)["settings"] == []
    key = {"key": "attributes.age.hierarchy.groups"}
    assert compared(by((0, 59), (60, 103)), before)["settings"] == [
        {**key, "before": '"2 groups"', "after": '"2 other groups"'}
    ]
    told = compared(by((0, 107)), before)
    assert told["settings"] == [{**key, "before": '"2 groups"', "after": '"1 other group"'}]
    assert told["causes"] == ["configuration"]
    assert not {"103", "107"} & set(re.findall(r"\d+", json.dumps(compared(released(), before))))


def test_a_gap_is_said_in_words():
    document = released()
    document["solution"].update(optimal=False, gap=0.125)
    document["search"]["proof"] = None
    assert "at most 12.50% less information loss" in search(typed(document))["verdict"]
    document["solution"]["gap"] = None
    assert "how much better another transformation could be is not known" in search(typed(document))["verdict"]


@given(st.lists(st.none() | st.floats(-1e6, 1e6), max_size=12))
def test_a_small_chart_stays_in_its_frame(values):
    known = [value for value in values if value is not None]
    line = sparkline(values)
    assert (line is None) == (len(known) < 2)
    if line is not None:
        points = [point.split() for point in line["path"].replace("L", "M").split("M") if point.strip()]
        assert len(points) == len(known)
        assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in points)
        lowest, highest = known.index(min(known)), known.index(max(known))
        assert float(points[lowest][1]) >= float(points[highest][1])


def test_a_small_chart_begins_at_zero():
    """A change of a hundredth of the figure is a hundredth of the height, not all of it."""
    first, last = (
        float(point.split()[1]) for point in sparkline([0.5, 0.505])["path"].replace("L", "M").split("M")[1:]
    )
    assert 0 <= first - last <= 0.02 * HEIGHT
    assert last < HEIGHT / 4


pytestmark = pytest.mark.airflow


def test_what_asks_for_attention_comes_first(get, ledger):
    ledger.append(released("b-released", dag_id="d1", run_id="1", release_id="1"))
    ledger.append(unreleased("failed", name="c-failed", dag_id="d2", run_id="1"))
    ledger.append(unreleased(name="z-refused", dag_id="d3", run_id="1"))
    ledger.append(released("z-refused-once", dag_id="d4", run_id="1", release_id="1"))
    ledger.append(unreleased(name="z-refused-once", dag_id="d4", run_id="2"))
    ledger.append(released("a-recovered", dag_id="d5", run_id="1", release_id="1"))
    ledger.append(unreleased(name="a-recovered", dag_id="d5", run_id="2"))
    ledger.append(released("a-recovered", dag_id="d5", run_id="3", release_id="3"))
    ledger.begin(released("x-pending", dag_id="d6", run_id="1", release_id="1"))
    told = get("/api/jobs").json()
    assert [(job["job"], job["state"]) for job in told["jobs"]] == [
        ("z-refused", "refused"),
        ("z-refused-once", "refused"),
        ("c-failed", "failed"),
        ("x-pending", "pending"),
        ("a-recovered", "released"),
        ("b-released", "released"),
    ]
    assert told["jobs"][1]["last_release"]["sequence"] == 4
    assert told["jobs"][0]["last_release"] is None
    for query, expected in (
        ("?state=refused", ["z-refused", "z-refused-once"]),
        ("?q=ONCE", ["z-refused-once"]),
        ("?q=d5", ["a-recovered"]),
        ("?q=nothing", []),
        ("?state=nonsense&q=b-", ["b-released"]),
    ):
        assert [job["job"] for job in get(f"/api/jobs{query}").json()["jobs"]] == expected
        text = Page(get(f"/{query}").text).text
        assert {job["job"] for job in told["jobs"] if f"{job['job']} d" in text} == set(expected)


def test_alerts_are_shown_and_can_be_asked_for(get, ledger):
    pytest.importorskip("airflow_anon.observe.alerts")
    ledger.append(released("calm", dag_id="d1", run_id="1", release_id="1"))
    ledger.append(unreleased(name="stopped", dag_id="d2", run_id="1"))
    told = get("/api/jobs?alerts=1").json()["jobs"]
    assert [job["job"] for job in told] == ["stopped"]
    assert told[0]["alerts"][0]["kind"] == "refused"
    assert told[0]["alerts"][0]["text"] in Page(get("/").text).text


def test_the_history_has_every_attempt_once(get, ledger):
    entries = series(ledger, 120)
    seen = []
    for page in (1, 2, 3):
        told = get(f"/api/dags/stays?page={page}").json()["histories"][0]
        assert (told["page"], told["pages"], told["total"]) == (page, 3, 120)
        seen += [one["sequence"] for one in told["attempts"]]
    assert seen == [entry.sequence for entry in reversed(entries)]
    refused = get("/api/dags/stays?state=refused").json()["histories"][0]
    assert [one["state"] for one in refused["attempts"]] == ["refused"] * 17
    for odd in ("0", "-1", "x", "99", "9" * 30, ""):
        assert get(f"/dags/stays?page={odd}").status_code == 200
    charts = {chart["title"]: chart for chart in refused["charts"]}
    assert len(charts["Information loss"]["series"][0]["x"]) == 103
    assert charts["Information loss"]["series"][0]["y"][-1] == entries[-1].information_loss
    since = entries[next(i for i, one in enumerate(entries) if one.outcome == "released")].recorded_at
    nights = [one.recorded_at for one in entries if one.outcome == "refused" and one.recorded_at >= since]
    assert charts["Information loss"]["refused"] == nights
    assert sum(row[-1] == "refused" for row in charts["Information loss"]["table"]["rows"]) == len(nights)


def test_risk_and_levels_over_time_are_those_of_the_documents(get, ledger):
    series(ledger, 12)
    told = get("/api/dags/stays").json()["histories"][0]
    charts = {chart["title"]: chart for chart in told["charts"]}
    entries = ledger.of_job(told["job"], outcome="released")[::-1]
    documents = [ledger.document(one.sequence) for one in entries]
    assert charts["Highest risk"]["series"][0]["y"] == [one["risk"]["prosecutor"] for one in documents]
    assert charts["Highest risk"]["ends"] in ([0.0, 0.2], [0.0, 1.0])
    assert [one["at"] for one in charts["Highest risk"]["limits"]] == [0.05, 0.09]
    drawn = {one["name"]: one["y"] for one in charts["Generalization levels"]["series"]}
    assert drawn
    for name, found in drawn.items():
        assert found == [one["levels"][name]["level"] for one in documents]


def test_a_history_of_one_release_says_why_it_has_no_chart(get, ledger):
    ledger.append(unreleased(run_id="1"))
    assert "Charts over time need two releases; there is none so far" in Page(get("/dags/stays").text).text
    ledger.append(released(run_id="2"))
    assert "Charts over time need two releases; there is one so far" in Page(get("/dags/stays").text).text
    assert get("/api/dags/stays").json()["histories"][0]["charts"] == []


def test_a_dag_with_several_jobs_has_each(get, ledger):
    ledger.append(released("one", run_id="1", release_id="1", group="one."))
    ledger.append(unreleased(name="two", run_id="1", group="two."))
    assert [one["job"] for one in get("/api/dags/stays").json()["histories"]] == ["one", "two"]
    assert [one["job"] for one in get("/api/dags/stays?job=two").json()["histories"]] == ["two"]
    for task, job in (("one.publish", "one"), ("two.validate", "two"), ("two.inner.x", "two")):
        told = get(f"/api/dags/stays/runs/1/tasks/{task}").json()
        assert told["entry"]["job"] == job
        assert len(told["entries"]) == 2
    other = get("/api/dags/stays/runs/1/tasks/unrelated").json()
    assert other["entry"] is None
    assert "belongs to no de-identification job" in Page(get("/dags/stays/runs/1/tasks/unrelated").text).text


def test_a_cleared_run_shows_its_newest_attempt(get, ledger):
    first = ledger.append(unreleased(attempt=1))
    second = ledger.append(released(attempt=2))
    assert get(f"/api{PAGE}").json()["entry"]["sequence"] == second.sequence
    assert get(f"/api{PAGE}?entry={first.sequence}").json()["entry"]["state"] == "refused"


def test_a_refused_attempt_says_why(get, ledger):
    ledger.append(refused_by_validation())
    page = Page(get(PAGE).text)
    assert "Why nothing was released" in page.text
    assert "1 of 2 expectations is not met" in page.text
    assert "12 labels are none of level 2" in page.text
    assert "Nothing was published." in page.text
    assert "This is the safeguard at work" in page.text
    assert "It ended while validating the result" in page.text
    assert "none was released" in page.text
    assert "released 4,000" not in page.text, "that many were ready, and stayed where they were"
    assert get(f"{PAGE}/certificate").status_code == 404
    told = get(f"/api{PAGE}").json()["entry"]["content"]["validation"]
    assert [one["success"] for one in told["results"]] == [False, True]


@pytest.mark.parametrize(("group", "task"), [("", "extract"), ("stays.", "stays.extract")])
def test_a_failed_attempt_says_that_no_criterion_ended_it(get, ledger, group, task):
    document = unreleased("failed", dag_id="stays", group=group)
    document["reason"]["task"] = task
    ledger.append(document)
    page = Page(get(PAGE).text)
    assert "No privacy criterion said no" in page.text
    assert "It ended while reading the table from the warehouse" in page.text
    assert "safeguard" not in page.text


def test_a_run_that_nobody_knows_has_no_page(get, ledger):
    for suffix in ("", "/certificate", "/tasks/x"):
        assert get(f"{PAGE}{suffix}").status_code == 404
        assert get(f"/api{PAGE}{suffix}").json() == {"detail": get(f"/api{PAGE}{suffix}").json()["detail"]}


def test_a_run_without_an_entry_yet_says_so(get, ledger, run_dag):
    from airflow.sdk import DAG  # noqa: PLC0415 (needs the environment)

    with DAG("no_entry", schedule=None) as dag:
        pass
    run = run_dag(dag)
    told = get(f"/api/dags/no_entry/runs/{run.run_id}").json()
    assert (told["run_state"], told["entry"]) == (str(run.state), None)
    page = Page(get(f"/dags/no_entry/runs/{run.run_id}").text)
    assert "This run has no entry in the ledger." in page.text
    assert any("/dags/no_entry/runs/" in link and "deidentification" not in link for link in page.links())


def test_the_next_run_is_that_of_airflow(get, ledger, run_dag):
    from airflow.models.dag import DagModel  # noqa: PLC0415 (needs the environment)
    from airflow.sdk import DAG  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415

    with DAG("planned", schedule=None) as dag:
        pass
    run_dag(dag)
    ledger.append(released(dag_id="planned", run_id="1"))
    with create_session() as session:
        session.get(DagModel, "planned").is_paused = True
    assert get("/api/jobs").json()["jobs"][0]["next_run"] == {"at": None, "paused": True}
    assert "paused" in Page(get("/").text).text
    assert get("/api/dags/unknown_to_airflow").json()["next_run"] is None


@pytest.mark.parametrize("recorded", [True, False])
def test_a_run_that_failed_without_an_entry_is_not_hidden_by_the_release_before(get, ledger, run_dag, recorded):
    """As where the job file broke between two nights: nothing of the job ran, so nothing could be recorded."""
    from airflow.providers.standard.operators.python import PythonOperator  # noqa: PLC0415 (needs the environment)
    from airflow.sdk import DAG  # noqa: PLC0415

    def broken():
        raise ValueError("the job file is broken")

    dag_id = f"night_{recorded}"
    with DAG(dag_id, schedule=None) as dag:
        PythonOperator(task_id="broken", python_callable=broken)
    ledger.append(released(dag_id=dag_id, run_id="the night before"))
    run = run_dag(dag)
    assert str(run.state) == "failed"
    if recorded:
        ledger.append(unreleased("refused", dag_id=dag_id, run_id=run.run_id))
    (job,) = get("/api/jobs").json()["jobs"]
    assert job["state"] == ("refused" if recorded else "failed")
    assert (job["failed_run"] or {}).get("run_id") == (None if recorded else run.run_id)
    page = Page(get("/?alerts=1").text)
    assert ("the ledger has no entry for it" in page.text) is not recorded
    assert job["last_release"]["run_id"] == "the night before"


def test_a_run_that_was_recorded_long_ago_is_not_said_to_have_no_entry(get, ledger, run_dag, monkeypatch):
    """A job that runs once a year, beside others that fill the ledger every few minutes."""
    from airflow.providers.standard.operators.python import PythonOperator  # noqa: PLC0415 (needs the environment)
    from airflow.sdk import DAG  # noqa: PLC0415

    def refused():
        raise ValueError("no transformation satisfies the criteria")

    with DAG("yearly", schedule=None) as dag:
        PythonOperator(task_id="refused", python_callable=refused)
    ledger.append(unreleased("refused", dag_id="yearly", run_id=run_dag(dag).run_id))
    for number in range(3):
        ledger.append(released("busy", dag_id="busy", run_id=str(number), release_id=str(number)))
    monkeypatch.setattr("airflow_anon.plugin.pages.overview.NEWEST", 2)
    jobs = {job["dag_id"]: job for job in get("/api/jobs").json()["jobs"]}
    assert jobs["yearly"]["failed_run"] is None
    assert jobs["yearly"]["state"] == "refused"


def test_alerts_are_those_of_the_notifier_where_nights_were_made_up_for_later(get, ledger):
    """Both learn from the releases in the order in which they were recorded, since the job was changed last."""
    from airflow_anon.observe.alerts import alerts_of  # noqa: PLC0415

    nights = [(10, 6), *((day, 5) for day in range(1, 6)), (11, 5)]
    losses = [0.2] * 6 + [0.9]
    for (day, k), loss in zip(nights, losses, strict=True):
        identity = f"202603{day:02}T000000Z-00000000"
        ledger.append(released(run_id=str(day), release_id=identity, loss=loss, k=k))
    newest, *earlier = ledger.of_job("hospital-stays")
    expected = [alert.kind for alert in alerts_of(newest, earlier, smallest=5)]
    assert expected == ["loss"]
    (job,) = get("/api/jobs").json()["jobs"]
    assert [alert["kind"] for alert in job["alerts"]] == expected


def test_the_last_release_is_the_one_that_readers_follow(get, ledger):
    """A night that was made up for later is recorded last, and is not the newest."""
    ledger.append(released(run_id="today", release_id="20260302T000000Z-00000000", loss=0.2))
    ledger.append(released(run_id="yesterday", release_id="20260301T000000Z-00000000", loss=0.4))
    (job,) = get("/api/jobs").json()["jobs"]
    assert job["last_attempt"]["run_id"] == "yesterday"
    assert job["last_release"]["run_id"] == "today"
    assert job["lately"]["information_loss"] == [0.4, 0.2]


def of_persons(**records):
    """Give the document of a release whose job counts persons."""
    document = released()
    document["lint"]["unit"] = "person"
    document["risk"]["share_below_11"] = 0.1
    document["records"] |= {"persons": 1_000, "persons_suppressed_share": 0.0125, **records}
    return document


def test_pages_say_persons_where_persons_were_counted(get, ledger):
    ledger.append(of_persons(further_rows={"left_out": 700, "share": 0.14}))
    page, certificate = (Page(get(f"{PAGE}{suffix}").text).text for suffix in ("", "/certificate"))
    for text in (page, certificate):
        assert "1,000" in text
        assert "1.25% no record is kept" in text
        assert "further rows left out: 700 (14%)" in text
        assert "risks count persons" in text
        assert "risks count records" not in text
    assert "share of persons that are re-identified on average" in page
    assert "Persons at prosecutor risk" in page
    assert "Records at prosecutor risk" not in page
    assert "Persons in classes below 11" in certificate
    told = get(f"/api{PAGE}").json()["entry"]["content"]
    assert told["counted"] == "persons"
    assert told["persons"]["number"] == 1_000


SERIES = {
    "name": "stays",
    "release_id": "one",
    "memory": 30,
    "arrivals": "hold-back",
    "departures": "cover",
    "releases": 7,
    "smallest_trace": 1_500,
    "suppressed_share": 0.01,
    "held_back_share": 0.025,
    "covered_share": None,
}


def test_pages_tell_what_a_series_costs(get, ledger):
    ledger.append({**of_persons(), "series": SERIES})
    for suffix in ("", "/certificate"):
        text = Page(get(f"{PAGE}{suffix}").text).text
        assert "at least 1,500 persons of each trace" in text
        assert "waiting 2.5%, withheld as covers few" in text
    assert get(f"/api{PAGE}").json()["entry"]["content"]["series"]["releases"] == 7


def test_pages_tell_what_a_series_was_expected_to_cost(get, ledger):
    churn = {"arrivals": 0.01, "departures": 0.01, "loss_possible": 0.1, "held_back_share": 0.02}
    ledger.append({**of_persons(), "series": {**SERIES, "churn": {**churn, "covered_share": None}}})
    assert "withheld as covers few (expected 2% and untold)" in Page(get(PAGE).text).text
    told = get(f"/api{PAGE}").json()["entry"]["content"]["series"]["churn"]
    assert told == {"held_back_share": 0.02, "covered_share": None}


def test_pages_tell_which_levels_of_a_series_changed(get, ledger):
    changed = {"age": {"before": 1, "now": 3}}
    ledger.append({**of_persons(), "series": {**SERIES, "levels_changed": changed}})
    for suffix in ("", "/certificate"):
        assert "levels changed: age from 1 to 3" in Page(get(f"{PAGE}{suffix}").text).text
    assert get(f"/api{PAGE}").json()["entry"]["content"]["series"]["levels_changed"] == [
        {"attribute": "age", "before": 1, "now": 3}
    ]


def test_pages_do_not_tell_how_few_share_a_trace(get, ledger):
    alone = {**SERIES, "smallest_trace": 1, "departures": "report", "below_share": 0.02}
    ledger.append({**of_persons(), "series": alone})
    for suffix in ("", "/certificate"):
        text = Page(get(f"{PAGE}{suffix}").text).text
        assert "fewest persons of one trace withheld" in text
        assert "departures are reported, not covered: in traces of too few 2%" in text
    assert get(f"/api{PAGE}").json()["entry"]["content"]["series"]["smallest_trace"] is None


def test_pages_do_not_tell_how_few_persons_are_gone(get, ledger):
    few = {"left_out": None, "share": None}
    ledger.append(of_persons(persons=None, persons_suppressed_share=None, further_rows=few))
    for suffix in ("", "/certificate"):
        text = Page(get(f"{PAGE}{suffix}").text).text
        assert "withheld" in text
        assert "further rows left out: few" in text


@pytest.mark.parametrize(
    ("knows", "told", "text"),
    [
        ({}, "any-row", "Who knows any one of a person's rows finds the person among those of its class"),
        ({"knows": "any-row"}, "any-row", "Who knows any one of a person's rows"),
        ({"knows": "all-rows"}, "all-rows", "Who knows all rows of a person finds the person among those who have"),
        ({"knows": {"rows": 1}}, 1, "Who knows one row of a person finds the person among those who have it too"),
        ({"knows": {"rows": 2}}, 2, "Who knows up to 2 rows of a person finds the person among those who have them"),
    ],
    ids=str,
)
def test_pages_name_the_attacker(get, ledger, knows, told, text):
    ledger.append(of_persons(**knows, suppressed_form="drop"))
    page, certificate = (Page(get(f"{PAGE}{suffix}").text).text for suffix in ("", "/certificate"))
    for shown in (page, certificate):
        assert text in shown
        assert ("left out with all of their rows" in shown) is (told != "any-row")
    assert get(f"/api{PAGE}").json()["entry"]["content"]["persons"]["knows"] == told
    assert ("all that a person has" in certificate) is (told != "any-row")


def test_pages_say_records_where_records_were_counted(get, ledger):
    ledger.append(released())
    told = get(f"/api{PAGE}").json()["entry"]["content"]
    assert (told["counted"], told["persons"]) == ("records", None)
    assert "Records at prosecutor risk" in Page(get(PAGE).text).text


def test_the_certificate_says_how_to_check_it(get, ledger, tmp_path):
    document = released()
    publish(document, tmp_path / "share")
    entry = ledger.append(document)
    command = f"airflow-anon ledger verify --entry {entry.sequence}:{entry.entry_sha256}"
    page = Page(get(f"{PAGE}/certificate").text)
    for text in (command, entry.entry_sha256, sha256("1"), "5-anonymity", "Proven optimal", "Privacy officer"):
        assert text in page.text
    for name, facts in document["publication"]["files"].items():
        assert name in page.text
        assert facts["sha256"] in page.text
    assert get(f"/api{PAGE}/certificate").json()["command"] == command


@pytest.fixture
def frontier(ledger, tmp_path):
    """Give the folder of a frontier, and release the job beside it."""
    document = released()
    folder = publish(document, tmp_path / "share").parent / "frontier" / "f1"
    ledger.append(document)
    folder.mkdir(parents=True)
    (folder.parent / "current").symlink_to("f1")
    report = frontier_report(40, name="hospital-stays")
    for found in (*report["frontier"], *report["shortlist"]):
        found["policy"] = {HOSTILE: [{"value": "the-oldest-age"}, {"value": "x"}]}
    (folder / "frontier.json").write_text(json.dumps(report))
    engine.write_manifest(folder, {"created": "2026-03-01T00:00:00+00:00"})
    return folder


def test_the_frontier_has_every_policy_and_no_label(get, frontier):
    told = get("/api/dags/stays/frontier?job=hospital-stays").json()["frontier"]
    series = {one["name"]: one for one in told["chart"]["series"]}
    assert len(series["Frontier"]["x"]) == 40
    assert set(series) == {"Frontier", "5-anonymity", "10-anonymity", "Worth a look", "Safe Harbor", "Policy in use"}
    assert len(told["chart"]["table"]["rows"]) == sum(len(one["x"]) for one in series.values())
    page = get("/dags/stays/frontier?job=hospital-stays")
    assert "the-oldest-age" not in page.text
    assert f"{HOSTILE}: 2" in Page(page.text).text
    assert all(one["why"] in Page(page.text).text for one in told["shortlist"])


def test_a_policy_of_the_frontier_has_one_number(get, frontier):
    """In the short list, in the table behind the chart and as the name of its file; marks name what beats them."""
    path = frontier / "frontier.json"
    report = json.loads(path.read_text())
    used = report["shortlist"][2]["index"] + 1
    report["current"].update(number=used, beaten_by=None)
    report["safe_harbor"].update(number=None, beaten_by=31)
    report["k_anonymity"]["5"][0].update(number=4, beaten_by=None)
    report["frontier"][0]["beaten_by_safe_harbor"] = True
    path.write_text(json.dumps(report))
    engine.write_manifest(frontier, {"created": "2026-03-01T00:00:00+00:00"})
    told = get("/api/dags/stays/frontier").json()["frontier"]
    numbers = [one["index"] + 1 for one in report["shortlist"]]
    rows = told["chart"]["table"]["rows"]
    assert [one["policy"] for one in told["shortlist"]] == numbers
    assert [row[1] for row in rows if row[0] == "Worth a look"] == numbers
    assert [row[1] for row in rows if row[0] == "Frontier"] == list(range(1, 41))
    for name, number, beaten_by in (("Policy in use", used, None), ("Safe Harbor", None, "policy 31")):
        assert [[row[1], row[4]] for row in rows if row[0] == name] == [[number, beaten_by]]
    assert next(row[1] for row in rows if row[0] == "5-anonymity") == 4
    assert rows[0][4] == "the rule of Safe Harbor, which no policy is equal to"
    assert told["in_use"]["policy"] == used
    text = Page(get("/dags/stays/frontier").text).text
    assert f"It is policy {used} of the frontier." in text
    assert f"policy-{numbers[0]}.yaml" in text
    assert "(in use)" in text


def test_a_policy_in_use_that_is_beaten_says_so(get, frontier):
    path = frontier / "frontier.json"
    report = json.loads(path.read_text())
    report["current"].update(number=None, beaten_by=31)
    path.write_text(json.dumps(report))
    engine.write_manifest(frontier, {"created": "2026-03-01T00:00:00+00:00"})
    assert "Policy 31 beats it" in Page(get("/dags/stays/frontier").text).text


def test_a_frontier_that_was_changed_is_not_shown(get, frontier):
    path = frontier / "frontier.json"
    path.write_text(path.read_text().replace("hospital-stays", "hospital-stayz"))
    told = get("/api/dags/stays/frontier").json()
    assert told["frontier"] is None
    assert "was changed after it was written" in told["why_none"]
    engine.write_manifest(frontier)
    assert "of another job" in get("/api/dags/stays/frontier").json()["why_none"]
    path.write_text('{"frontier": 3}')
    engine.write_manifest(frontier)
    assert "cannot be read" in get("/api/dags/stays/frontier").json()["why_none"]
    (frontier.parent / "current").unlink()
    assert "has been searched yet" in Page(get("/dags/stays/frontier").text).text


def test_a_publication_that_stayed_pending_is_an_alert(get, ledger):
    """One that has just begun is none; a job without an entry has one too."""
    ledger.append(released("stays", dag_id="d1", run_id="1", release_id="1"))
    for job, dag_id in (("stays", "d1"), ("first", "d2")):
        ledger.begin(released(job, dag_id=dag_id, run_id="2", release_id="20260401T000000Z-00000000"))
    assert get("/api/jobs?alerts=1").json()["jobs"] == []
    change(ledger, "UPDATE pending_release SET since = ?", "2026-03-01T02:20:00+00:00")
    told = {job["job"]: job["alerts"] for job in get("/api/jobs?alerts=1").json()["jobs"]}
    kinds = {job: [one["kind"] for one in alerts] for job, alerts in told.items()}
    assert kinds == {"stays": ["pending"], "first": ["pending"]}
    page = get("/?alerts=1").text
    assert "<code>airflow-anon settle first/20260401T000000Z-00000000</code>" in page
    text = Page(page).text
    assert "`" not in text
    assert "its publication is pending since 2026-03-01 02:20:00 UTC, and no run has ended it" in text
    assert "airflow-anon settle first/20260401T000000Z-00000000" in text


def test_jobs_with_alerts_come_first_among_those_of_their_state(get, ledger):
    """Else a release that readers do not get is lost among many that are well."""
    for job in ("a", "b", "c"):
        ledger.append(released(job, dag_id=job, run_id="1", release_id="20260302T000000Z-00000000"))
    ledger.append(released("c", dag_id="c", run_id="2", release_id="20260301T000000Z-00000000"))
    ledger.append(unreleased("failed", name="d", dag_id="d", run_id="1", release_id="1"))
    jobs = get("/api/jobs").json()["jobs"]
    assert [(job["job"], job["state"]) for job in jobs] == [
        ("d", "failed"),
        ("c", "released"),
        ("a", "released"),
        ("b", "released"),
    ]
    assert [one["kind"] for one in jobs[1]["alerts"]] == ["older"]


def test_a_job_of_another_dag_has_no_frontier_here(get, ledger):
    ledger.append(released())
    ledger.append(released("other", dag_id="other", run_id="1", release_id="1"))
    assert get("/dags/stays/frontier?job=other").status_code == 404
    assert "no place for a frontier" in get("/api/dags/stays/frontier").json()["why_none"]


def test_documents_of_the_tests_have_the_form_of_the_ledger(ledger):
    """The ledger takes them, and finds nothing wrong with them."""
    for number, document in enumerate((released(), unreleased(), unreleased("failed"), refused_by_validation())):
        run = {**document["run"], "run_id": str(number)}
        ledger.append(variant(document, run=run))
    assert ledger.check() == []


@pytest.mark.parametrize(
    ("why", "words"), [("changed", "was changed after"), ("not-compared", "was not known whether")]
)
def test_pages_say_why_there_is_no_example_of_a_level(get, ledger, why, words):
    document = released()
    document["levels"]["age"] |= {"examples": None, "highest": None, "maximum": None, "examples_left_out": why}
    ledger.append(document)
    for suffix in ("", "/certificate"):
        text = Page(get(f"{PAGE}{suffix}").text).text
        assert text.count(f"No example: {'the hierarchy' if why == 'changed' else 'it'} {words}") == 1
        assert "45-49" not in text
    told = {one["attribute"]: one for one in get(f"/api{PAGE}").json()["entry"]["content"]["levels"]}
    assert (told["age"]["level"], told["age"]["example"], told["age"]["examples"]) == (2, None, [])
    assert words in told["age"]["examples_left_out"]
    assert told["zip"]["examples_left_out"] is None


def test_levels_of_linked_tables_name_the_tables_that_have_the_column():
    document = typed(released(age=1))
    assert [one["tables"] for one in levels(document)] == [[] for _ in levels(document)]
    entry = {"attributes": {"age": {"role": "quasi-identifying"}}}
    linked = {**document.job.document, "tables": {"person": entry, "visit": entry, "note": {"attributes": {}}}}
    told = levels(document.model_copy(update={"job": document.job.model_copy(update={"document": linked})}))
    assert {one["attribute"]: one["tables"] for one in told}["age"] == ["person", "visit"]
