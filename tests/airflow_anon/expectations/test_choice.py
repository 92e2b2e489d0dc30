"""A release by a rule: judged by the policy that the report names, and the choice by the rule itself."""

from __future__ import annotations

import copy
import json

import pytest

from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import InvalidJob, run
from tests.airflow_anon.expectations import build
from tests.airflow_anon.expectations.build import LABELS_AGE

CHOICE = "expect_policy_by_rule"
RULE = {"from": "frontier", "maximum_risk": 0.3}


class Chosen:
    """A release of the thirteen records by a rule."""

    def __init__(self, folder, **rule):
        self.job = build.job(
            folder, choose={**RULE, **rule}, frontier={"safe_harbor": {"age": "kept"}}, suppression_limit=1.0
        )
        below = {name: one.model_copy(update={"minimum_level": 0}) for name, one in self.job.attributes.items()}
        self.job = self.job.model_copy(update={"attributes": below})
        result = run(self.job, build.source())
        self.table, self.report = result.table, result.report

    def validate(self, report=None, table=None):
        suite = release_suite(self.job, report or self.report, source_rows=13, source_types=build.types())
        return run_suite(self.table if table is None else table, suite)


@pytest.fixture
def chosen(tmp_path):
    return Chosen(tmp_path)


def test_a_good_release(chosen, tmp_path):
    document = chosen.validate()
    assert document["success"] is True
    found = build.result_of(document, CHOICE)
    assert (found["observed"], found["required"]) == (chosen.report["choice"]["risk"], 0.3)
    assert str(tmp_path) not in json.dumps(document)


HARMED = {
    "risk": (lambda choice: choice.update(risk=0.30001), "its risk is higher than the rule allows"),
    "another risk": (lambda choice: choice.update(risk=0.9 * choice["risk"]), "its risk is not that of the release"),
    "rule": (lambda choice: choice["rule"].update(maximum_risk=0.4), "the report names another rule"),
    "less": (lambda choice: choice["rule"].pop("maximum_risk"), "the report names another rule"),
    "more": (lambda choice: choice["rule"].update(dominates="safe-harbor"), "the report names another rule"),
}


@pytest.mark.parametrize("case", HARMED)
def test_a_choice_that_is_not_the_rules(chosen, case):
    harm, message = HARMED[case]
    report = copy.deepcopy(chosen.report)
    harm(report["choice"])
    document = chosen.validate(report)
    assert build.failed(document) == {CHOICE}
    assert build.result_of(document, CHOICE)["message"] == message


@pytest.mark.parametrize(
    ("own", "other", "dominates"),
    [
        ((0.1, 1.0), (0.1, 1.1), True),
        ((0.1, 1.0), (0.2, 1.0), True),
        ((0.1, 1.0), (0.2, 1.1), True),
        ((0.1, 1.0), (0.1, 1.0), False),
        ((0.1, 1.0), (0.05, 2.0), False),
        ((0.1, 1.0), (0.2, 0.5), False),
        ((0.1, 1.0), None, False),
    ],
)
def test_domination(chosen, own, other, dominates):
    """Neither figure is higher, and one is lower; without Safe Harbor nothing is dominated."""
    rule = chosen.job.choose.model_copy(update={"dominates": "safe-harbor"})
    chosen.job = chosen.job.model_copy(update={"choose": rule})
    report = copy.deepcopy(chosen.report)
    keys = ("risk", "utility_loss")
    harbor = other and dict(zip(keys, other, strict=True))
    report["choice"].update(zip(keys, own, strict=True))
    report["choice"].update(safe_harbor=harbor, rule={**RULE, "dominates": "safe-harbor"})
    text = build.result_of(chosen.validate(report), CHOICE)["message"]
    assert ("dominate" not in text) is dominates


def test_labels_of_another_policy(chosen):
    """A report with another policy than the one executed does not describe the release."""
    report = copy.deepcopy(chosen.report)
    report["policy"]["age"] = [{"node": "*"}]
    assert LABELS_AGE in build.failed(chosen.validate(report))
    with pytest.raises(InvalidJob, match="policy"):
        chosen.validate({key: value for key, value in chosen.report.items() if key != "policy"})


@pytest.mark.parametrize(
    "choice",
    [None, {}, {"rule": RULE}, {"rule": RULE, "risk": "0.1", "utility_loss": 1.0}, {"rule": RULE, "risk": True}],
)
def test_a_report_that_says_nothing_of_the_choice(chosen, choice):
    with pytest.raises(ValueError, match="report: "):
        chosen.validate({**chosen.report, "choice": choice})
