"""The suite on releases of the engine: whole ones, and ones with a deliberate harm each, by real Great Expectations."""

from __future__ import annotations

import copy
import json

import great_expectations as gx
import pyarrow as pa
import pytest

from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import load_job, run
from tests.airflow_anon.expectations import build

COLUMNS = "expect_only_released_columns"
SCHEMA = "expect_declared_schema"
ROWS = "expect_rows_accounted_for"
SUPPRESSION = "expect_suppression_within_limit"
CLASSES = "expect_classes_to_hold_at_least"
PRIVACY = "expect_privacy_model_to_hold"
FIGURES = "expect_reported_figures"
LABELS_AGE = "expect_column_values_to_be_labels age"
LABELS_ZIP = "expect_column_values_to_be_labels zip"


@pytest.fixture
def release(tmp_path):
    """Give job, table and report of the known release: twelve records kept, one suppressed."""
    return build.released(tmp_path)


def validate(job, table, report, source_rows=13, source_types=None):
    types = build.types() if source_types is None else source_types
    return run_suite(table, release_suite(job, report, source_rows=source_rows, source_types=types))


def result_of(document, kind, column=None):
    """Give the one result of an expectation type, on a column if it has one."""
    found = [
        result
        for result in document["results"]
        if result["expectation_type"] == kind and result["kwargs"].get("column") == column
    ]
    assert len(found) == 1
    return found[0]


def test_good_release(release):
    """Every criterion has its expectation, all hold, and the figures are those counted by hand."""
    document = validate(*release)
    assert document["success"] is True
    kinds = [result["expectation_type"] for result in document["results"]]
    assert sorted(kinds) == sorted(
        [
            COLUMNS,
            SCHEMA,
            ROWS,
            SUPPRESSION,
            CLASSES,
            PRIVACY,
            PRIVACY,
            FIGURES,
            *["expect_column_values_to_be_labels"] * 2,
        ]
    )
    assert document["expectations"] == 10
    assert document["suite"] == "persons-release"
    assert document["great_expectations_version"] == gx.__version__
    assert (result_of(document, CLASSES)["observed"], result_of(document, CLASSES)["required"]) == (6, 3)
    assert (result_of(document, SUPPRESSION)["observed"], result_of(document, SUPPRESSION)["required"]) == (1, 1)
    assert (result_of(document, ROWS)["observed"], result_of(document, ROWS)["required"]) == (13, 13)


def test_class_of_k_minus_1(release):
    """Four of the six records in their forties move away: two are left, k is 3."""
    job, table, report = release
    for row in (6, 7, 8, 9):
        table = build.changed(table, "age", row, "y30s")
    document = validate(job, table, report)
    assert document["success"] is False
    assert build.failed(document) == {CLASSES, PRIVACY, FIGURES}
    assert (result_of(document, CLASSES)["observed"], result_of(document, CLASSES)["required"]) == (2, 3)
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
    document = validate(job, table, report)
    assert build.failed(document) == {PRIVACY, FIGURES}
    failed = [
        result for result in document["results"] if result["expectation_type"] == PRIVACY and not result["success"]
    ]
    assert [(result["observed"], result["required"], result["column"]) for result in failed] == [(1, 2, "diagnosis")]


@pytest.mark.parametrize("name", ["mrn", "MRN", "Mrn"])
def test_identifying_column_is_back(release, name):
    """An identifying column is found however it is written, and named."""
    job, table, report = release
    document = validate(job, table.append_column(name, pa.array(["MRN-48213377"] * 13)), report)
    assert build.failed(document) == {COLUMNS, SCHEMA}
    result = result_of(document, COLUMNS)
    assert (result["observed"], result["message"]) == (1, f"identifying: {name}")
    assert "48213377" not in json.dumps(document)


def test_unnamed_column(release):
    """A column that the job does not know is refused."""
    job, table, report = release
    document = validate(job, table.append_column("note", table["diagnosis"]), report)
    assert build.failed(document) == {COLUMNS, SCHEMA}
    assert result_of(document, COLUMNS)["message"] == "not released by the job: note"


def test_column_twice(release):
    """Two columns of one name are not judged by one of them."""
    job, table, report = release
    document = validate(job, table.append_column("age", table["age"]), report)
    assert SCHEMA in build.failed(document)
    assert result_of(document, CLASSES)["message"] == "columns missing, or there more than once: age"


def test_leaf_value_slips_in(release):
    """A value below the chosen level is counted, in its column only."""
    job, table, report = release
    document = validate(job, build.changed(table, "age", 0, "y31"), report)
    assert build.failed(document) == {LABELS_AGE, CLASSES, PRIVACY, FIGURES}
    assert result_of(document, "expect_column_values_to_be_labels", "age")["observed"] == 1


