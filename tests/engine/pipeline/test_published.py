"""What of a report is published: digits by what a measure reads, bounds that are bounds, choices that meet the rule."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from engine import load_job, run, verify
from engine.frontiers.published import next_power_of_ten
from engine.pipeline import published as module
from engine.pipeline.measured import Measured
from engine.pipeline.published import significant_digits

figures = st.floats(1e-9, 1e9)


@pytest.mark.parametrize(
    ("records", "domains", "cells"),
    [(0, 1, 0), (1, 1, 0), (999, 1, 0), (1_000, 2, 0), (10_000, 3, 1), (100_000, 3, 2), (10**9, 3, 3)],
)
def test_digits_by_the_records_of_the_file(records, domains, cells):
    assert significant_digits(records, fixed_domains=False) == {"file": None, "domains": domains, "cells": cells}
    assert significant_digits(records, fixed_domains=True) == {"file": None, "domains": None, "cells": cells}


@pytest.mark.parametrize(("checked", "told"), [(0, 0), (1, 10), (10, 10), (11, 100), (100, 100), (720, 1_000)])
def test_checks_are_told_by_the_next_power_of_ten(checked, told):
    assert next_power_of_ten(checked) == told


@given(figures, st.floats(0, 1), st.integers(1, 3))
def test_a_rounded_bound_is_not_above_the_rounded_loss(loss, share, digits):
    """The loss is rounded to the nearest, the bound down."""
    bound = loss * share
    assert module._lowered(bound, digits) <= bound * (1 + 1e-12)
    assert module._lowered(bound, digits) <= module._rounded(loss, digits)


@given(figures, st.integers(-3, 3))
def test_the_order_in_which_a_figure_was_added_up_is_not_told(figure, steps):
    """The terms of a sum are of all combinations of the source, those that few left-out records have included."""
    other = figure * (1 + steps * 2**-52)
    middle = float(f"{figure:.13g}")
    assume(abs(figure - middle) < 0.4 * 10 ** (math.floor(math.log10(figure)) - 12))
    assert module._rounded(other, None) == module._rounded(figure, None) == pytest.approx(figure, rel=1e-12)
    assert module._lowered(figure * 0.999, None) <= module._rounded(figure, None)


@given(st.floats(0, 1))
@example(5e-324)
def test_a_rounded_gap_is_no_smaller_and_a_share(gap):
    assert gap * (1 - 1e-12) <= module._raised(gap) <= 1


@given(st.tuples(*[st.floats(1e-6, 1)] * 5))
def test_a_rounded_choice_meets_the_rule_if_the_choice_does(numbers):
    """Where rounding would break the rule there are more digits."""
    risk, loss, other_risk, other_loss, highest = numbers
    choice = {
        "rule": {"maximum_risk": highest},
        "risk": risk,
        "utility_loss": loss,
        "safe_harbor": {"risk": other_risk, "utility_loss": other_loss},
        "policies": 1,
        "met": 1,
        "seconds": 0.0,
    }
    assert module._meets(module._choice(choice, 1, hides=False)) >= module._meets(choice)


def test_a_choice_of_which_few_records_are_left_out_has_no_loss():
    """It counts them, so it would tell how many they are."""
    job = {
        "name": "few",
        "unit": "record",
        "attributes": {
            "age": {
                "role": "quasi-identifying",
                "order": "integer",
                "hierarchy": {"builder": "order", "values": ["1", "2", "3", "9"], "fanouts": [2, 2]},
            }
        },
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "suppression_limit": 0.3,
        "allow_empty_information": True,
        "transformation": "policy",
        "frontier": {"policies": 500, "safe_harbor": False},
        "choose": {"from": "frontier", "maximum_risk": 1.0},
    }
    found = []
    for number in (1, 2, 3, 4):
        source = pa.table({"age": ["1"] * 100 + ["2"] * 100 + ["3"] * 100 + ["9"] * number})
        result = run(job, source)
        assert result.report["choice"]["utility_loss"] > 0
        assert all(finding.holds for finding in verify(result.table, load_job(job), result.published, source))
        found.append({key: value for key, value in result.published["choice"].items() if key != "seconds"})
    assert found[0]["utility_loss"] is None
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize(("records", "places"), [(150, 0), (500, 1), (2_500, 2)])
def test_what_the_linter_tells_of_a_column_is_the_same_however_few_records_have_another_value(records, places):
    """The file has `*` for all; a digit of the share of pairs told their number, one of the distinct values a value."""
    column = {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}
    job = {
        "name": "rare",
        "unit": "record",
        "attributes": {"ward": column, "sex": {**column, "minimum_level": 1}, "dx": {"role": "insensitive"}},
        "privacy": [{"model": "k-anonymity", "k": 5}],
    }
    told = []
    for others in (["M"], ["M", "M"], ["M", "X", "U", "D"]):
        sex = [*others, *["F"] * (records - len(others))]
        wards, dx = [list(letters * (records // 2)) for letters in ("ab", "xy")]
        result = run(job, pa.table({"ward": wards, "sex": sex, "dx": dx}))
        assert result.table.num_rows == records
        told.append({one["column"]: one for one in result.published["lint"]["columns"]})
        full = {one["column"]: one for one in result.report["lint"]["columns"]}["sex"]
        assert full["separation"] > 0
    assert told == [told[0]] * 3
    assert told[0]["sex"]["separation"] == told[0]["sex"]["distinction"] == (0.0 if places else None)
    assert told[0]["ward"]["separation"] == (round(0.5, places) if places else None)


def test_what_the_linter_tells_of_a_column_of_which_few_have_a_value_is_not_of_those_left_out(tmp_path):
    """Nearly all of 2,500 records lack the value: a second digit told that of those left out one has it, and which."""
    column = {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}
    job = {
        "name": "lacking",
        "unit": "record",
        "attributes": {"ward": {**column, "maximum_level": 0}, "test": {"role": "insensitive"}},
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "suppression_limit": 0.1,
        "output": {"path": str(tmp_path / "release"), "suppressed": "drop"},
    }
    told = []
    for others in ([None, None, None], ["-", None, None], ["+", None, None], ["+", "-", "?"]):
        tests = ["-"] * 8 + [None] * 2492 + others + [None] * 3
        wards = ["a", "b"] * 1250 + [f"w{place}" for place in range(6)]
        result = run(job, pa.table({"ward": wards, "test": tests}))
        assert (result.published["rows"], result.published["released"]) == (2506, 2500)
        told.append(result.published["lint"]["columns"])
    assert told == [told[0]] * 4
    assert [one["separation"] for one in told[0]] == [0.5, None]


@pytest.mark.parametrize("transformation", ["full-domain", "local-recoding"])
def test_what_the_linter_finds_in_a_source_of_which_few_records_are_left_out_is_not_told(transformation):
    """Whether nearly all have one value would tell that of the one who is left out."""
    column = {"role": "quasi-identifying", "maximum_level": 0}
    job = {
        "name": "few",
        "unit": "record",
        "transformation": transformation,
        "attributes": {
            "age": {**column, "hierarchy": {"builder": "age"}},
            "sex": {**column, "hierarchy": {"builder": "flat"}},
            "dx": {"role": "sensitive"},
        },
        "privacy": [
            {"model": "k-anonymity", "k": 5},
            {"model": "l-diversity", "variant": "distinct", "attribute": "dx", "l": 2},
        ],
        "suppression_limit": 0.2,
    }
    reports = [
        run(job, pa.table({"age": ["34"] * 19 + ["91"], "sex": ["F"] * 19 + [sex], "dx": list("abcde" * 4)}))
        for sex in "FM"
    ]
    assert {"kind": "hardly-varies", "column": "sex"} in reports[0].report["lint"]["findings"]
    assert [one.published["lint"] for one in reports] == [reports[0].published["lint"]] * 2
    assert reports[0].published["warnings"] == reports[1].published["warnings"]
    assert not any("'sex'" in text for text in reports[0].published["warnings"])


def test_few_records_that_further_classes_joined_are_not_told():
    """The search suppressed two, and a class of five joined them: the figures are those of what became of all seven."""
    job = load_job(
        {
            "name": "joined",
            "attributes": {"age": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 2}}},
            "privacy": [{"model": "k-anonymity", "k": 5}],
            "suppression_limit": 0.2,
        }
    )
    report = run(job, pa.table({"age": ["30"] * 20 + ["40"] * 20 + ["50"] * 7})).report
    joined = {
        **report,
        "solution": {**report["solution"], "suppressed": 2, "information_loss": 0.05},
        "suppressed_class": {"form": "star", "records": 7, "joined": 1},
    }
    assert module.few_hidden(job, joined) == (True, False)
    with pytest.raises(ValueError, match="measured: is required"):
        module.published(job, joined)
    told = module.published(job, joined, Measured(0.15, {"loss": 0.15}))
    assert (told["rows"], told["solution"]["suppressed"], told["suppressed_class"]["records"]) == (47, None, 7)
    assert told["solution"]["information_loss"] == told["utility"]["loss"] == pytest.approx(0.15, abs=0.06)
    assert {"solution.suppressed", "suppressed_class.joined"} <= set(told["withheld"])
    assert told["suppressed_class"] == {"form": "star", "records": 7, "joined": None}
