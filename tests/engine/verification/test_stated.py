"""A report that says another thing than the run: whatever stands at a place that is compared, it is found."""

from __future__ import annotations

import copy
import json

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine import load_job, run, verify
from tests.engine.verification.test_cases import failed, released
from tests.profiles import examples

NOT_RECOUNTED = {
    *("name", "job_sha256", "search", "versions", "timings", "lint", "warnings", "utility", "backend"),
    *("solution.information_loss", "solution.optimal", "solution.lower_bound", "solution.gap"),
}
"""Who made it and how long it took, and what depends on the source."""
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 12)
    | st.sampled_from([10**400, -(10**400), 2**63, 1e308, float("nan"), float("inf"), -0.0, "", "*", "2", "none"])
    | st.floats()
    | st.text(max_size=3),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.sampled_from(["model", "records", "k"]), part),
    max_leaves=4,
)


def places(part, path=()):
    """Yield each place of a document, by the keys that lead to it."""
    if path and ".".join(map(str, path)) in NOT_RECOUNTED:
        return
    if path:
        yield path
    for key, value in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        yield from places(value, (*path, key))


def alike(one, other):
    """Whether two values are the same to whoever reads them: 5 and 5.0 are, and true and 1 are not."""
    if isinstance(one, bool) or isinstance(other, bool) or not all(isinstance(x, int | float) for x in (one, other)):
        return json.dumps(one) == json.dumps(other)
    return one == other


@pytest.fixture(scope="module")
def release():
    return released()


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(300))
@given(st.data())
def test_another_value_at_any_place_is_found(release, data):
    job, table, report = release
    *above, key = data.draw(st.sampled_from(list(places(report))))
    report = copy.deepcopy(report)
    place = report
    for step in above:
        place = place[step]
    value = data.draw(JUNK)
    assume(not alike(place[key], value))
    place[key] = value
    assert failed(verify(table, job, report)) != []


@pytest.mark.parametrize("number", [2**63, 10**400])
def test_more_records_than_any_table_has_are_no_number_of_records(release, number):
    job, table, report = release
    assert failed(verify(table, job, {**report, "rows": number})) == ["report"]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("k", 50),
        ("k", None),
        ("model", "l-diversity"),
        ("description", "50-anonymity"),
        ("reference", "all records"),
        ("persons", 50),
    ],
)
def test_another_privacy_model_than_the_jobs_is_found(release, place, value):
    """Pages and certificates tell what a report says of its models."""
    job, table, report = release
    changed = copy.deepcopy(report)
    changed["privacy"][0][place] = value
    found = [finding for finding in verify(table, job, changed) if not finding.holds]
    assert [(finding.check, finding.message) for finding in found] == [
        ("report", "the report says another thing of privacy.0")
    ]


def test_a_default_that_an_earlier_version_did_not_write_is_none_that_is_missing(release):
    job, table, report = release
    changed = copy.deepcopy(report)
    assert changed["privacy"][1].pop("missing") == "not-a-value"
    assert failed(verify(table, job, changed)) == []
    del changed["privacy"][1]["l"]
    assert failed(verify(table, job, changed)) == ["report"]


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        (None, "rows", 0),
        (None, "rows", 12),
        ("solution", "suppressed", 0),
        ("solution", "suppressed", 2),
        ("suppressed_class", "joined", 1),
    ],
)
def test_numbers_that_few_left_out_withhold_cannot_be_made_up(part, key, value):
    """Nobody can recount them, so a report that tells one beside the others that it withholds is not that of a run."""
    age = {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 2}, "maximum_level": 1}
    privacy = [{"model": "k-anonymity", "k": 5}]
    job = load_job({"name": "few", "attributes": {"age": age}, "privacy": privacy, "suppression_limit": 0.5})
    result = run(job, pa.table({"age": ["30"] * 10 + ["90"] * 2}))
    report = copy.deepcopy(result.published)
    assert report["suppressed_class"]["records"] is None
    assert failed(verify(result.table, job, report)) == []
    place = report if part is None else report[part]
    place[key] = value
    assert failed(verify(result.table, job, report)) == ["report"]
    del place[key]
    assert failed(verify(result.table, job, report)) == ([] if key == "suppressed" else ["report"])


