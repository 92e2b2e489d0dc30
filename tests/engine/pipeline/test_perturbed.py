"""Runs with noise, randomized categories and groups of alike records: what is released, and what judges find."""

from __future__ import annotations

import hashlib
import json
from statistics import fmean

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import InvalidData, VerificationFailed, load_job, run, verify
from engine.hierarchy.builder import SUPPRESSED
from engine.pipeline import perturbed
from engine.tables.altered.perturbed import draws, perturbation_key
from tests.profiles import examples
from tests.reference import perturbed as reference

QUASI = ["zip", "sex"]
KEY = hashlib.sha256(b"drawn").digest()


def job(*, attributes=None, **changes):
    document = {
        "name": "stays",
        "unit": "record",
        "attributes": {
            "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 3}},
            "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
            "cost": {"role": "insensitive", "noise": {"percent": 30}, "accept": "unique"},
            "days": {"role": "sensitive", "noise": {"percent": 50}, "order": "integer", "missing": [""]},
            "ward": {"role": "insensitive", "pram": {"pd": 0.5, "alpha": 0.9}},
            "height": {"role": "insensitive", "microaggregation": "mdav"},
            "weight": {"role": "sensitive", "microaggregation": "mdav", "coding": {"top": 120}},
            **(attributes or {}),
        },
        "privacy": [{"model": "k-anonymity", "k": 4}],
        "suppression_limit": 0.2,
        "allow_empty_information": True,
        **changes,
    }
    return load_job(document)


def stays(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    days = ["" if one < 5 else str(one) for one in rng.integers(0, 60, rows)]
    return pa.table(
        {
            "zip": rng.choice(["121", "122", "131", "232"], rows, p=[0.4, 0.3, 0.28, 0.02]),
            "sex": rng.choice(["f", "m"], rows),
            "cost": rng.normal(500, 200, rows).round(2),
            "days": days,
            "ward": pa.array(rng.choice(["a", "b", "c"], rows), mask=rng.random(rows) < 0.1),
            "height": rng.normal(170, 10, rows).round(4),
            "weight": pa.array(rng.normal(75, 12, rows).round(4)),
        }
    )


def failing(findings):
    return {(finding.check, finding.column) for finding in findings if not finding.holds}


def changed(table, name, change):
    values = change(table[name].to_pylist())
    return table.set_column(table.column_names.index(name), name, pa.array(values, table.schema.field(name).type))


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6), st.integers(12, 80), st.sampled_from(["star", "drop"]), st.booleans())
def test_groups_of_alike_records_are_those_of_mdav_in_each_class(tmp_path_factory, seed, rows, suppressed, local):
    folder = tmp_path_factory.mktemp("release") / "of"
    # which records a local recoding leaves out is not known to who draws again
    changes = {"transformation": "local-recoding", "suppression_limit": 0.0} if local else {}
    this = job(output={"path": str(folder), "suppressed": suppressed}, **changes)
    table = stays(rows, seed)
    result = run(this, table=table)
    assert not failing(verify(result.table, this, result.report, source=table))
    released = result.table.to_pandas()
    kept = released[released["zip"].ne(SUPPRESSED) | released["sex"].ne(SUPPRESSED)]
    if not kept.empty:
        assert kept.groupby([*QUASI, "height", "weight"], dropna=False).size().min() >= 4
    if local:
        return
    level = result.report["solution"]["levels"]
    frame = table.to_pandas()
    frame["zip"] = frame["zip"].str[: 3 - level["zip"]] + "*" * level["zip"] if level["zip"] < 3 else SUPPRESSED
    frame = frame.assign(sex=SUPPRESSED) if level["sex"] else frame
    for labels, records in kept.groupby(QUASI):
        own = frame[(frame[QUASI] == list(labels)).all(axis=1)]
        values = list(zip(own["height"], own["weight"].clip(upper=120), strict=True))
        expected = sorted(
            (fmean(values[i][0] for i in group), fmean(values[i][1] for i in group))
            for group in reference.mdav(reference.standardized(values), 4)
            for _ in group
        )
        assert np.array(sorted(zip(records["height"], records["weight"], strict=True))) == pytest.approx(
            np.array(expected)
        )


