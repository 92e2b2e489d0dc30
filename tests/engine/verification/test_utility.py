"""Measures of utility that a released file tells by itself: those of random releases are taken, and no others."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine import InvalidData, InvalidJob, NoSolution, load_job, run, verify
from tests.engine import build
from tests.engine.person_problems import job_of, person_problems
from tests.engine.strategies import any_problems
from tests.engine.verification.test_cases import failed, released
from tests.profiles import examples

MANY = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(400))
RECOUNTED = ("discernibility", "average-class-size", "height", "precision")
FORMS = st.sampled_from(["star", "drop"])


def tried(report, table, job, source, data):
    """Verify a release, which holds, and with another figure, which does not."""
    assert failed(verify(table, job, report, source=source)) == []
    name = data.draw(st.sampled_from(RECOUNTED))
    figure = report["utility"][name]
    other = copy.deepcopy(report)
    other["utility"][name] = 1.0 if figure is None else figure * 1.001 + 1e-6
    assert failed(verify(table, job, other, source=source)) == ["figures"]
    if job.utility.measure == name and report["suppressed_class"]["joined"] == 0:
        other = copy.deepcopy(report)
        other["solution"]["information_loss"] = 1.0 if figure is None else figure * 1.001 + 1e-6
        assert failed(verify(table, job, other, source=source)) == ["figures"]


@MANY
@given(any_problems(), FORMS, st.data())
def test_the_figures_of_a_release_of_records(problem, form, data):
    """Whatever the weights, the aggregate, the factor, the suppressed class and the population are."""
    with tempfile.TemporaryDirectory() as folder:
        source = build.source(problem)
        try:
            job = build.job(problem, Path(folder), output={"path": str(Path(folder) / "release"), "suppressed": form})
            result = run(job, source)
        except (InvalidJob, InvalidData, NoSolution):
            assume(False)
        # without a record nothing is compared
        assume(result.table.num_rows)
        for report in (result.report, result.published):
            tried(report, result.table, job, source, data)


@MANY
@given(person_problems(), st.sampled_from(["any-row", "all-rows", {"rows": 1}, {"rows": 2}]), st.data())
def test_the_figures_of_a_release_of_persons(problem, knows, data):
    with tempfile.TemporaryDirectory() as folder:
        source = build.table(problem)
        try:
            job = job_of(problem, Path(folder), knows=knows)
            result = run(job, source)
        except (InvalidJob, InvalidData, NoSolution):
            assume(False)
        assume(result.table.num_rows)
        for report in (result.report, result.published):
            tried(report, result.table, job, source, data)


@pytest.mark.parametrize("measure", ["discernibility", "average-class-size"])
def test_the_figures_of_class_sizes_of_a_local_recoding(measure):
    job, table, report = released(transformation="local-recoding")
    assert failed(verify(table, job, report)) == []
    report["utility"][measure] += 1
    assert failed(verify(table, job, report)) == ["figures"]


@pytest.mark.parametrize("form", ["star", "drop"])
def test_what_is_published_where_few_may_have_been_joined_is_verified(form, tmp_path):
    """Two classes of two, suppressed under 3-anonymity: the four may be one and a class of three that joined it."""
    wards = ["a"] * 10 + ["b"] * 10 + ["c"] * 2 + ["d"] * 2
    document = {
        "name": "wards",
        "unit": "record",
        "attributes": {
            "ward": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0},
            "result": {"role": "sensitive"},
        },
        "privacy": [
            {"model": "k-anonymity", "k": 3},
            {"model": "t-closeness", "distance": "equal", "attribute": "result", "t": 0.5},
        ],
        "suppression_limit": 0.2,
        "output": {"path": str(tmp_path / "release"), "suppressed": form},
    }
    source = pa.table({"ward": wards, "result": ["+", "-"] * 12})
    job = load_job(document)
    result = run(job, table=source)
    told = result.published
    assert told["suppressed_class"] == {"form": form, "records": 4, "joined": None}
    # of two classes of ten: 2 * 10^2, and for those that show as `*` 4 * 24
    assert told["utility"]["discernibility"] == (200 if form == "drop" else 296)
    assert failed(verify(result.table, job, told, source=source)) == []
    other = {**told, "utility": {**told["utility"], "discernibility": 201.0}}
    assert failed(verify(result.table, job, other, source=source)) == ["figures"]
