"""The suite on what a release consists of: columns, types, rows, the figures of its report."""

from __future__ import annotations

import copy
import json

import great_expectations as gx
import pyarrow as pa
import pytest

from airflow_anon.expectations.suite import release_suite
from tests.airflow_anon.expectations import build
from tests.airflow_anon.expectations.build import (
    CLASSES,
    COLUMNS,
    FIGURES,
    LABELS_AGE,
    LABELS_ZIP,
    PRIVACY,
    ROWS,
    SCHEMA,
    SUPPRESSION,
)


@pytest.fixture
def release(tmp_path):
    """Give job, table and report of the known release: twelve records kept, one suppressed and left out."""
    return build.released(tmp_path)


def test_good_release(release):
    """Every criterion has its expectation, all hold, and the figures are those counted by hand."""
    document = build.validate(*release)
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
    assert (build.result_of(document, CLASSES)["observed"], build.result_of(document, CLASSES)["required"]) == (6, 3)
    assert (build.result_of(document, SUPPRESSION)["observed"], build.result_of(document, SUPPRESSION)["required"]) == (
        1,
        1,
    )
    assert (build.result_of(document, ROWS)["observed"], build.result_of(document, ROWS)["required"]) == (12, 12)


@pytest.mark.parametrize("name", ["mrn", "MRN", "Mrn"])
def test_identifying_column_is_back(release, name):
    """An identifying column is found however it is written, and named."""
    job, table, report = release
    document = build.validate(job, table.append_column(name, pa.array(["MRN-48213377"] * 12)), report)
    assert build.failed(document) == {COLUMNS, SCHEMA}
    result = build.result_of(document, COLUMNS)
    assert (result["observed"], result["message"]) == (1, f"identifying: {name}")
    assert "48213377" not in json.dumps(document)


def test_unnamed_column(release):
    """A column that the job does not know is refused."""
    job, table, report = release
    document = build.validate(job, table.append_column("note", table["diagnosis"]), report)
    assert build.failed(document) == {COLUMNS, SCHEMA}
    assert build.result_of(document, COLUMNS)["message"] == "columns that the job does not release: 1"


def test_column_twice(release):
    """Two columns of one name are not judged by one of them."""
    job, table, report = release
    document = build.validate(job, table.append_column("age", table["age"]), report)
    assert SCHEMA in build.failed(document)
    assert build.result_of(document, CLASSES)["message"] == "columns missing, or there more than once: age"


def test_row_removed(release):
    """A record that is gone is missed."""
    job, table, report = release
    document = build.validate(job, table.slice(1), report)
    assert build.failed(document) == {ROWS}
    assert (build.result_of(document, ROWS)["observed"], build.result_of(document, ROWS)["required"]) == (11, 12)


def test_extraction_counted_otherwise(release):
    """The rows the report read must be those that were extracted."""
    job, table, report = release
    document = build.validate(job, table, report, source_rows=14)
    assert build.failed(document) == {ROWS}
    assert "14 were extracted and the report counted 13" in build.result_of(document, ROWS)["message"]


def test_nothing_is_told_apart(release):
    """A release with `*` throughout, of a job that does not allow it."""
    job, table, report = release
    starred = pa.array(["*"] * table.num_rows)
    for name in job.quasi_identifiers:
        table = table.set_column(table.column_names.index(name), name, starred)
    empty = "expect_something_to_tell_apart"
    assert job.allow_empty_information
    assert empty not in {one["expectation_type"] for one in build.validate(job, table, report)["results"]}
    asking = job.model_copy(update={"allow_empty_information": False})
    assert empty in build.failed(build.validate(asking, table, report))
    assert empty not in build.failed(build.validate(asking, release[1], report))


def test_report_counted_otherwise(release):
    """The rows that were extracted are all there, and the report read another number."""
    job, table, report = release
    assert build.failed(build.validate(job, table, {**report, "rows": 14})) == {ROWS}


def test_type_changed(release):
    """An insensitive column keeps the type of the source; the same table passes where the source is not known."""
    job, table, report = release
    position = table.column_names.index("days")
    other = table.set_column(position, "days", table["days"].cast(pa.string()))
    document = build.validate(job, other, report)
    assert build.failed(document) == {SCHEMA}
    assert build.result_of(document, SCHEMA)["message"] == "column 'days' is string, in the source it is int64"
    assert build.validate(job, other, report, source_types={})["success"] is True


def test_quasi_identifier_that_is_no_text(release):
    """Labels that look the same in another encoding are refused: the schema must not depend on the data."""
    job, table, report = release
    other = table.set_column(table.column_names.index("age"), "age", table["age"].combine_chunks().dictionary_encode())
    assert build.failed(build.validate(job, other, report)) == {SCHEMA}


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
    assert build.failed(build.validate(job, table.rename_columns(names), report)) == expected


