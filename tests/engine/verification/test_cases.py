"""Verification case by case: structure, reports, tables of stars, dropped records, dictionaries."""

from __future__ import annotations

import copy

import pyarrow as pa
import pytest

from engine import InvalidJob, load_job, recount, run, verify


def failed(findings):
    return [finding.check for finding in findings if not finding.holds]


JOB = {
    "name": "people",
    "attributes": {
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10]}, "nulls": "error"},
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 2}},
        "diagnosis": {"role": "sensitive"},
        "person_id": {"role": "identifying"},
        "note": {"role": "insensitive"},
    },
    "privacy": [
        {"model": "k-anonymity", "k": 2},
        {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2},
    ],
    "suppression_limit": 0.4,
    "allow_empty_information": True,
}
PEOPLE = pa.table(
    {
        "age": [23, 25, 31, 38, 71, 82],
        "zip": ["11", "12", "22", None, "99", "88"],
        "diagnosis": ["flu", "gout", "flu", "gout", "flu", "gout"],
        "person_id": ["1", "2", "3", "4", "5", "6"],
        "note": [1.5, None, 2.5, 3.5, 4.5, 5.5],
    }
)


def released(**changed):
    document = {**JOB, **changed}
    result = run(document, table=PEOPLE)
    return load_job(document), result.table, copy.deepcopy(result.report)


def test_a_good_output_holds_with_and_without_its_report():
    job, table, report = released()
    assert failed(verify(table, job, report)) == []
    assert failed(verify(table, job)) == []
    assert {finding.check for finding in verify(table, job, report)} == {
        "columns",
        "report",
        "schema",
        "levels",
        "labels",
        "suppression-limit",
        "rows",
        "k-anonymity",
        "l-diversity",
        "suppressed-class",
        "figures",
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.append_column("person_id", PEOPLE["person_id"]),
        lambda t: t.append_column("PERSON_ID", PEOPLE["person_id"]),
        lambda t: t.append_column("other", PEOPLE["person_id"]),
        lambda t: t.append_column("note", t["note"]),
        lambda t: t.drop_columns(["note"]),
        lambda t: t.drop_columns(["age"]),
        lambda t: t.rename_columns(["age", "zip", "Diagnosis", "note"]),
        lambda t: t.slice(0, 0).drop_columns(["diagnosis"]),
    ],
    ids=["identifying", "in capitals", "foreign", "twice", "missing", "no age", "renamed", "empty"],
)
def test_columns_that_the_job_does_not_release_end_the_check(change):
    job, table, report = released()
    assert failed(verify(change(table), job, report)) == ["columns"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 3, 4, 5, 6]),
        pa.array([[1], [2], [3], [4], [5], [6]]),
        pa.array(list("abcdef")).dictionary_encode(),
        pa.array([b"a"] * 6),
    ],
    ids=lambda column: str(column.type),
)
def test_quasi_identifiers_that_are_not_text_end_the_check(column):
    job, table, report = released()
    swapped = table.set_column(table.schema.get_field_index("age"), "age", column)
    assert failed(verify(swapped, job, report)) == ["schema"]
    assert failed(verify(swapped, job)) == ["schema"]


def test_large_text_is_text():
    job, table, report = released()
    large = table.set_column(0, "age", table["age"].cast(pa.large_string()))
    assert failed(verify(large, job, report)) == []


