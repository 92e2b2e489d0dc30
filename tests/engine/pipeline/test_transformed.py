"""Runs with coded and aggregated columns: what is released, what judges find, and what nobody can tell apart."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import InvalidData, NoSolution, load_job, run, verify
from engine.hierarchy.builder import SUPPRESSED
from tests.profiles import examples
from tests.reference import transformed as reference

QUASI = ["zip", "sex"]


def job(*, attributes=None, **changes):
    document = {
        "name": "stays",
        "unit": "record",
        "attributes": {
            "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 3}},
            "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
            "age": {"role": "quasi-identifying", "microaggregation": "mean", "coding": {"top": 89}},
            "cost": {"role": "sensitive", "coding": {"top": 900, "round_to": 50}},
            **(attributes or {}),
        },
        "privacy": [
            {"model": "k-anonymity", "k": 4},
            {"model": "l-diversity", "variant": "distinct", "attribute": "cost", "l": 2},
        ],
        "suppression_limit": 0.2,
        "allow_empty_information": True,
        **changes,
    }
    return load_job(document)


def stays(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "zip": rng.choice(["121", "122", "131", "232"], rows, p=[0.4, 0.3, 0.28, 0.02]),
            "sex": rng.choice(["f", "m"], rows),
            "age": pa.array(rng.integers(0, 100, rows), mask=rng.random(rows) < 0.1),
            "cost": rng.normal(500, 200, rows).round(2),
        }
    )


def labelled(result, table):
    """Return the source at the levels of the report: the redaction of three characters is known by heart."""
    level = result.report["solution"]["levels"]
    frame = table.to_pandas()
    frame["zip"] = frame["zip"].str[: 3 - level["zip"]] + "*" * level["zip"] if level["zip"] < 3 else SUPPRESSED
    return frame.assign(sex=SUPPRESSED) if level["sex"] else frame


def failing(findings):
    return {(finding.check, finding.column) for finding in findings if not finding.holds}


@settings(max_examples=examples(60), deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["mean", "median", "mode", "interval"]),
    st.sampled_from(["star", "drop"]),
    st.integers(8, 60),
)
def test_each_record_has_the_aggregate_of_its_class(tmp_path_factory, seed, how, suppressed, rows):
    attributes = {"age": {"role": "quasi-identifying", "microaggregation": how, "coding": {"top": 89}}}
    folder = tmp_path_factory.mktemp("release") / "of"
    this, table = job(attributes=attributes, output={"path": str(folder), "suppressed": suppressed}), stays(rows, seed)
    result = run(this, table=table)
    released = result.table.to_pandas()
    source = labelled(result, table)
    for labels, records in released.groupby(QUASI):
        found = records["age"].drop_duplicates()
        assert len(found) == 1
        own = source[(source[QUASI] == list(labels)).all(axis=1)]["age"].dropna().clip(upper=89).astype(int)
        if set(labels) == {SUPPRESSED} or len(own) < 4:
            assert found.isna().all()
        elif how == "mean":
            assert found.item() == pytest.approx(reference.aggregate(how, own.tolist()))
        else:
            assert found.item() == reference.aggregate(how, own.tolist())
    assert set(released["cost"]) <= {
        float(reference.coded(str(one), top=900, round_to=50)) for one in table["cost"].to_pylist()
    }


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["10", "9", "2", "30"], "10"),
        (["07", "7", "7.0", "8"], "07"),
        ([10, 9, 2, 30], 2),
        ([0.0, -0.0, 5.0, 5.0, 7.0], 0.0),
    ],
)
def test_of_equally_frequent_values_the_mode_is_the_smallest_as_its_type_is_ordered(values, expected):
    """Texts by their text, even where all are numbers; both zeros of doubles are one value."""
    attributes = {"sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}}
    attributes["ward"] = {"role": "quasi-identifying", "microaggregation": "mode"}
    privacy = [{"model": "k-anonymity", "k": 4}]
    this = {"name": "wards", "unit": "record", "attributes": attributes, "privacy": privacy}
    released = run(this, table=pa.table({"sex": ["F"] * len(values), "ward": values})).table
    assert set(released["ward"].to_pylist()) == {expected}


@pytest.mark.parametrize("kind", [pa.decimal32(5, 2), pa.decimal64(12, 2), pa.decimal128(12, 2), pa.decimal256(50, 2)])
@pytest.mark.parametrize(("how", "expected"), [("median", "1.50"), ("mode", "0.25"), ("interval", "[0.25, 10.00]")])
def test_decimals_of_each_width_are_aggregated(kind, how, expected):
    values = pa.array([Decimal("1.5"), Decimal("0.25"), Decimal(10), Decimal("0.25"), Decimal("9.75")], kind)
    attributes = {
        "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
        "dose": {"role": "quasi-identifying", "microaggregation": how},
    }
    this = {"name": "doses", "unit": "record", "attributes": attributes, "privacy": [{"model": "k-anonymity", "k": 4}]}
    found = run(this, table=pa.table({"sex": ["F"] * 5, "dose": values})).table["dose"]
    assert {str(value) for value in found.to_pylist()} == {expected}
    assert found.type == (pa.string() if how == "interval" else kind)


FAR = pa.array([2_932_897, 5_000_000, -800_000], pa.int32())
"""Days from 1970 to the first of the year 10000, to one far after it, and to one before Christ."""


def test_dates_that_python_has_not(tmp_path):
    """Arrow and Parquet have them: the mode of some, and categories that are changed at random."""
    attributes = {
        "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
        "seen": {"role": "quasi-identifying", "microaggregation": "mode"},
        "due": {"role": "insensitive", "pram": {"pd": 0.7}},
    }
    privacy = [{"model": "k-anonymity", "k": 4}]
    this = load_job({"name": "far", "unit": "record", "attributes": attributes, "privacy": privacy})
    dates = FAR.take(pa.array([0, 1, 2, 1] * 5)).cast(pa.date32())
    table = pa.table({"sex": ["F"] * 20, "seen": dates, "due": dates})
    result = run(this, table=table, output=tmp_path / "release")
    released = {name: result.table[name].cast(pa.int32()).to_pylist() for name in ("seen", "due")}
    assert set(released["seen"]) == {5_000_000}
    assert set(released["due"]) <= set(FAR.to_pylist())
    assert failing(verify(result.table, this, result.published, source=table)) == set()


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()], ids=str)
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10.0, 10.0, 9.0, 9.0, NAN], 9.0),  # by number, whatever else is in the column
        ([-3.0, -5.0, INFINITE, NAN], -5.0),
        ([INFINITE, -INFINITE, 1.0, NAN], -INFINITE),
        ([INFINITE, INFINITE, NAN, NAN], INFINITE),
        ([NAN, NAN, NAN, 1.0, 1.0], NAN),
        ([0.0, -0.0, NAN, 1.0], 0.0),
    ],
    ids=str,
)
def test_the_mode_of_doubles_has_a_place_for_each_of_them(values, expected, kind):
    """Infinite ones have theirs, NaN comes last and is one value, both zeros are one: so verification counts, too."""
    attributes = {"sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}}
    attributes["dose"] = {"role": "quasi-identifying", "microaggregation": "mode"}
    privacy = [{"model": "k-anonymity", "k": 4}]
    this = load_job({"name": "doses", "unit": "record", "attributes": attributes, "privacy": privacy})
    table = pa.table({"sex": ["F"] * len(values) + ["M"] * 4, "dose": pa.array([*values, 7, 7, NAN, INFINITE], kind)})
    result = run(this, table=table)
    released = {str(dose) for sex, dose in zip(*result.table.to_pydict().values(), strict=True) if sex == "F"}
    assert released == {str(expected)}
    assert failing(verify(result.table, this, result.published, source=table)) == set()
    other = pa.array([8.0 if dose == 7 else dose for dose in result.table["dose"].to_pylist()], kind)
    changed = result.table.set_column(1, "dose", other)
    assert failing(verify(changed, this, result.published, source=table)) == {("microaggregation", "dose")}


def test_a_class_that_comes_in_several_batches_has_one_aggregate(monkeypatch):
    table = stays(3000)
    this = job(suppression_limit=0.0)
    monkeypatch.setattr("engine.tables.release.release_order.MOST", 64)
    monkeypatch.setattr("engine.tables.sources.source.BATCH_ROWS", 50)
    in_parts = run(this, table=table).table.to_pandas()
    monkeypatch.undo()
    whole = run(this, table=table).table.to_pandas()
    assert in_parts.groupby(QUASI)["age"].nunique(dropna=False).max() == 1
    pd.testing.assert_series_equal(in_parts.groupby(QUASI)["age"].first(), whole.groupby(QUASI)["age"].first())


@pytest.mark.parametrize("backend", ["arrow", "duckdb"])
def test_a_local_recoding_has_one_aggregate_per_class(tmp_path, backend):
    if backend == "duckdb":
        pytest.importorskip("duckdb")
    table = stays(400)
    this = job(transformation="local-recoding", backend=backend, suppression_limit=0.0)
    pq.write_table(table, tmp_path / "source.parquet")
    released = run(this, table=table, output=tmp_path / "release").table.to_pandas()
    classes = released.groupby(QUASI)["age"]
    assert len(classes) > 3
    assert classes.nunique(dropna=False).max() == 1
    ages = table["age"].to_pandas().dropna().clip(upper=89)
    assert released["age"].min() > ages.min()


def test_types_in_parquet_and_what_the_documents_say(tmp_path):
    attributes = {
        "ward": {"role": "quasi-identifying", "microaggregation": "mode"},
        "age": {"role": "quasi-identifying", "microaggregation": "median", "order": "integer", "missing": [""]},
    }
    table = stays()
    texts = ["" if age is None else str(age) for age in table["age"].to_pylist()]
    table = table.set_column(2, "age", pa.array(texts)).append_column("ward", pa.array(["a", "b"] * 100))
    result = run(job(attributes=attributes), table=table, output=tmp_path / "release")
    schema = pq.read_schema(tmp_path / "release" / "data.parquet")
    assert {name: str(schema.field(name).type) for name in ("age", "cost", "ward")} == {
        "age": "int64",
        "cost": "double",
        "ward": "string",
    }
    stated = [
        {"column": "age", "microaggregation": "median"},
        {"column": "cost", "coding": {"top": 900, "round_to": 50}},
        {"column": "ward", "microaggregation": "mode"},
    ]
    assert result.published["transformed"] == stated
    assert json.loads((tmp_path / "release" / "report.json").read_text())["transformed"] == stated
    described = {
        one["column"]: one for one in json.loads((tmp_path / "release" / "codebook.json").read_text())["columns"]
    }
    assert (described["cost"]["what"], described["age"]["what"]) == ("coded", "aggregated")
    text = (tmp_path / "release" / "README.md").read_text()
    assert "cost: its numbers are coded: rounded to multiples of 50; 900 means 900 or more." in text
    assert "age: each record has the median of all records with the same labels, not its own value." in text


def changed(table, name, change):
    values = change(table[name].to_pylist())
    return table.set_column(table.column_names.index(name), name, pa.array(values, table.schema.field(name).type))


@pytest.mark.parametrize(
    ("name", "change", "check"),
    [
        ("cost", lambda values: [*values[:-1], 901.0], ("coding", "cost")),
        ("cost", lambda values: [*values[:-1], 151.0], ("coding", "cost")),
        ("age", lambda values: [*values[:-1], 30.5], ("microaggregation", "age")),
        ("age", lambda values: [None if one is None else one + 1 for one in values], ("microaggregation", "age")),
        ("age", lambda values: [12.0 if one is None else one for one in values], ("microaggregation", "age")),
    ],
)
def test_a_changed_release_is_found(name, change, check):
    this, table = job(), stays()
    result = run(this, table=table)
    assert not failing(verify(result.table, this, result.report, source=table))
    released = result.table
    assert SUPPRESSED in released["zip"].to_pylist()
    assert check in failing(verify(changed(released, name, change), this, result.report, source=table))


def test_several_aggregates_of_a_class_are_found_without_the_source():
    this, table = job(), stays()
    result = run(this, table=table)
    wrong = changed(result.table, "age", lambda values: [*values[:-1], 30.5])
    assert ("microaggregation", "age") in failing(verify(wrong, this))


def test_a_report_that_says_another_thing_is_found():
    this, table = job(), stays()
    result = run(this, table=table)
    wrong = {**result.report, "transformed": result.report["transformed"][:1]}
    assert ("transformed", None) in failing(verify(result.table, this, wrong, source=table))


def test_coded_values_are_those_that_models_count():
    """Distinct costs become one by the coding, so no class is diverse."""
    table = stays().set_column(3, "cost", pa.array(np.linspace(901, 1900, 200)))
    with pytest.raises(NoSolution, match="distinct 2-diversity of cost"):
        run(job(), table=table)


def test_persons_with_a_coded_sensitive_column():
    rng = np.random.default_rng(1)
    table = stays().append_column("mrn", pa.array(rng.integers(0, 80, 200) + 770000))
    attributes = {"mrn": {"role": "identifying"}, "age": {"role": "identifying"}}
    document = job(attributes=attributes).document()
    del document["unit"]
    this = load_job({**document, "subject": "mrn"})
    result = run(this, table=table)
    assert not failing(verify(result.table, this, result.report, source=table))


def test_a_column_without_numbers_ends_the_run_before_it_is_read():
    table = stays().set_column(2, "age", pa.array(["old"] * 200))
    with pytest.raises(InvalidData, match="coding needs numbers"):
        run(job(), table=table)
