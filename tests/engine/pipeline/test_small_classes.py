"""A release of a job that may suppress only small classes: proven on its source."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from engine import InvalidJob, NoSolution, load_job, run, verify
from tests.engine import build
from tests.engine.search.test_small_classes import small_only
from tests.profiles import examples
from tests.reference.lattice import demanded_size, grouped, readings

L_DIVERSITY = {"model": "l-diversity", "variant": "distinct", "attribute": "d", "l": 2}
AGE = {"role": "quasi-identifying", "hierarchy": {"builder": "age"}}
JOB = {
    "name": "people",
    "attributes": {"age": AGE, "d": {"role": "sensitive"}},
    "privacy": [{"model": "k-anonymity", "k": 3}, L_DIVERSITY],
    "suppression_limit": 0.5,
    "suppress": "small-classes",
}
ANY = {**JOB, "suppress": "any", "attributes": {**JOB["attributes"], "age": {**AGE, "maximum_level": 0}}}
# 31 and 33 hold both models, the three of 32 have one value, and one is alone
PEOPLE = [*[("31", "uv"[i % 2]) for i in range(4)], *[("32", "u")] * 3, *[("33", "uv"[i % 2]) for i in range(4)]]


def table_of(rows):
    return pa.table(dict(zip(("age", "d"), map(list, zip(*rows, strict=True)), strict=True)))


def failed(findings):
    return [finding.check for finding in findings if not finding.holds]


def test_a_class_of_sufficient_size_is_not_suppressed_for_its_values(tmp_path):
    source = table_of([*PEOPLE, ("91", "v")])
    of_any = run(ANY, source, output=tmp_path / "any")
    assert "32" not in of_any.table["age"].to_pylist()
    small = run(JOB, source, output=tmp_path / "small")
    assert small.report["solution"]["levels"]["age"] > 0
    assert small.report["suppressed_class"] == {"form": "drop", "records": 1, "joined": 0}
    assert small.report["solution"]["optimal"]


def test_verification_counts_the_classes_of_the_source():
    """The release that suppresses the three of one value is one of `any`, and is refused for `small-classes`."""
    source = table_of([*PEOPLE, ("91", "v")])
    of_any = run(ANY, source)
    job = load_job(JOB)
    assert failed(verify(of_any.table, job, of_any.report, source=source)) == ["small-classes"]
    report = json.loads(json.dumps(of_any.report))
    assert failed(verify(of_any.table, job, report)) == []
    report["suppressed_class"] = {"form": "star", "records": 8, "joined": 1}
    assert "small-classes" in failed(verify(of_any.table, job, report))
    small = run(JOB, source)
    assert failed(verify(small.table, job, small.report, source=source)) == []
    # a class of the source that is not there
    fewer = small.table.slice(0, small.table.num_rows - 1)
    assert "small-classes" in failed(verify(fewer, job, small.report, source=source))


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(150))
@given(problem=small_only())
def test_a_release_suppresses_what_is_small_in_the_source_and_nothing_else(tmp_path_factory, problem):
    if problem["people"] == "subset" and not any("subset" in model for model in problem["models"]):
        return
    job = build.job(problem, tmp_path_factory.mktemp("run"))
    source = build.source(problem)
    try:
        result = run(job, source if problem["people"] else source.drop_columns(["id"]))
        table = result.table
    except NoSolution:
        return
    levels = [result.report["solution"]["levels"][name] for name in build.names(problem)]
    read = readings(problem)
    classes = {key: len(members) for key, members in grouped(read.records, read.hierarchies, levels).items()}
    size = demanded_size(problem["models"])
    expected = Counter({key: number for key, number in classes.items() if number >= size})
    if result.report["suppressed_class"]["form"] == "star":
        expected[("*",) * len(levels)] += read.n - sum(number for number in classes.values() if number >= size)
    found = Counter(zip(*(table[name].to_pylist() for name in build.names(problem)), strict=True))
    assert found == +expected


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"privacy": [{**L_DIVERSITY, "l": 2}, {"model": "average-risk", "threshold": 0.5}]}, "average-risk"),
        (
            {"privacy": [{"model": "t-closeness", "distance": "equal", "attribute": "d", "t": 0.5}]},
            "needs a model that demands a class size, such as k-anonymity",
        ),
        ({"search": {"algorithm": "ola"}}, "search.algorithm ola: generalization can make a solution fail"),
        ({"suppress": "smallest"}, "'any' or 'small-classes'"),
    ],
)
def test_what_does_not_go_with_it_is_refused_by_name(changes, text):
    with pytest.raises(InvalidJob, match=text):
        load_job({**JOB, **changes})


def test_without_suppression_every_algorithm_may_search():
    load_job({**JOB, "suppression_limit": 0.0, "search": {"algorithm": "ola"}})