@pytest.mark.parametrize(
    "report",
    [
        {},
        {"rows": 5},
        {"rows": 5, "solution": None},
        {"rows": True, "solution": {"suppressed": 0, "levels": {"age": 1, "zip": 1}}},
        {"rows": 5, "solution": {"suppressed": 0.0, "levels": {"age": 1, "zip": 1}}},
        {"rows": 5, "solution": {"suppressed": -1, "levels": {"age": 1, "zip": 1}}},
        {
            "rows": 5,
            "solution": {"levels": {"age": 1, "zip": 1}},
            "suppressed_class": {"records": 0, "joined": 0, "form": "none"},
        },
        {"rows": 5, "solution": {"suppressed": 0, "levels": {"age": 1}}},
        {"rows": 5, "solution": {"suppressed": 0, "levels": {"age": 1, "zip": True}}},
        {"rows": 5, "solution": {"suppressed": 0, "levels": {"age": 1, "zip": 1, "note": 0}}},
        {"rows": 5, "solution": {"suppressed": 0, "levels": {"age": 1, "zip": "1"}}},
        [],
    ],
)
def test_a_report_that_lacks_what_is_compared_is_a_finding(report):
    job, table, _ = released()
    assert failed(verify(table, job, report)) == ["report"]


@pytest.mark.parametrize("part", ["classes", "risk", "privacy"])
@pytest.mark.parametrize("value", [None, [], {}, "x", [1, 2], [{}], [{}, {}, {}]])
def test_a_report_without_its_figures_does_not_pass(part, value):
    job, table, report = released()
    report[part] = value
    assert failed(verify(table, job, report)) == [*(["report"] if part == "privacy" else []), "figures"]


def test_a_missing_value_is_a_label_only_where_the_job_allows_it():
    job, _, report = released()
    report["solution"]["levels"] = {"age": 1, "zip": 2}
    rows = [["[20, 30[", "*"]] * 2 + [[None, "*"]] * 2 + [["*", "*"]]
    made = pa.table(
        {
            "age": [age for age, _ in rows],
            "zip": [zip_ for _, zip_ in rows],
            "diagnosis": ["a", "b", "a", "b", "a"],
            "note": [1.0] * 5,
        }
    )
    report["solution"]["suppressed"] = report["suppressed_class"]["records"] = 1
    (finding,) = [f for f in verify(made, job, report) if f.check == "labels" and f.column == "age"]
    assert (finding.holds, finding.observed) == (False, 1)
    allowed = load_job(
        {**JOB, "attributes": {**JOB["attributes"], "age": {**JOB["attributes"]["age"], "nulls": "value"}}}
    )
    assert all(f.holds for f in verify(made, allowed, report) if f.check == "labels")


def test_levels_outside_the_limits_of_the_job():
    _, table, report = released()
    strict = {**JOB["attributes"], "zip": {**JOB["attributes"]["zip"], "maximum_level": 0}}
    assert "levels" in failed(verify(table, load_job({**JOB, "attributes": strict}), report))
    strict["zip"] = {**JOB["attributes"]["zip"], "minimum_level": 2}
    low = copy.deepcopy(report)
    low["solution"]["levels"]["zip"] = 1
    assert "levels" in failed(verify(table, load_job({**JOB, "attributes": strict}), low))


@pytest.mark.parametrize("level", [3, 10**30])
@pytest.mark.parametrize(
    ("changed", "check"),
    [
        ({"subject": "person_id"}, "persons"),
        ({"subject": "person_id", "knows": "all-rows"}, "persons"),
        ({"suppress": "small-classes", "privacy": JOB["privacy"][:1]}, "small-classes"),
    ],
)
def test_a_level_that_no_hierarchy_has_is_a_finding(changed, check, level):
    job, table, report = released(**changed)
    assert failed(verify(table, job, report, source=PEOPLE)) == []
    report["solution"]["levels"]["zip"] = level
    assert {"levels", check} <= set(failed(verify(table, job, report, source=PEOPLE)))


def test_other_parts_than_expected_of_a_report_are_a_finding():
    job, table, report = released()
    report["suppressed_class"]["form"] = [[]]
    assert failed(verify(table, job, report)) == ["report"]
    job, table, report = released(transformation="local-recoding", utility={"measure": "loss"})
    assert failed(verify(table, job, report)) == []
    del report["solution"]["levels"]
    assert failed(verify(table, job, report)) == ["report"]


def all_stars(rows):
    return pa.table({"age": ["*"] * rows, "zip": ["*"] * rows, "diagnosis": ["x"] * rows, "note": [1.0] * rows})