def test_foreign_text_in_a_whole_class(release):
    """Labels are checked against the hierarchy, not only by their classes."""
    job, table, report = release
    for row in range(12):
        table = build.changed(table, "zip", row, "somewhere")
    document = validate(job, table, report)
    assert build.failed(document) == {LABELS_ZIP}
    assert result_of(document, "expect_column_values_to_be_labels", "zip")["observed"] == 12


def test_partly_starred_record(release):
    """`*` stands for a suppressed record as a whole; in one column of a kept one it is no label."""
    job, table, report = release
    document = validate(job, build.changed(table, "zip", 3, "*"), report)
    assert build.failed(document) == {LABELS_ZIP, CLASSES, PRIVACY, FIGURES}


def test_missing_value_where_the_job_refuses_it(tmp_path):
    """A null is a label where nulls are values, and none where they are errors."""
    _, table, report = build.released(tmp_path)
    for row in range(6):
        table = build.changed(table, "age", row, None)
    document = validate(build.job(tmp_path), table, report)
    assert build.failed(document) == set()
    attributes = build.job(tmp_path).document()["attributes"]
    strict = build.job(tmp_path, attributes={**attributes, "age": {**attributes["age"], "nulls": "error"}})
    document = validate(strict, table, report)
    assert build.failed(document) == {LABELS_AGE}
    assert result_of(document, "expect_column_values_to_be_labels", "age")["observed"] == 6


def test_row_removed(release):
    """A record that is gone is missed."""
    job, table, report = release
    document = validate(job, table.slice(1), report)
    assert build.failed(document) == {ROWS}
    assert (result_of(document, ROWS)["observed"], result_of(document, ROWS)["required"]) == (12, 13)


def test_extraction_counted_otherwise(release):
    """The rows the report read must be those that were extracted."""
    job, table, report = release
    document = validate(job, table, report, source_rows=14)
    assert build.failed(document) == {ROWS}
    assert "14 were extracted and the report counted 13" in result_of(document, ROWS)["message"]


def test_type_changed(release):
    """An insensitive column keeps the type of the source; the same table passes where the source is not known."""
    job, table, report = release
    position = table.column_names.index("days")
    other = table.set_column(position, "days", table["days"].cast(pa.string()))
    document = validate(job, other, report)
    assert build.failed(document) == {SCHEMA}
    assert result_of(document, SCHEMA)["message"] == "column 'days' is string, in the source it is int64"
    assert validate(job, other, report, source_types={})["success"] is True


def test_quasi_identifier_that_is_no_text(release):
    """Labels that look the same in another encoding are refused: the schema must not depend on the data."""
    job, table, report = release
    other = table.set_column(table.column_names.index("age"), "age", table["age"].combine_chunks().dictionary_encode())
    assert build.failed(validate(job, other, report)) == {SCHEMA}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("days", {COLUMNS, SCHEMA}),
        ("diagnosis", {COLUMNS, SCHEMA, PRIVACY, FIGURES}),
        ("age", {COLUMNS, SCHEMA, PRIVACY, FIGURES, CLASSES, SUPPRESSION, LABELS_AGE, LABELS_ZIP}),
    ],
)
def test_column_renamed(release, column, expected):
    """A renamed column fails what cannot be judged without it."""
    job, table, report = release
    names = ["other" if name == column else name for name in table.column_names]
    assert build.failed(validate(job, table.rename_columns(names), report)) == expected


def test_columns_in_another_order(release):
    """Readers may address columns by position."""
    job, table, report = release
    assert build.failed(validate(job, table.select(["zip", "age", "diagnosis", "days"]), report)) == {SCHEMA}


def test_suppression_above_the_limit(tmp_path):
    """One of 13 is suppressed; where none may be, it is too many."""
    _, table, report = build.released(tmp_path)
    document = validate(build.job(tmp_path, suppression_limit=0.07), table, report)
    assert build.failed(document) == {SUPPRESSION}
    assert (result_of(document, SUPPRESSION)["observed"], result_of(document, SUPPRESSION)["required"]) == (1, 0)


def test_more_suppressed_than_reported(release):
    """The release counts, not the report."""
    job, table, report = release
    for column in ("age", "zip"):
        table = build.changed(table, column, 0, "*")
    document = validate(job, table, report)
    assert build.failed(document) == {SUPPRESSION}
    assert result_of(document, SUPPRESSION)["observed"] == 2


def test_fewer_suppressed_than_reported(release):
    """A suppressed record that shows its labels is a class of one."""
    job, table, report = release
    table = build.changed(build.changed(table, "age", 12, "y70s"), "zip", 12, "z902-")
    document = validate(job, table, report)
    assert build.failed(document) == {SUPPRESSION, CLASSES, PRIVACY}