@pytest.mark.parametrize("suppressed", ["star", "drop"])
def test_types_documents_and_what_is_never_told(tmp_path, suppressed):
    table = stays()
    this = job(output={"path": str(tmp_path / "release"), "suppressed": suppressed}, sample={"fraction": 0.9})
    result = run(this, table=table, rows_key=KEY)
    kinds = {name: str(result.table.schema.field(name).type) for name in ("cost", "days", "ward", "height", "weight")}
    assert kinds == {"cost": "double", "days": "int64", "ward": "string", "height": "double", "weight": "double"}
    stated = [
        {"column": "cost", "noise": {"percent": 30.0}},
        {"column": "days", "noise": {"percent": 50.0}},
        {"column": "ward", "pram": {"pd": 0.5, "alpha": 0.9}},
        {"column": "height", "microaggregation": "mdav"},
        {"column": "weight", "coding": {"top": 120}, "microaggregation": "mdav"},
    ]
    assert result.published["transformed"] == stated
    described = {
        one["column"]: one["what"]
        for one in json.loads((tmp_path / "release" / "codebook.json").read_text())["columns"]
    }
    assert [described[name] for name in ("cost", "ward", "height")] == ["noisy", "randomized", "aggregated"]
    text = (tmp_path / "release" / "README.md").read_text()
    assert "its variance is 1.09 times that of the source" in text
    assert "ward: some records have another category than in the source" in text
    everything = b"".join(path.read_bytes() for path in (tmp_path / "release").iterdir())
    assert KEY not in everything
    assert KEY.hex().encode() not in everything
    assert not failing(verify(result.table, this, result.report, source=table, rows_key=KEY))


@pytest.mark.parametrize(
    ("name", "change", "check"),
    [
        ("cost", lambda values: [*values[:-1], 99_999.0], ("noise", "cost")),
        ("cost", lambda values: [*values[:-1], None], ("noise", "cost")),
        ("days", lambda values: [one if one is None else one + 30 for one in values], ("noise", "days")),
        ("ward", lambda values: ["a" if one else None for one in values], ("pram", "ward")),
        ("ward", lambda values: [*values[:-1], "z"], ("pram", "ward")),
        ("height", lambda values: [*values[:-1], 170.0], ("microaggregation", None)),
        ("height", lambda values: [None if one is None else one + 1 for one in values], ("microaggregation", "height")),
        ("weight", lambda values: [80.0 if one is None else one for one in values], ("microaggregation", "weight")),
        ("weight", lambda values: [None if one is None else one + 200 for one in values], ("coding", "weight")),
    ],
)
def test_a_changed_release_is_found(name, change, check):
    this, table = job(), changed(stays(), "zip", lambda values: [*["999"] * 3, *values[3:]])
    result = run(this, table=table, rows_key=KEY)
    released = result.table
    assert SUPPRESSED in released["zip"].to_pylist()
    assert not failing(verify(released, this, result.report, source=table, rows_key=KEY))
    assert check in failing(verify(changed(released, name, change), this, result.report, source=table, rows_key=KEY))


@pytest.mark.parametrize("name", ["cost", "days", "ward"])
def test_values_of_the_source_instead_of_drawn_ones_are_found(name):
    this, table = job(suppression_limit=0.0), stays()
    result = run(this, table=table, rows_key=KEY)
    values = [None if one == "" else one for one in table[name].to_pylist()]
    values = [one if one is None or name != "days" else int(one) for one in values]
    plain = changed(result.table, name, lambda _: values)
    check = "pram" if name == "ward" else "noise"
    assert (check, name) in failing(verify(plain, this, result.report, source=table, rows_key=KEY))


