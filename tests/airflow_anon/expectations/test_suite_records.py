"""The suite on what the records of a release show: classes, diversity, labels, suppression."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine import load_job, run
from tests.airflow_anon.expectations import build
from tests.airflow_anon.expectations.build import CLASSES, FIGURES, LABELS_AGE, LABELS_ZIP, PRIVACY, ROWS, SUPPRESSION


@pytest.fixture
def release(tmp_path):
    """Give job, table and report of the known release: twelve records kept, one suppressed and left out."""
    return build.released(tmp_path)


def test_class_of_k_minus_1(release):
    """Four of the six records in their forties move away: two are left, k is 3."""
    job, table, report = release
    for row in (6, 7, 8, 9):
        table = build.changed(table, "age", row, "y30s")
    document = build.validate(job, table, report)
    assert document["success"] is False
    assert build.failed(document) == {CLASSES, PRIVACY, FIGURES}
    assert (build.result_of(document, CLASSES)["observed"], build.result_of(document, CLASSES)["required"]) == (2, 3)
    by_model = {
        result["kwargs"]["model"]["model"]: result for result in document["results"] if "model" in result["kwargs"]
    }
    assert (by_model["k-anonymity"]["success"], by_model["l-diversity"]["success"]) == (False, True)
    assert (by_model["k-anonymity"]["observed"], by_model["k-anonymity"]["required"]) == (2, 3)


def test_class_without_diversity(release):
    """One diagnosis in the whole class fails l-diversity, and k-anonymity does not see it."""
    job, table, report = release
    for row in range(6):
        table = build.changed(table, "diagnosis", row, "dx-alpha")
    document = build.validate(job, table, report)
    assert build.failed(document) == {PRIVACY, FIGURES}
    failed = [
        result for result in document["results"] if result["expectation_type"] == PRIVACY and not result["success"]
    ]
    assert [(result["observed"], result["required"], result["column"]) for result in failed] == [(1, 2, "diagnosis")]


def test_leaf_value_slips_in(release):
    """A value below the chosen level is counted, in its column only."""
    job, table, report = release
    document = build.validate(job, build.changed(table, "age", 0, "y31"), report)
    assert build.failed(document) == {LABELS_AGE, CLASSES, PRIVACY, FIGURES}
    assert build.result_of(document, "expect_column_values_to_be_labels", "age")["observed"] == 1


def test_foreign_text_in_a_whole_class(release):
    """Labels are checked against the hierarchy, not only by their classes."""
    job, table, report = release
    for row in range(12):
        table = build.changed(table, "zip", row, "somewhere")
    document = build.validate(job, table, report)
    assert build.failed(document) == {LABELS_ZIP}
    assert build.result_of(document, "expect_column_values_to_be_labels", "zip")["observed"] == 12


def test_partly_starred_record(release):
    """`*` stands for a suppressed record as a whole; in one column of a kept one it is no label."""
    job, table, report = release
    document = build.validate(job, build.changed(table, "zip", 3, "*"), report)
    assert build.failed(document) == {LABELS_ZIP, CLASSES, PRIVACY, FIGURES}


def test_missing_value_where_the_job_refuses_it(tmp_path):
    """A null is a label where nulls are values, and none where they are errors."""
    _, table, report = build.released(tmp_path)
    for row in range(6):
        table = build.changed(table, "age", row, None)
    document = build.validate(build.job(tmp_path), table, report)
    assert build.failed(document) == set()
    attributes = build.job(tmp_path).document()["attributes"]
    strict = build.job(tmp_path, attributes={**attributes, "age": {**attributes["age"], "nulls": "error"}})
    document = build.validate(strict, table, report)
    assert build.failed(document) == {LABELS_AGE}
    assert build.result_of(document, "expect_column_values_to_be_labels", "age")["observed"] == 6


def test_suppression_above_the_limit(tmp_path):
    """One of 13 is suppressed; where none may be, it is too many."""
    _, table, report = build.released(tmp_path)
    document = build.validate(build.job(tmp_path, suppression_limit=0.07), table, report)
    assert build.failed(document) == {SUPPRESSION}
    assert (build.result_of(document, SUPPRESSION)["observed"], build.result_of(document, SUPPRESSION)["required"]) == (
        1,
        0,
    )


def test_more_suppressed_than_reported(tmp_path):
    """The release counts, not the report."""
    job, table, report = build.starred(tmp_path)
    for column in ("age", "zip"):
        table = build.changed(table, column, 3, "*")
    document = build.validate(job, table, report, source_rows=15)
    assert build.failed(document) == {SUPPRESSION}
    assert build.result_of(document, SUPPRESSION)["observed"] == 4


def test_fewer_suppressed_than_reported(tmp_path):
    """A suppressed record that shows its labels is a class of one, and leaves a class of two."""
    job, table, report = build.starred(tmp_path)
    table = build.changed(build.changed(table, "age", 0, "y70s"), "zip", 0, "z902-")
    document = build.validate(job, table, report, source_rows=15)
    assert build.failed(document) == {SUPPRESSION, CLASSES, PRIVACY}


def test_suppressed_records_without_diversity(tmp_path):
    """The suppressed records are a class too: with one diagnosis it tells that of everybody who was suppressed."""
    job, table, report = build.starred(tmp_path)
    assert build.validate(job, table, report, source_rows=15)["success"] is True
    for row in range(3):
        table = build.changed(table, "diagnosis", row, "dx-beta")
    document = build.validate(job, table, report, source_rows=15)
    assert build.failed(document) == {PRIVACY, FIGURES}
    failing = [result["message"] for result in document["results"] if not result["success"]]
    assert any(message.startswith("with the suppressed records: ") for message in failing)
    assert "not as in the release: attribute_inference" in failing


def test_the_form_of_suppressed_records_is_that_of_the_report(tmp_path):
    job, table, report = build.starred(tmp_path)
    for form in (None, "other", 1):
        with pytest.raises(ValueError, match=r"suppressed_class.form must be none, star or drop"):
            build.validate(job, table, {**report, "suppressed_class": {"form": form}}, source_rows=15)
    stated = {**report["suppressed_class"], "form": "drop"}
    document = build.validate(job, table, {**report, "suppressed_class": stated}, source_rows=15)
    assert {ROWS, SUPPRESSION} <= build.failed(document)
    dropping = load_job({**job.document(), "output": {"path": str(tmp_path / "r"), "suppressed": "drop"}})
    with pytest.raises(ValueError, match="the job leaves suppressed records out"):
        build.validate(dropping, table, report, source_rows=15)


def test_level_the_job_does_not_allow(tmp_path):
    """The reported level is held to the job's bounds."""
    _, table, report = build.released(tmp_path)
    attributes = build.job(tmp_path).document()["attributes"]
    strict = build.job(tmp_path, attributes={**attributes, "zip": {**attributes["zip"], "minimum_level": 2}})
    document = build.validate(strict, table, report)
    assert build.failed(document) == {LABELS_ZIP}
    assert (
        build.result_of(document, "expect_column_values_to_be_labels", "zip")["message"]
        == "level 1 is outside the job's limits"
    )


