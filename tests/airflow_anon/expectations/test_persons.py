"""Persons in each class: Great Expectations counts them in the extracted source."""

from __future__ import annotations

import copy
import re
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_anon.expectations import persons
from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from airflow_anon.transport.staged_files import column_types
from engine import load_job, run
from tests.airflow_anon.expectations import build
from tests.profiles import spread

PERSONS = "expect_persons_in_each_class"
CLOSENESS = {"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.5}


def source(seed=0):
    """Thirty persons of one age each, with a few records."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(30), rng.integers(1, 5, 30))
    ages = rng.choice(["y31", "y32", "y41", "y42"], 30)[owner]
    return pa.table(
        {
            "mrn": [f"SECRET-{person}" for person in owner],
            "age": ages,
            "zip": rng.choice(["z2138", "z2139", "z9021"], owner.size),
            "diagnosis": rng.choice(build.DIAGNOSES, owner.size),
            "days": pa.array(np.arange(owner.size) // 3, pa.int64()),
        }
    )


def job(folder, **changes):
    size = {"model": "k-anonymity", "k": 3}
    diverse = {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2}
    return build.job(folder, **{"subject": "mrn", "privacy": [size, diverse, CLOSENESS], **changes})


def validated(folder, this, table, report, records, path=None, rows_key=None):
    pq.write_table(records, folder / "source.parquet")
    suite = release_suite(
        this,
        report,
        source_rows=records.num_rows,
        source_types=column_types(str(folder / "source.parquet")),
        source=str(folder / "source.parquet") if path is None else path,
        rows_key=rows_key,
    )
    return run_suite(table, suite)


@pytest.mark.parametrize(
    ("ages", "suppressed"), [(["*"] * 2 + ["y41", "y42"], 4), (["*"] * 4 + ["y41", "y42", "y71"], 3)]
)
def test_a_class_that_looks_like_the_suppressed_ones_may_be_one_of_them_or_none(tmp_path, ages, suppressed):
    """Its records are `*` by their own labels: only the number of suppressed records tells."""
    ages = ["y31"] * 5 + ages
    records = pa.table({"mrn": [str(place) for place in range(len(ages))], "age": ages})
    (tmp_path / "age.csv").write_text("y31;*\ny41;*\ny42;*\ny71;*\n*;*\n")
    age = {"role": "quasi-identifying", "hierarchy": str(tmp_path / "age.csv"), "maximum_level": 0}
    document = {
        "name": "stars",
        "attributes": {"mrn": {"role": "identifying"}, "age": age},
        "subject": "mrn",
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "suppression_limit": 0.5,
    }
    result = run(document, records)
    assert result.report["suppressed_class"] == {"form": "star", "records": suppressed, "joined": 0}
    document = validated(tmp_path, load_job(document), result.table, result.published, records)
    assert document["success"]


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_both_zeros_of_a_float_are_one_person(tmp_path, zero):
    """And who has no number is nobody, whose release is refused."""
    records = source()
    numbers = np.array([float(text.removeprefix("SECRET-")) for text in records["mrn"].to_pylist()])
    numbers[np.flatnonzero(numbers == 0)[:1]] = zero
    records = records.set_column(0, "mrn", pa.array(numbers))
    this = job(tmp_path, suppression_limit=0.4)
    result = run(this, records)
    assert result.report["persons"] == 30
    assert validated(tmp_path, this, result.table, result.published, records)["success"]
    numbers[0] = float("nan")
    failing = validated(tmp_path, this, result.table, result.published, records.set_column(0, "mrn", pa.array(numbers)))
    assert not failing["success"]


@pytest.mark.parametrize("suppressed", ["star", "drop"])
@pytest.mark.parametrize("limit", spread([0.1, 0.4, 0.0], 1))
def test_a_good_release(tmp_path, suppressed, limit):
    this = job(tmp_path, suppression_limit=limit, output={"path": str(tmp_path / "release"), "suppressed": suppressed})
    records = source()
    result = run(this, records)
    document = validated(tmp_path, this, result.table, result.published, records)
    assert document["success"], [one["message"] for one in document["results"] if not one["success"]]
    assert build.result_of(document, PERSONS)["observed"] >= 3
    assert "SECRET" not in str(document)


@pytest.mark.parametrize("knows", ["any-row", "all-rows", {"rows": 2}], ids=str)
@pytest.mark.parametrize("name", ["cell", "persons"])
def test_a_sensitive_column_may_have_the_name_of_one_beside_it(tmp_path, name, knows):
    plain = build.job(tmp_path).document()["attributes"]
    attributes = {one: entry for one, entry in plain.items() if one != "diagnosis"}
    attributes[name] = {"role": "sensitive", "accept": "unique"}
    diverse = {"model": "l-diversity", "variant": "distinct", "attribute": name, "l": 2}
    privacy = [{"model": "k-anonymity", "k": 2}, diverse]
    this = job(tmp_path, attributes=attributes, privacy=privacy, knows=knows, suppression_limit=0.9)
    records = source()
    records = records.rename_columns([name if one == "diagnosis" else one for one in records.column_names])
    result = run(this, records)
    document = validated(tmp_path, this, result.table, result.published, records)
    assert document["success"], [one["message"] for one in document["results"] if not one["success"]]


def test_a_text_that_means_a_missing_value_is_none_of_those_who_share_rows(tmp_path):
    entry = {"role": "sensitive", "missing": ["?"]}
    attributes = {**build.job(tmp_path).document()["attributes"], "diagnosis": entry}
    diverse = {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2}
    privacy = [{"model": "k-anonymity", "k": 2}, diverse]
    this = job(tmp_path, attributes=attributes, privacy=privacy, knows={"rows": 2}, suppression_limit=0.9)
    records = source()
    values = ["?" if place % 3 == 0 else value for place, value in enumerate(records["diagnosis"].to_pylist())]
    records = records.set_column(records.column_names.index("diagnosis"), "diagnosis", pa.array(values))
    result = run(this, records)
    document = validated(tmp_path, this, result.table, result.published, records)
    assert document["success"], [one["message"] for one in document["results"] if not one["success"]]


def test_a_level_that_the_hierarchy_has_not_is_told(tmp_path):
    this, records = job(tmp_path, suppression_limit=0.4), source()
    result = run(this, records)
    solution = result.published["solution"]
    changed = {**result.published, "solution": {**solution, "levels": {**solution["levels"], "age": 10**9}}}
    document = validated(tmp_path, this, result.table, changed, records)
    assert not document["success"]
    told = build.result_of(document, PERSONS)["message"]
    assert re.fullmatch(
        r"column 'age': the report gives it level 1000000000, and its hierarchy has 0 to \d; run deidentify again", told
    )


def test_a_release_that_counts_records_is_refused(tmp_path):
    rows = pa.table(
        {
            "mrn": ["SECRET-A"] * 4 + [f"SECRET-{i}" for i in range(6)],
            "age": ["y31"] * 4 + ["y41"] * 6,
            "zip": ["z2138"] * 10,
            "diagnosis": [build.DIAGNOSES[i % 3] for i in range(10)],
            "days": pa.array([1] * 10, pa.int64()),
        }
    )
    size = [{"model": "k-anonymity", "k": 3}]
    result = run(job(tmp_path, subject=None, unit="record", privacy=size), rows)
    document = validated(tmp_path, job(tmp_path, privacy=size), result.table, result.published, rows)
    assert PERSONS in build.failed(document)
    assert build.result_of(document, PERSONS)["observed"] == 1


def test_other_records_than_those_of_the_source_are_refused(tmp_path):
    records = source()
    result = run(job(tmp_path), records)
    values = result.table["diagnosis"].to_pylist()
    cells = list(zip(result.table["age"].to_pylist(), result.table["zip"].to_pylist(), strict=True))
    other = next(n for n, value in enumerate(values) if value != values[0] and cells[n] != cells[0])
    values[0], values[other] = values[other], values[0]
    changed = result.table.set_column(result.table.column_names.index("diagnosis"), "diagnosis", pa.array(values))
    document = validated(tmp_path, job(tmp_path), changed, result.published, records)
    assert "not those of the staged source" in build.result_of(document, PERSONS)["message"]
    assert PERSONS in build.failed(document)


def spoiled(original, part):
    """Give a report with a wrong figure in one part."""
    report = copy.deepcopy(dict(original))
    if part == "risk":
        report["risk"]["marketer"] *= 1.01
    elif part == "classes":
        report["classes"]["largest"] += 1
    elif part == "privacy":
        report["privacy"][0]["observed"] += 1
    else:
        report[part] += 1
    return report


@pytest.mark.parametrize("part", ["persons", "persons_suppressed_share", "risk", "classes", "privacy"])
def test_every_figure_is_recounted(tmp_path, part):
    records = source()
    result = run(job(tmp_path), records)
    report = spoiled(result.report, part)
    assert build.failed(validated(tmp_path, job(tmp_path), result.table, report, records)) == {PERSONS}


def test_another_attacker_is_refused(tmp_path):
    records = source()
    result = run(job(tmp_path), records)
    report = {**result.published, "knows": "all-rows"}
    assert build.failed(validated(tmp_path, job(tmp_path), result.table, report, records)) == {PERSONS}
    earlier = {key: part for key, part in result.published.items() if key != "knows"}
    assert validated(tmp_path, job(tmp_path), result.table, earlier, records)["success"]


def test_without_the_source_nothing_is_proven(tmp_path):
    records = source()
    result = run(job(tmp_path), records)
    suite = release_suite(job(tmp_path), result.published, source_rows=records.num_rows)
    document = run_suite(result.table, suite)
    assert build.failed(document) == {PERSONS}
    assert "not given" in build.result_of(document, PERSONS)["message"]


KEY = bytes(range(32))


def test_rows_that_a_key_left_out(tmp_path):
    this, records = job(tmp_path, max_rows=2), source()
    result = run(this, records, rows_key=KEY)
    assert result.report["further_rows"]["left_out"] > 0
    document = validated(tmp_path, this, result.table, result.published, records, rows_key=KEY.hex())
    assert document["success"], [one["message"] for one in document["results"] if not one["success"]]
    assert KEY.hex() not in str(document)
    # nor does it tell how many rows the source has
    assert str(records.num_rows) not in str([one["kwargs"] for one in document["results"]])
    other = validated(tmp_path, this, result.table, result.published, records, rows_key=bytes(32).hex())
    assert build.failed(other) == {PERSONS}
    without = validated(tmp_path, this, result.table, result.published, records)
    assert "key" in build.result_of(without, PERSONS)["message"]


def test_further_rows_of_a_source_with_views(tmp_path):
    """Arrow makes them of texts, and selects no records of them."""
    this, records = job(tmp_path, max_rows=2), source()
    texts = {field.name: pa.string_view() for field in records.schema if field.type == pa.string()}
    views = records.cast(
        pa.schema([(name, texts.get(name, records.schema.field(name).type)) for name in records.column_names])
    )
    views = views.append_column("tags", pa.array([["a"]] * len(views), pa.list_(pa.string_view())))
    result = run(this, records, rows_key=KEY)
    document = validated(tmp_path, this, result.table, result.published, views, rows_key=KEY.hex())
    assert document["success"], [one["message"] for one in document["results"] if not one["success"]]


def test_another_number_of_further_rows_is_refused(tmp_path):
    this, records = job(tmp_path, max_rows=2), source()
    result = run(this, records, rows_key=KEY)
    report = {**result.report, "further_rows": {"left_out": 1, "share": 0.5}}
    assert build.failed(validated(tmp_path, this, result.table, report, records, rows_key=KEY.hex())) == {PERSONS}


DIVERSE = {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2}
SIZE = {"model": "k-anonymity", "k": 3}
ATTACKERS = [
    ("all-rows", [SIZE, DIVERSE, CLOSENESS]),
    ({"rows": 1}, [SIZE]),
    ({"rows": 2}, [SIZE]),
    ({"rows": 3}, [SIZE, {"model": "k-anonymity", "k": 2}]),
]


@pytest.mark.parametrize(("knows", "privacy"), ATTACKERS, ids=str)
@pytest.mark.parametrize("seed", spread([0, 1, 2], 1))
def test_a_good_release_of_whole_persons(tmp_path, knows, privacy, seed):
    this = job(tmp_path, knows=knows, privacy=privacy, suppression_limit=0.6, allow_empty_information=True)
    records = source(seed)
    result = run(this, records)
    assert result.report["suppressed_class"]["form"] in {"none", "drop"}
    document = validated(tmp_path, this, result.table, result.published, records)
    assert document["success"], [one["message"] for one in document["results"] if not one["success"]]
    found = build.result_of(document, PERSONS)
    assert found["observed"] == result.report["privacy"][0]["observed"] >= 3
    assert "SECRET" not in str(document)


@pytest.mark.parametrize(("knows", "privacy"), [ATTACKERS[0], ATTACKERS[2]], ids=str)
def test_whole_persons_with_rows_that_a_key_left_out(tmp_path, knows, privacy):
    this, records = job(tmp_path, knows=knows, privacy=privacy, max_rows=2, suppression_limit=0.6), source()
    result = run(this, records, rows_key=KEY)
    assert result.report["further_rows"]["left_out"] > 0
    document = validated(tmp_path, this, result.table, result.published, records, rows_key=KEY.hex())
    assert document["success"], [one["message"] for one in document["results"] if not one["success"]]
    other = validated(tmp_path, this, result.table, result.published, records, rows_key=bytes(32).hex())
    assert PERSONS in build.failed(other)


@pytest.mark.parametrize(("knows", "privacy"), [ATTACKERS[0], ATTACKERS[2]], ids=str)
def test_a_release_for_who_knows_one_row_is_refused(tmp_path, knows, privacy):
    records = source()
    one = job(tmp_path, privacy=privacy, suppression_limit=0.4)
    result = run(one, records)
    document = validated(tmp_path, job(tmp_path, knows=knows, privacy=privacy), result.table, result.published, records)
    assert PERSONS in build.failed(document)


@pytest.mark.parametrize("part", ["persons", "persons_suppressed_share", "risk", "classes", "privacy"])
@pytest.mark.parametrize(("knows", "privacy"), spread([ATTACKERS[0], ATTACKERS[2]], 1), ids=str)
def test_every_figure_of_whole_persons_is_recounted(tmp_path, knows, privacy, part):
    this = job(tmp_path, knows=knows, privacy=privacy, suppression_limit=0.6, allow_empty_information=True)
    records = source()
    result = run(this, records)
    report = spoiled(result.report, part)
    assert build.failed(validated(tmp_path, this, result.table, report, records)) == {PERSONS}


@pytest.mark.parametrize("knows", ["any-row", {"rows": 2}, "all-rows"], ids=str)
def test_records_of_few_persons_that_were_left_out_are_not_told(tmp_path, knows):
    """Two persons have more records than a class must have; no result has a number from which theirs would follow."""
    size = [{"model": "k-anonymity", "k": 3}]
    rows = [(f"SECRET-{n}", "y31", "z2138") for n in range(20)]
    rows += [(f"SECRET-{20 + n}", "y42", "z9021") for n in range(2) for _ in range(4)]
    owner, age, area = zip(*rows, strict=True)
    days = pa.array([place // 3 for place in range(28)], pa.int64())
    records = pa.table({"mrn": owner, "age": age, "zip": area, "diagnosis": ["flu"] * 28, "days": days})
    document = job(tmp_path, privacy=size, knows=knows, suppression_limit=0.5).document()
    for name in ("age", "zip"):
        document["attributes"][name]["maximum_level"] = 1
    this = load_job(document)
    made = run(this, records)
    assert (made.report["suppressed_class"]["records"], made.published["suppressed_class"]["records"]) == (8, None)
    found = validated(tmp_path, this, made.table, made.published, records)
    assert [one["expectation_type"] for one in found["results"] if not one["success"]] == []
    numbers = re.compile(r"(?<![\d.])(8|28)(?![\d.])")
    assert [str(one) for one in found["results"] if numbers.search(str(one))] == []


def test_a_report_states_or_withholds_the_further_rows_with_their_share():
    file = SimpleNamespace(left_out=3, rows=7)
    assert persons._same_further_rows({"left_out": 3, "share": 0.3}, file)
    assert persons._same_further_rows({"left_out": None, "share": None}, file)
    assert not persons._same_further_rows({"left_out": 3, "share": None}, file)
    assert not persons._same_further_rows({"left_out": None, "share": 0.3}, file)