def test_without_the_key_only_the_form_is_shown():
    this, table = job(), stays()
    result = run(this, table=table)
    findings = [one for one in verify(result.table, this, result.report, source=table) if one.column == "cost"]
    assert all(finding.holds for finding in findings)
    assert any("is not shown" in str(finding.message) for finding in findings)


def with_rare_records(costs, days, ward):
    """Return stays of which the first three are left out: theirs alone have these costs, days and ward."""
    table = changed(stays(), "zip", lambda values: [*["999"] * 3, *values[3:]])
    table = changed(table, "cost", lambda values: [*costs, *values[3:]])
    table = changed(table, "days", lambda values: [*days, *values[3:]])
    return changed(table, "ward", lambda values: [*ward, *values[3:]])


@pytest.mark.parametrize("changes", [{}, {"sample": {"fraction": 0.9}}])
def test_nothing_of_a_record_that_is_left_out_shows_in_what_others_draw(tmp_path, changes):
    this = job(output={"path": str(tmp_path / "release"), "suppressed": "drop"}, **changes)
    usual = with_rare_records([500.0] * 3, ["20"] * 3, ["a", "b", "c"])
    extreme = with_rare_records([9e9, -9e9, 1e-9], ["4000000000", "0", ""], ["rare", "rarer", None])
    results = [run(this, table=table, rows_key=KEY) for table in (usual, extreme)]
    assert all(result.report["suppressed_class"]["form"] == "drop" for result in results)
    assert all(result.report["suppressed_class"]["records"] > 0 for result in results)
    for name in ("cost", "days", "ward"):
        one, other = (sorted(result.table[name].drop_null().to_pylist()) for result in results)
        assert one == other
    assert set(results[1].table["ward"].to_pylist()) <= {"a", "b", "c", None}


def test_the_spread_is_that_of_the_records_that_are_released(tmp_path):
    table = with_rare_records([9e9, -9e9, 1e-9], ["4000000000", "0", ""], ["rare", "rarer", None])
    table = changed(table, "zip", lambda values: ["999"] * 3 + ["121"] * len(values[3:]))
    result = run(job(output={"path": str(tmp_path / "release"), "suppressed": "drop"}), table=table, rows_key=KEY)
    assert result.table.num_rows == 197
    own = draws(3, 197, perturbation_key(KEY, "cost")).tolist()
    expected = reference.noisy(table["cost"].to_pylist()[3:], 30, own)
    # a number in the middle of two steps may be either
    assert sorted(result.table["cost"].to_pylist()) == pytest.approx(sorted(map(float, expected)), abs=1.001)


@pytest.mark.parametrize(
    ("name", "check"), [("cost", ("noise", "cost")), ("days", ("noise", "days")), ("ward", ("pram", "ward"))]
)
def test_draws_by_the_values_of_all_records_are_refused(tmp_path, monkeypatch, name, check):
    this = job(output={"path": str(tmp_path / "release"), "suppressed": "drop"})
    monkeypatch.setattr(perturbed._Released, "batches", lambda self, columns: self._records.batches(columns))
    table = with_rare_records([9e9, -9e9, 1e-9], ["4000000000", "0", ""], ["rare", "rarer", None])
    with pytest.raises(VerificationFailed) as refused:
        run(this, table=table, rows_key=KEY)
    assert check in failing(refused.value.findings)
    assert not (tmp_path / "release").exists()


def test_two_runs_draw_other_values():
    this, table = job(), stays()
    first, second = (run(this, table=table).table["cost"].to_pylist() for _ in range(2))
    assert sorted(first) != sorted(second)


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [("ward", [0.5, 1.5] * 100, "pram needs text"), ("cost", ["dear", "cheap"] * 100, "noise needs numbers")],
)
def test_a_column_of_another_type_ends_the_run_before_it_is_read(name, values, words):
    table = stays()
    table = table.set_column(table.column_names.index(name), name, pa.array(values))
    with pytest.raises(InvalidData, match=words):
        run(job(), table=table)