@pytest.mark.parametrize("how", ["star", "drop"])
def test_everything_suppressed(tmp_path, how):
    """No class has 13 records where nothing may be generalized: all are suppressed, and no kept record holds."""
    output = {"path": str(tmp_path / "release"), "suppressed": how}
    attributes = build.job(tmp_path).document()["attributes"]
    fixed = {name: {**one, "maximum_level": 1} if "minimum_level" in one else one for name, one in attributes.items()}
    changes = {"suppression_limit": 1.0, "privacy": [{"model": "k-anonymity", "k": 13}], "attributes": fixed}
    job, table, report = build.released(tmp_path, output=output, **changes)
    assert (report["solution"]["suppressed"], table.num_rows) == (13, 13 if how == "star" else 0)
    assert build.validate(job, table, report)["success"] is True
    kept = build.changed(build.changed(table, "age", 0, "y30s"), "zip", 0, "z213-") if how == "star" else build.source()
    assert build.validate(job, kept, report)["success"] is False


def test_suppressed_records_are_left_out(tmp_path):
    """Twelve rows of thirteen are accounted for where the job drops, and a row more or less is not."""
    output = {"path": str(tmp_path / "release"), "suppressed": "drop"}
    job, table, report = build.released(tmp_path, output=output)
    assert table.num_rows == 12
    assert build.validate(job, table, report)["success"] is True
    assert build.failed(build.validate(job, table.slice(1), report)) == {ROWS}
    starred = pa.concat_tables([table, build.starred(tmp_path)[1].slice(0, 1)])
    assert build.failed(build.validate(job, starred, report)) == {
        ROWS,
        SUPPRESSION,
        LABELS_AGE,
        LABELS_ZIP,
        CLASSES,
        PRIVACY,
    }


def test_generalized_to_the_root(tmp_path):
    """Where nothing is suppressed, a table that is `*` throughout is one class of thirteen."""
    job, table, report = build.released(tmp_path, suppression_limit=0.0, privacy=[{"model": "k-anonymity", "k": 13}])
    assert (report["solution"]["suppressed"], set(table["age"].to_pylist())) == (0, {"*"})
    document = build.validate(job, table, report)
    assert document["success"] is True
    assert build.result_of(document, CLASSES)["observed"] == 13
    larger = build.job(tmp_path, privacy=[{"model": "k-anonymity", "k": 14}])
    assert {CLASSES, PRIVACY} <= build.failed(build.validate(larger, table, report))


def test_class_named_like_the_mark_is_judged(tmp_path):
    """`*` may be one label among others: with nothing suppressed, its records are a class that must hold as well."""
    (tmp_path / "sex.csv").write_text("f;f\nm;m\nx;*\n")
    job = load_job(
        {
            "name": "persons",
            "attributes": {
                "sex": {"role": "quasi-identifying", "hierarchy": str(tmp_path / "sex.csv"), "minimum_level": 1}
            },
            "privacy": [{"model": "k-anonymity", "k": 2}],
        }
    )
    good = pa.table({"sex": ["f", "f", "f", "m", "m", "x", "x"]})
    result = run(job, good)
    assert result.table["sex"].to_pylist() == ["*", "*", "f", "f", "f", "m", "m"]
    assert build.validate(job, result.table, result.report, source_rows=7, source_types={})["success"] is True
    lonely = build.changed(result.table, "sex", 0, "f")
    document = build.validate(job, lonely, result.report, source_rows=7, source_types={})
    assert build.failed(document) == {CLASSES, PRIVACY, FIGURES}
    assert build.result_of(document, PRIVACY)["observed"] == 1
