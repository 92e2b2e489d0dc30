"""Metrics between two tasks: their form, and what is taken of what was handed on."""

from __future__ import annotations

import json
import math

import pytest
from airflow.sdk.exceptions import AirflowFailException
from pydantic import TypeAdapter

from airflow_anon.operators.release_metrics import Deidentified, metrics_in
from engine import Metrics, release_metrics, run
from tests.airflow_anon.operators.test_deidentify import JOB, TABLE

JOB = {key: value for key, value in JOB.items() if key not in {"source", "output"}}


@pytest.fixture(scope="module")
def metrics():
    return release_metrics(run(JOB, TABLE).report)


def nothing_kept():
    return release_metrics(
        run({**JOB, "suppression_limit": 1.0, "privacy": [{"model": "k-anonymity", "k": 9}]}, TABLE).report
    )


def test_metrics_have_the_form_that_is_declared(metrics):
    for made in (metrics, nothing_kept()):
        plain = json.loads(json.dumps(made, allow_nan=False))
        assert TypeAdapter(Metrics).validate_python(plain, strict=True, extra="forbid") == made
    assert nothing_kept()["smallest_class"] is None


def test_the_same_metrics_are_taken_of_a_result_whether_they_stand_apart_in_it_or_not(metrics):
    """A run that began before the metrics stood apart has only the flat keys."""
    before = {"release": "/staging/release", "manifest_sha256": "0" * 64, **metrics}
    now = {**before, "metrics": metrics}
    TypeAdapter(Deidentified).validate_python(now, strict=True, extra="forbid")
    assert metrics_in(metrics) == metrics_in(before) == metrics_in(now) == metrics


def test_only_metrics_are_taken(metrics):
    assert metrics_in({**metrics, "name_of_a_patient": "Jane Roe"}) == metrics
    assert metrics_in({"rows": 3}) == {"rows": 3}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows", "4711"),
        ("rows", True),
        ("released", None),
        ("suppressed_share", math.nan),
        ("information_loss", math.inf),
        ("levels", {"age": "Jane Roe"}),
        ("levels", [4711]),
        ("optimal", 1),
        ("smallest_class", 2.5),
    ],
)
def test_another_type_is_refused_without_its_value(metrics, name, value):
    with pytest.raises(AirflowFailException, match=f"metrics {name}: have a wrong type") as refused:
        metrics_in({**metrics, name: value})
    assert not any(text in str(refused.value) for text in ("4711", "Jane"))


@pytest.mark.parametrize("told", ["{'rows': 3}", None, [3]])
def test_what_is_no_mapping_is_refused(told):
    with pytest.raises(AirflowFailException, match=r'metrics: must be a mapping; give deidentify\.output\["metrics"\]'):
        metrics_in(told)
