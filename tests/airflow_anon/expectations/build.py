"""A small job whose release is known by hand, made by the engine, and what a validation of it finds."""

from __future__ import annotations

import pyarrow as pa

from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import load_job, run

COLUMNS = "expect_only_released_columns"
SCHEMA = "expect_declared_schema"
ROWS = "expect_rows_accounted_for"
SUPPRESSION = "expect_suppression_within_limit"
CLASSES = "expect_classes_to_hold_at_least"
PRIVACY = "expect_privacy_model_to_hold"
FIGURES = "expect_reported_figures"
LABELS_AGE = "expect_column_values_to_be_labels age"
LABELS_ZIP = "expect_column_values_to_be_labels zip"

AGES = "y31;y30s;*\ny32;y30s;*\ny41;y40s;*\ny42;y40s;*\ny71;y70s;*\n"
ZIPS = "z2138;z213-;*\nz2139;z213-;*\nz9021;z902-;*\n"
DIAGNOSES = ("dx-alpha", "dx-beta", "dx-gamma")


def job(folder, **changes):
    """Two quasi-identifiers, 3-anonymity and distinct 2-diversity; one of the 13 records may be suppressed.

    One is too few for a class of suppressed records: it is left out.
    """
    (folder / "age.csv").write_text(AGES)
    (folder / "zip.csv").write_text(ZIPS)
    document = {
        "name": "persons",
        "attributes": {
            "mrn": {"role": "identifying"},
            "age": {"role": "quasi-identifying", "hierarchy": str(folder / "age.csv"), "minimum_level": 1},
            "zip": {"role": "quasi-identifying", "hierarchy": str(folder / "zip.csv"), "minimum_level": 1},
            "diagnosis": {"role": "sensitive"},
            "days": {"role": "insensitive"},
        },
        "privacy": [
            {"model": "k-anonymity", "k": 3},
            {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2},
        ],
        "suppression_limit": 0.1,
        # of thirteen records the best is sometimes the root
        "allow_empty_information": True,
    }
    return load_job({**document, **changes})


def source():
    """Give six records in their thirties, six in their forties, and one that only suppression can hide."""
    ages = ["y31", "y32"] * 3 + ["y41", "y42"] * 3 + ["y71"]
    zips = ["z2138", "z2139", "z2139"] * 4 + ["z9021"]
    return pa.table(
        {
            "age": ages,
            "zip": zips,
            "diagnosis": [DIAGNOSES[i % 3] for i in range(13)],
            "days": pa.array([88_001 + i for i in range(13)], pa.int64()),
        }
    )


def types():
    """Types of the source's columns, as text."""
    return {field.name: str(field.type) for field in source().schema}


def released(folder, **changes):
    """Run the engine; give the job, the table and the report."""
    this = job(folder, **changes)
    result = run(this, source())
    return this, in_one_order(result.table), result.report


def starred(folder, **changes):
    """Give job, table and report of a release whose first three records are suppressed ones, enough for a class."""
    (folder / "more").mkdir()
    more = job(folder / "more", suppression_limit=0.2, **changes)
    with (folder / "more/age.csv").open("a") as file:
        file.write("y81;y80s;*\ny91;y90s;*\n")
    last = source().slice(12)
    others = [changed(changed(last, "age", 0, age), "diagnosis", 0, "dx-beta") for age in ("y81", "y91")]
    result = run(more, pa.concat_tables([source(), *others]))
    assert result.table["age"].to_pylist()[:4] == ["*", "*", "*", "y30s"]
    return more, in_one_order(result.table), result.report


def in_one_order(table):
    """Sort the records of each class, which a release has at random, by their days: tests name them by place."""
    return table.sort_by([(name, "ascending") for name in ("age", "zip", "days")])


def changed(table, column, row, value):
    """Replace one cell."""
    values = table[column].to_pylist()
    values[row] = value
    position = table.column_names.index(column)
    return table.set_column(position, column, pa.array(values, table.schema.field(column).type))


def failed(document):
    """Types of the expectations that do not hold; the column stands behind those on one column."""
    return {
        result["expectation_type"] + (f" {result['kwargs']['column']}" if "column" in result["kwargs"] else "")
        for result in document["results"]
        if not result["success"]
    }


def validate(job, table, report, source_rows=13, source_types=None):
    """Build the suite of a release and run it on a table."""
    kinds = types() if source_types is None else source_types
    return run_suite(table, release_suite(job, report, source_rows=source_rows, source_types=kinds))


def result_of(document, kind, column=None):
    """Give the one result of an expectation type, on a column if it has one."""
    found = [
        result
        for result in document["results"]
        if result["expectation_type"] == kind and result["kwargs"].get("column") == column
    ]
    assert len(found) == 1
    return found[0]
