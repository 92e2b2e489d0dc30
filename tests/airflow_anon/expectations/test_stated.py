"""Reports that say another thing than the run, and numbers that no double holds: Great Expectations refuses them."""

from __future__ import annotations

import copy

import pytest

from airflow_anon.expectations.stated import is_number, names_model
from tests.airflow_anon.expectations import build

HUGE = 10**400


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return build.starred(tmp_path_factory.mktemp("release"))


@pytest.mark.parametrize(("key", "value"), [("k", 50), ("k", True), ("model", "k-map"), ("model", None)])
def test_another_privacy_model_than_the_jobs(release, key, value):
    job, table, report = release
    changed = copy.deepcopy(report)
    changed["privacy"][0][key] = value
    found = build.validate(job, table, changed, source_rows=15)
    assert build.failed(found) == {build.FIGURES}
    assert "not as in the release: privacy.0" in build.result_of(found, build.FIGURES)["message"]


def test_another_number_of_rows_of_the_release(release):
    job, table, report = release
    found = build.validate(job, table, {**report, "released": 14}, source_rows=15)
    assert build.failed(found) == {build.ROWS}
    told = build.result_of(found, build.ROWS)["message"]
    assert told.endswith("the report gives another number of rows of the release")


@pytest.mark.parametrize("part", ["risk", "classes"])
def test_a_number_that_no_double_holds_is_another_figure(release, part):
    job, table, report = release
    key = "marketer" if part == "risk" else "number"
    found = build.validate(job, table, {**report, part: {**report[part], key: HUGE}}, source_rows=15)
    assert build.result_of(found, build.FIGURES)["message"] == f"not as in the release: {part}.{key}"


def test_what_is_a_number_of_a_report():
    assert all(map(is_number, [0, -1, 0.5, 1e308, 2**63]))
    assert not any(map(is_number, [True, None, "1", HUGE, -HUGE, float("nan"), float("inf"), []]))


def test_parameters_that_an_earlier_version_left_out():
    model = {"model": "l-diversity", "l": 2, "missing": "not-a-value", "population": "here/people.csv"}
    assert names_model({"model": "l-diversity", "l": 2, "population": "there/people.csv"}, model)
    assert not names_model({"model": "l-diversity", "l": 2, "missing": "value"}, model)
    assert not names_model({"l": 2}, model)


@pytest.mark.parametrize("form", [None, [], {}, "refused", True])
def test_a_form_of_suppressed_records_that_is_none_builds_no_suite(release, form):
    job, table, report = release
    changed = {**report, "suppressed_class": {**report["suppressed_class"], "form": form}}
    with pytest.raises(ValueError, match=r"report: suppressed_class\.form must be none, star or drop"):
        build.validate(job, table, changed, source_rows=15)