def test_level_the_job_does_not_allow(tmp_path):
    """The reported level is held to the job's bounds."""
    _, table, report = build.released(tmp_path)
    attributes = build.job(tmp_path).document()["attributes"]
    strict = build.job(tmp_path, attributes={**attributes, "zip": {**attributes["zip"], "minimum_level": 2}})
    document = validate(strict, table, report)
    assert build.failed(document) == {LABELS_ZIP}
    assert (
        result_of(document, "expect_column_values_to_be_labels", "zip")["message"]
        == "level 1 is outside the job's limits"
    )


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [("classes", "smallest", 7), ("classes", "number", 3), ("risk", "prosecutor", 0.01), ("risk", "marketer", 0.01)],
)
def test_report_states_another_figure(release, part, key, value):
    """A figure of the report that is not the release's is named, and not repeated."""
    job, table, report = release
    report = copy.deepcopy(report)
    report[part][key] = value
    document = validate(job, table, report)
    assert build.failed(document) == {FIGURES}
    assert result_of(document, FIGURES)["message"] == f"not as in the release: {part}.{key}"


@pytest.mark.parametrize(
    "harm", [lambda privacy: privacy[:1], lambda privacy: [{**privacy[0], "observed": 7}, privacy[1]]]
)
def test_report_states_another_judgement(release, harm):
    """Every privacy model is in the report, with the figure that was found."""
    job, table, report = release
    document = validate(job, table, {**report, "privacy": harm(report["privacy"])})
    assert build.failed(document) == {FIGURES}


@pytest.mark.parametrize(
    "solution",
    [
        None,
        {"levels": {"age": 1}, "suppressed": 1},
        {"levels": {"age": 1, "zip": True}, "suppressed": 1},
        {"levels": {"age": 1, "zip": 1}, "suppressed": -1},
        {"levels": {"age": 1, "zip": 1}},
    ],
)
def test_report_without_a_solution_builds_no_suite(release, solution):
    """There is nothing to compare with, so nothing holds."""
    job, _, report = release
    with pytest.raises(ValueError, match=r"^report: "):
        release_suite(job, {**report, "solution": solution}, source_rows=13)


@pytest.mark.parametrize("how", ["star", "drop"])
def test_everything_suppressed(tmp_path, how):
    """Thirteen records cannot be 14-anonymous: all are suppressed, and a release of no kept record holds."""
    output = {"path": str(tmp_path / "release"), "suppressed": how}
    models = [{"model": "k-anonymity", "k": 14}]
    job, table, report = build.released(tmp_path, suppression_limit=1.0, privacy=models, output=output)
    assert (report["solution"]["suppressed"], table.num_rows) == (13, 13 if how == "star" else 0)
    assert validate(job, table, report)["success"] is True
    kept = build.changed(build.changed(table, "age", 0, "y30s"), "zip", 0, "z213-") if how == "star" else build.source()
    assert validate(job, kept, report)["success"] is False


def test_suppressed_records_are_left_out(tmp_path):
    """Twelve rows of thirteen are accounted for where the job drops, and a row more or less is not."""
    output = {"path": str(tmp_path / "release"), "suppressed": "drop"}
    job, table, report = build.released(tmp_path, output=output)
    assert table.num_rows == 12
    assert validate(job, table, report)["success"] is True
    assert build.failed(validate(job, table.slice(1), report)) == {ROWS}
    starred = pa.concat_tables([table, build.released(tmp_path)[1].slice(12)])
    assert build.failed(validate(job, starred, report)) == {ROWS, SUPPRESSION, LABELS_AGE, LABELS_ZIP, CLASSES, PRIVACY}


def test_generalized_to_the_root(tmp_path):
    """Where nothing is suppressed, a table that is `*` throughout is one class of thirteen."""
    job, table, report = build.released(tmp_path, suppression_limit=0.0, privacy=[{"model": "k-anonymity", "k": 13}])
    assert (report["solution"]["suppressed"], set(table["age"].to_pylist())) == (0, {"*"})
    document = validate(job, table, report)
    assert document["success"] is True
    assert result_of(document, CLASSES)["observed"] == 13
    larger = build.job(tmp_path, privacy=[{"model": "k-anonymity", "k": 14}])
    assert {CLASSES, PRIVACY} <= build.failed(validate(larger, table, report))


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
    assert result.table["sex"].to_pylist()[-2:] == ["*", "*"]
    assert validate(job, result.table, result.report, source_rows=7, source_types={})["success"] is True
    lonely = build.changed(result.table, "sex", 5, "f")
    document = validate(job, lonely, result.report, source_rows=7, source_types={})
    assert build.failed(document) == {CLASSES, PRIVACY, FIGURES}
    assert result_of(document, PRIVACY)["observed"] == 1