def test_a_table_of_nothing_but_stars():
    """Without a report it is one class, or all suppressed where the job allows that, and a class all the same."""
    two = [{"model": "k-anonymity", "k": 2}]
    assert failed(verify(all_stars(2), load_job({**JOB, "privacy": two}))) == []
    assert failed(verify(all_stars(1), load_job({**JOB, "privacy": two}))) == ["k-anonymity"]
    assert failed(verify(all_stars(2), load_job(JOB))) == ["l-diversity"]
    assert failed(verify(all_stars(1), load_job({**JOB, "suppression_limit": 1.0}))) == ["suppressed-class"]
    job = load_job({**JOB, "suppression_limit": 1.0, "privacy": [{"model": "k-anonymity", "k": 6}]})
    result = run(job, table=PEOPLE)
    assert result.report["solution"]["suppressed"] == result.table.num_rows == 6
    assert failed(verify(result.table, job, result.report)) == []
    kept = copy.deepcopy(result.report)
    kept["solution"]["suppressed"] = 0
    kept["suppressed_class"] = {"form": "none", "records": 0, "joined": 0}
    # the levels of that report are leaves, at which '*' is no label
    assert "labels" in failed(verify(result.table, job, kept))


@pytest.mark.parametrize("form", [None, "none", "drop", "other", True])
def test_a_report_with_another_form_of_suppressed_records_does_not_pass(form):
    job, table, report = released()
    assert report["suppressed_class"]["form"] == "star"
    report["suppressed_class"]["form"] = form
    assert failed(verify(table, job, report))


def test_dropped_records_are_accounted_for(tmp_path):
    document = {**JOB, "output": {"path": str(tmp_path / "r"), "suppressed": "drop"}}
    result = run(document, table=PEOPLE)
    job, report = load_job(document), result.report
    assert result.table.num_rows == 6 - report["solution"]["suppressed"] < 6
    assert failed(verify(result.table, job, report)) == []
    assert "rows" in failed(verify(result.table.slice(1), job, report))
    stars = pa.concat_tables([result.table, all_stars(1)], promote_options="permissive")
    assert {"rows", "suppression-limit"} <= set(failed(verify(stars, job, report)))
    more = copy.deepcopy(report)
    more["rows"] += 100
    more["solution"]["suppressed"] += 100
    more["suppressed_class"]["records"] += 100
    assert "suppression-limit" in failed(verify(result.table, job, more))


@pytest.mark.parametrize("batches", [1, 3])
def test_sensitive_values_in_dictionaries_are_counted_by_value(batches):
    column = pa.chunked_array([pa.DictionaryArray.from_arrays([0, 1], ["flu", "flu"]) for _ in range(batches)])
    rows = 2 * batches
    table = pa.table({"age": ["[20, 30["] * rows, "diagnosis": column})
    finding = recount(table, ["age"], JOB["privacy"][1])
    assert (finding.holds, finding.observed) == (False, 1)


def test_sensitive_values_in_dictionaries_that_differ_from_batch_to_batch():
    column = pa.chunked_array([pa.array([value]).dictionary_encode() for value in ("flu", "gout")])
    assert recount(pa.table({"age": ["a", "a"], "diagnosis": column}), ["age"], JOB["privacy"][1]).observed == 2


def test_a_model_that_cannot_be_recounted_is_refused():
    with pytest.raises(InvalidJob, match="'k-folding' cannot be verified; verified are k-anonymity, l-diversity"):
        recount(all_stars(2), ["age"], {"model": "k-folding", "k": 2})


def test_findings_hold_no_value_of_a_record():
    job, table, report = released()
    rows = table.to_pylist()
    rows[0]["age"] = "Jane-Roe-4711"
    findings = verify(pa.Table.from_pylist(rows, schema=table.schema), job, report)
    assert "labels" in failed(findings)
    assert "4711" not in str([finding.to_dict() for finding in findings])