def test_columns_in_another_order(release):
    """Readers may address columns by position."""
    job, table, report = release
    assert build.failed(build.validate(job, table.select(["zip", "age", "diagnosis", "days"]), report)) == {SCHEMA}


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [("classes", "smallest", 7), ("classes", "number", 3), ("risk", "prosecutor", 0.01), ("risk", "marketer", 0.01)],
)
def test_report_states_another_figure(release, part, key, value):
    """A figure of the report that is not the release's is named, and not repeated."""
    job, table, report = release
    report = copy.deepcopy(report)
    report[part][key] = value
    document = build.validate(job, table, report)
    assert build.failed(document) == {FIGURES}
    assert build.result_of(document, FIGURES)["message"] == f"not as in the release: {part}.{key}"


BIN = {"from": 6, "to": 11, "classes": 2, "records": 12}


@pytest.mark.parametrize(
    "bins",
    [
        None,
        [],
        [{"from": 3, "to": 5, "classes": 0, "records": 0}],
        [{"from": 3, "to": 5, "classes": 0, "records": 0}, {**BIN, "records": 11}],
        [{"from": 3, "to": 5, "classes": 0, "records": 0}, {**BIN, "classes": 2.0}],
        [{"from": 3, "to": 5, "classes": False, "records": 0}, BIN],
        [{"from": 3, "to": 5, "classes": 0, "records": 0}, {**BIN, "names": ["y30s"]}],
        [BIN],
    ],
)
def test_report_states_another_distribution(release, bins):
    """Classes by size are counted again, and nothing may stand beside the counts."""
    job, table, report = release
    report = copy.deepcopy(report)
    assert report["classes"]["distribution"] == [{"from": 3, "to": 5, "classes": 0, "records": 0}, BIN]
    report["classes"]["distribution"] = bins
    document = build.validate(job, table, report)
    assert build.failed(document) == {FIGURES}
    assert build.result_of(document, FIGURES)["message"] == "not as in the release: classes.distribution"


@pytest.mark.parametrize("value", [None, 0.6, "0.3", True])
def test_report_states_another_least_margin(release, value):
    job, table, report = release
    # six records in a class where 3 are required, three values where 2 are
    assert [entry["margin"] for entry in report["privacy"]] == [0.5, pytest.approx(1 / 3)]
    assert report["privacy_margin"] == pytest.approx(1 / 3)
    document = build.validate(job, table, {**report, "privacy_margin": value})
    assert build.failed(document) == {FIGURES}
    assert build.result_of(document, FIGURES)["message"] == "not as in the release: privacy_margin"


@pytest.mark.parametrize(
    "harm",
    [
        {"observed": 7},
        {"observed": None},
        {"holds": False},
        {"holds": 1},
        {"required": 2},
        {"required": None},
        {"sense": "at-most"},
        {"margin": 0.6},
        {"margin": None},
        {"margin": True},
    ],
)
def test_report_states_another_judgement(release, harm):
    """The report says of every privacy model what was found."""
    job, table, report = release
    first, *others = report["privacy"]
    document = build.validate(job, table, {**report, "privacy": [{**first, **harm}, *others]})
    assert build.failed(document) == {FIGURES}


@pytest.mark.parametrize("harm", [lambda privacy: privacy[:1], lambda privacy: [*privacy, privacy[0]], lambda _: None])
def test_report_states_other_models(release, harm):
    """Every privacy model of the job is in the report, and no other."""
    job, table, report = release
    document = build.validate(job, table, {**report, "privacy": harm(report["privacy"])})
    assert build.failed(document) == {FIGURES}


@pytest.mark.parametrize(
    "solution",
    [
        None,
        {"levels": {"age": 1}, "suppressed": 1},
        {"levels": {"age": 1, "zip": True}, "suppressed": 1},
    ],
)
def test_report_without_a_solution_builds_no_suite(release, solution):
    """There is nothing to compare with, so nothing holds."""
    job, _, report = release
    with pytest.raises(ValueError, match=r"^report: "):
        release_suite(job, {**report, "solution": solution}, source_rows=13)


@pytest.mark.parametrize("records", [-1, None, True, 1.0, {}, [1]])
def test_report_without_a_number_of_suppressed_records_builds_no_suite(release, records):
    job, _, report = release
    stated = {**report["suppressed_class"], "records": records}
    with pytest.raises(ValueError, match=r"^report: .* must be whole numbers"):
        release_suite(job, {**report, "suppressed_class": stated}, source_rows=13)
