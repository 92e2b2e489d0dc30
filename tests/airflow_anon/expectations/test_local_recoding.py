"""The suite of a release by local recoding: labels of any level allowed, and no others."""

from __future__ import annotations

import copy

import pytest

from airflow_anon.expectations.suite import release_suite
from tests.airflow_anon.expectations import build

K = [{"model": "k-anonymity", "k": 3}]


MEAN = [{"model": "average-risk", "threshold": 0.4}, {"model": "sample-uniqueness", "threshold": 0.1}]


@pytest.fixture(params=[K, None, MEAN], ids=["k-anonymity", "and diversity", "all classes together"])
def made(request, tmp_path):
    changes = {} if request.param is None else {"privacy": request.param}
    return build.released(tmp_path, transformation="local-recoding", suppression_limit=0.0, **changes)


def test_a_release_is_valid(made):
    job, table, report = made
    assert report["solution"]["levels"] is None
    assert not build.failed(build.validate(job, table, report))


def test_a_value_below_the_lowest_level_is_not(made):
    job, table, report = made
    harmed = build.changed(table, "age", 0, "y31")
    assert build.LABELS_AGE in build.failed(build.validate(job, harmed, report))


def test_a_report_with_levels_is_of_another_job(made):
    job, _, report = made
    other = copy.deepcopy(report)
    other["solution"]["levels"] = {"age": 1, "zip": 1}
    with pytest.raises(ValueError, match=r"solution\.levels must be null"):
        release_suite(job, other, source_rows=13, source_types=build.types())


def test_a_job_without_it_needs_levels(made, tmp_path):
    _, _, report = made
    with pytest.raises(ValueError, match=r"solution\.levels must name"):
        release_suite(build.job(tmp_path), report, source_rows=13, source_types=build.types())
