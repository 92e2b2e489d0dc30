"""The form of reports: every key that a run writes is declared, with its type, and nothing is changed afterwards."""

from __future__ import annotations

import copy
import json

import pytest
from pydantic import TypeAdapter, ValidationError

import engine.pipeline.verified
from engine import FrontierReport, Report, frontier, load_job, run
from engine.pipeline.stopwatch import Stopwatch
from tests.engine.frontiers.small_job import job_of, people_of, table_of
from tests.engine.pipeline.test_report import AGE, JOB, SEVEN, with_people

SOMETIMES = {"population_rows", "policy", "choice", "warnings"}


def check_form(report, job):
    """Hold a report against its declaration, both ways; a model's parameters are the job's."""
    written = load_job(job).document()["privacy"]
    plain = json.loads(json.dumps(report, allow_nan=False))
    plain["privacy"] = [
        {key: value for key, value in entry.items() if key == "model" or key not in parameters}
        for entry, parameters in zip(plain["privacy"], written, strict=True)
    ]
    TypeAdapter(Report).validate_python(plain, strict=True, extra="forbid")


def plain_job(_):
    # one of seven records is suppressed, and left out
    return JOB, {"warnings"}


def everything_suppressed(_):
    return {**JOB, "privacy": [{"model": "k-anonymity", "k": 50}], "suppression_limit": 1.0}, {"warnings"}


def beside_a_population(folder):
    people = with_people(folder, [21] * 8 + [33] * 3 + [71] + [45])
    return {**JOB, "risk": {"population": people, "sampling_fraction": 0.5}}, {"population_rows", "warnings"}


def ranked(_):
    return {**JOB, "utility": {"aggregate": "rank"}}, {"warnings"}


def not_exact(_):
    return {**JOB, "search": {"algorithm": "datafly"}}, {"warnings"}


def by_a_policy(_):
    groups = {"builder": "policy", "hierarchy": AGE["hierarchy"], "groups": [{"node": "*"}]}
    age = {"role": "quasi-identifying", "hierarchy": groups, "minimum_level": 1, "maximum_level": 1}
    attributes = {**JOB["attributes"], "age": age}
    changes = {"search": {"algorithm": "policy"}, "allow_empty_information": True}
    return {**JOB, "attributes": attributes, **changes}, {"policy"}


@pytest.mark.parametrize(
    "case", [plain_job, everything_suppressed, beside_a_population, ranked, not_exact, by_a_policy]
)
def test_a_report_has_the_form_that_is_declared(tmp_path, case):
    job, sometimes = case(tmp_path)
    report = run(job, SEVEN).report
    check_form(report, job)
    assert SOMETIMES & report.keys() == sometimes


def test_a_report_of_a_choice_has_the_form_that_is_declared(tmp_path):
    job = job_of(tmp_path, choose={"from": "frontier", "dominates": "safe-harbor", "maximum_risk": 0.9})
    report = run(job, table_of(people_of(60))).report
    check_form(report, job)
    assert SOMETIMES & report.keys() == {"policy", "choice"}
    assert report["choice"]["seconds"] > 0


def test_what_is_not_declared_is_noticed():
    report = run(JOB, SEVEN).report
    for changed in ({**report, "more": 1}, {key: value for key, value in report.items() if key != "risk"}):
        with pytest.raises(ValidationError):
            check_form(changed, JOB)


def test_a_frontiers_report_has_the_form_that_is_declared(tmp_path):
    found = frontier(job_of(tmp_path), table_of(people_of(60)))
    plain = json.loads(json.dumps(found.report, allow_nan=False))
    TypeAdapter(FrontierReport).validate_python(plain, strict=True, extra="forbid")


@pytest.mark.parametrize("kept_in_memory", [True, False])
def test_what_was_verified_is_what_is_reported(tmp_path, monkeypatch, kept_in_memory):
    """Between the verification and the release only the timings are added; the file has what may be published."""
    judged = []
    verify = engine.pipeline.verified.verify

    def watched(table, job, stated, source):
        judged.append(copy.deepcopy(stated))
        return verify(table, job, stated, source=source)

    monkeypatch.setattr(engine.pipeline.verified, "verify", watched)
    job = job_of(tmp_path, choose={"from": "frontier", "maximum_risk": 0.9})
    result = run(job, table_of(people_of(60)), output=None if kept_in_memory else tmp_path / "release")
    assert judged == [{key: value for key, value in result.report.items() if key != "timings"}]
    assert list(result.report["timings"]) == ["encode", "search", "report", "transform", "verify"]
    if not kept_in_memory:
        assert json.loads((tmp_path / "release" / "report.json").read_text()) == result.published


def test_steps_are_timed_one_by_one(monkeypatch):
    """A clock that goes on by one second whenever it is read: at the start and at the end of each step."""
    seconds = iter(range(100))
    watch = Stopwatch()
    with monkeypatch.context() as patch:
        patch.setattr("time.perf_counter", lambda: next(seconds))
        for step in ("first", "second"):
            with watch.step(step):
                next(seconds)
    assert watch.seconds == {"first": 2, "second": 2}
    watch.seconds["first"] = 0
    assert watch.seconds["first"] == 2


def test_the_seconds_of_the_search_are_those_of_its_step():
    report = run(JOB, SEVEN).report
    assert report["search"]["seconds"] == report["timings"]["search"] > 0


def test_the_text_of_a_job_is_a_job_file_of_the_same_document(tmp_path):
    job = load_job({**JOB, "output": {"path": str(tmp_path / "release")}})
    run(job, SEVEN)
    assert (tmp_path / "release" / "job.yaml").read_text(encoding="utf-8") == str(job)
    # files are named without their folders
    written = load_job(tmp_path / "release" / "job.yaml").document()
    assert {**written, "output": None} == {**job.document(), "output": None}
    assert written["output"] == {**job.document()["output"], "path": "release"}