@pytest.mark.parametrize(
    "stated",
    [None, [], [{"column": "name", "action": "drop"}], [{"column": "person_id", "action": "pseudonymize"}], ["x"]],
)
def test_other_identifying_columns_than_the_jobs_are_found(release, stated):
    job, table, report = release
    assert failed(verify(table, job, {**report, "identifying": stated})) == ["report"]
    earlier = {key: value for key, value in report.items() if key != "identifying"}
    assert failed(verify(table, job, earlier)) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("choice", {"rule": {"from": "frontier", "maximum_risk": 0.001}, "risk": 0.001}),
        ("drift", {"since": None, "not_compared": [], "quarantined": []}),
        ("further_rows", {"left_out": 0, "share": 0.0}),
        ("knows", "all-rows"),
        ("persons", 6),
        ("persons_suppressed_share", 0.0),
        ("policy", {"age": [{"node": "*"}]}),
        ("population_rows", 1_000_000),
        ("sample", {"fraction": 0.01}),
        ("series", {"name": "first", "releases": 30, "smallest_trace": 50}),
        ("shift", {"columns": ["note"], "days": 365}),
        ("tables", [{"table": "person", "records": 6}]),
        ("transformed", [{"column": "note", "noise": {"percent": 100}}]),
        ("usefulness", {"unit": "record"}),
    ],
)
def test_what_only_the_report_of_another_job_tells_is_found(release, key, value):
    """Nothing is behind it: the release is of no such sample, series or rule."""
    job, table, report = release
    assert key not in report
    assert failed(verify(table, job, {**report, key: value})) == ["report"]
    assert failed(verify(table, job, {**report, key: None})) == []


@pytest.mark.parametrize("place", ["solution", "utility"])
def test_a_loss_that_nobody_can_recount_is_the_same_in_both_places(release, place):
    """The loss that was searched for stands with the solution and with all measures."""
    job, table, report = release
    assert report["solution"]["information_loss"] == report["utility"]["loss"] > 0
    changed = copy.deepcopy(report)
    changed[place]["information_loss" if place == "solution" else "loss"] *= 0.5
    assert failed(verify(table, job, changed)) == ["figures"]


@pytest.mark.parametrize("columns", [None, [], ["age", "zip", "note", "diagnosis"], ["age", "zip", "diagnosis", 1]])
def test_other_columns_than_those_of_the_file_are_found(release, columns):
    job, table, report = release
    assert failed(verify(table, job, {**report, "columns": columns})) == ["report"]


def test_columns_in_another_order_are_found(release):
    job, table, report = release
    assert failed(verify(table.select(table.column_names[::-1]), job, report)) == ["report"]


@pytest.mark.parametrize("number", [0, 5, 7, None, True, "6", 6.0, 10**400])
def test_another_number_of_records_of_the_file_is_found(release, number):
    job, table, report = release
    assert report["released"] == table.num_rows
    other = {**report, "released": number}
    assert failed(verify(table, job, other)) == ["rows"]
    del other["released"]  # as of an earlier version
    assert failed(verify(table, job, other)) == []


@pytest.mark.parametrize("change", [lambda _: [], lambda shares: shares[:-1], lambda shares: [*shares, 0.0]])
def test_shares_of_other_levels_than_those_of_a_hierarchy_are_found(change):
    job, table, report = released(transformation="local-recoding")
    assert failed(verify(table, job, report)) == []
    report["solution"]["shares"]["age"] = change(report["solution"]["shares"]["age"])
    assert failed(verify(table, job, report)) == ["report"]


def test_a_model_may_be_described_in_the_words_of_another_version(release):
    job, table, report = release
    report = copy.deepcopy(report)
    report["privacy"][0]["description"] = "others"
    assert "report" in failed(verify(table, job, report))
    report["versions"]["airflow-anon"] = "0.0.9"
    assert not failed(verify(table, job, report))
    report["privacy"][0]["k"] += 1
    assert "report" in failed(verify(table, job, report))
