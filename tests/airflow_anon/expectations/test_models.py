"""Privacy models that compare classes with the table, recounted by Great Expectations on whole and harmed releases."""

from __future__ import annotations

import copy
import json

import pyarrow as pa
import pytest

from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import run
from tests.airflow_anon.expectations import build
from tests.profiles import spread

PRIVACY = "expect_privacy_model_to_hold"
FIGURES = "expect_reported_figures"
GROUPS = [{"group-one": ["dx-alpha", "dx-beta"], "group-two": ["dx-gamma"]}]
HIERARCHY = {"builder": "grouping", "groups": [*GROUPS, {"root": ["group-one", "group-two"]}]}
MODELS = [
    {"model": "t-closeness", "distance": "hierarchical", "attribute": "diagnosis", "t": 0.1},
    {"model": "t-closeness", "distance": "ordered", "attribute": "diagnosis", "t": 0.1},
    {"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.1},
    {"model": "delta-disclosure-privacy", "attribute": "diagnosis", "delta": 0.5},
    {"model": "beta-likeness", "variant": "enhanced", "attribute": "diagnosis", "beta": 0.5},
    {"model": "l-diversity", "variant": "recursive", "attribute": "diagnosis", "c": 1.5, "l": 2},
    {"model": "l-diversity", "variant": "shannon-entropy", "attribute": "diagnosis", "l": 2.5},
]


@pytest.fixture(
    params=spread(MODELS, 4), ids=lambda model: model.get("distance") or model.get("variant") or model["model"]
)
def release(request, tmp_path):
    """Give the release of 13 records, one suppressed, made under one model."""
    attributes = build.job(tmp_path).document()["attributes"]
    diagnosis = {"role": "sensitive", "hierarchy": HIERARCHY}
    privacy = [{"model": "k-anonymity", "k": 3}, request.param]
    return build.released(tmp_path, attributes={**attributes, "diagnosis": diagnosis}, privacy=privacy)


def validate(job, table, report):
    return run_suite(table, release_suite(job, report, source_rows=13, source_types=build.types()))


def judgement(document, model):
    found = [result for result in document["results"] if result["kwargs"].get("model", {}).get("model") == model]
    assert len(found) == 1
    return found[0]


def test_a_good_release_holds_with_the_figure_of_its_report(release):
    job, table, report = release
    assert report["solution"]["suppressed"] == 1
    document = validate(job, table, report)
    assert document["success"] is True
    stated = report["privacy"][1]
    assert judgement(document, stated["model"])["observed"] == pytest.approx(stated["observed"], rel=1e-9)


def test_a_class_of_one_value_is_found(release):
    job, table, report = release
    for row in range(6):
        table = build.changed(table, "diagnosis", row, "dx-gamma")
    document = validate(job, table, report)
    assert build.failed(document) == {PRIVACY, FIGURES}
    assert judgement(document, report["privacy"][1]["model"])["success"] is False


def test_sensitive_values_of_suppressed_records_count(tmp_path):
    """Twelve records kept with a third of each value; the values of the three suppressed ones move the table."""
    model = {"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.5}
    job, table, report = build.starred(tmp_path, privacy=[{"model": "k-anonymity", "k": 3}, model])
    # the class has 1/3 of each, the table 5/15, 6/15, 4/15: surplus 1/3 - 4/15
    document = build.validate(job, table, report, source_rows=15)
    assert document["success"] is True
    assert judgement(document, "t-closeness")["observed"] == pytest.approx(1 / 15, rel=1e-12)
    elsewhere = build.changed(table, "diagnosis", table["diagnosis"].to_pylist()[:3].index("dx-alpha"), "dx-delta")
    assert FIGURES in build.failed(build.validate(job, elsewhere, report, source_rows=15))


def test_the_hierarchy_of_a_sensitive_attribute_is_not_published(release):
    """What is published names its builder, not one label or value; also where the values do not fit it."""
    job, table, report = release
    for state in (table, build.changed(table, "diagnosis", 0, "dx-unlisted-4711")):
        document = validate(job, state, report)
        result = judgement(document, report["privacy"][1]["model"])
        assert result["kwargs"]["attribute"] == {"builder": "grouping"}
        published = json.dumps(document)
        assert not [word for word in ("group-one", "dx-", "4711") if word in published]


def test_a_report_with_another_figure_is_found(release):
    job, table, report = release
    for key, change in {"observed": 0.001, "required": 0.01, "margin": 0.001}.items():
        other = copy.deepcopy(report)
        other["privacy"][1][key] += change
        assert build.failed(validate(job, table, other)) == {FIGURES}
    other = copy.deepcopy(report)
    senses = {"at-least", "at-most"} - {report["privacy"][1]["sense"]}
    other["privacy"][1]["sense"] = senses.pop()
    assert build.failed(validate(job, table, other)) == {FIGURES}


def test_a_class_generalized_to_its_root_beside_no_suppressed_record(tmp_path):
    """Records that are `*` throughout are a class like any other where the report counts none suppressed."""
    model = {"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.0}
    job, table, report = build.released(tmp_path, privacy=[model], suppression_limit=0.0)
    assert report["solution"]["levels"] == {"age": 2, "zip": 2}
    document = validate(job, table, report)
    assert document["success"] is True
    assert judgement(document, "t-closeness")["observed"] == 0
    split = build.changed(table, "age", 0, "y30s")
    assert PRIVACY in build.failed(validate(job, split, report))


def test_types_without_text_are_not_judged(release):
    job, table, report = release
    lists = table.set_column(table.column_names.index("diagnosis"), "diagnosis", pa.array([["a"]] * 12))
    result = judgement(validate(job, lists, report), report["privacy"][1]["model"])
    assert result["success"] is False


def test_numbers_are_ordered_by_the_type_of_their_column(tmp_path):
    """Two classes of six days in a row each, 9 and 10 in one of them; the thirteenth is left out.

    By number the cumulative shares of the first six days exceed those of all twelve by (1 + 2 + ... + 6) / 12 and
    (5 + 4 + ... + 1) / 12.
    """
    attributes = {**build.job(tmp_path).document()["attributes"], "days": {"role": "sensitive"}}
    model = {"model": "t-closeness", "distance": "ordered", "attribute": "days", "t": 0.5}
    source = build.source().set_column(3, "days", pa.array(range(4, 17), pa.int64()))
    this = build.job(tmp_path, attributes=attributes, privacy=[{"model": "k-anonymity", "k": 3}, model])
    result = run(this, source)
    assert result.report["solution"]["suppressed"] == 1
    document = validate(this, result.table, result.report)
    assert document["success"] is True
    by_number = (21 + 15) / 12 / 11
    assert judgement(document, "t-closeness")["observed"] == pytest.approx(by_number, rel=1e-12)
    texts = result.table.set_column(3, "days", result.table["days"].cast(pa.string()))
    assert judgement(validate(this, texts, result.report), "t-closeness")["success"] is False


@pytest.mark.parametrize("form", [{"variant": "distinct", "l": 3}, {"variant": "recursive", "c": 3.0, "l": 3}])
@pytest.mark.parametrize("text", [None, "?"])
def test_missing_values_count_where_the_job_says_so(tmp_path, form, text):
    """Every class has two diagnoses and records without one, as nulls or as a text that the job lists."""
    found = pa.array([("dx-alpha", "dx-beta", text)[row % 3] for row in range(13)])
    source = build.source().set_column(2, "diagnosis", found)
    diagnosis = {"role": "sensitive", **({} if text is None else {"missing": [text]})}
    attributes = {**build.job(tmp_path).document()["attributes"], "diagnosis": diagnosis}
    model = {"model": "l-diversity", "attribute": "diagnosis", **form}
    counting = build.job(tmp_path, attributes=attributes, privacy=[{**model, "missing": "value"}])
    result = run(counting, source)
    assert validate(counting, result.table, result.report)["success"] is True
    strict = build.job(tmp_path, attributes=attributes, privacy=[model])
    assert judgement(validate(strict, result.table, result.report), "l-diversity")["success"] is False
    two = build.job(tmp_path, attributes=attributes, privacy=[{**model, "l": 2}])
    result = run(two, source)
    assert validate(two, result.table, result.report)["success"] is True


def test_numbers_that_span_a_range(tmp_path):
    """Two classes of six days in a row each: five days from the first to the last."""
    attributes = {**build.job(tmp_path).document()["attributes"], "days": {"role": "sensitive", "order": "integer"}}
    model = {"model": "k-e-anonymity", "attribute": "days", "k": 6, "e": 4.5}
    job, table, report = build.released(tmp_path, attributes=attributes, privacy=[model])
    assert report["solution"]["suppressed"] == 1
    document = validate(job, table, report)
    assert document["success"] is True
    assert judgement(document, "k-e-anonymity")["observed"] == 5.0
    # the last of six days falls on the day before: five numbers, and a range of 4
    near = build.changed(table, "days", table["days"].to_pylist().index(88_006), 88_005)
    assert build.failed(validate(job, near, report)) == {PRIVACY, FIGURES}
    missing = build.changed(table, "days", table["days"].to_pylist().index(88_004), None)
    result = judgement(validate(job, missing, report), "k-e-anonymity")
    assert (result["success"], result["observed"]) == (False, 5.0)
    for key, other in (("margin", 0.5), ("required", 4.0), ("sense", "at-most"), ("observed", 6.0)):
        wrong = copy.deepcopy(report)
        wrong["privacy"][0][key] = other
        assert build.failed(validate(job, table, wrong)) == {FIGURES}
