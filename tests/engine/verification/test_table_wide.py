"""Criteria of the table as a whole, recounted: by hand, against fractions, and on releases that were changed."""

from __future__ import annotations

import copy
import math
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine import InvalidJob, NoSolution, recount, run, verify
from tests.engine import populated
from tests.engine.verification.verified import MANY, released
from tests.profiles import examples

AVERAGE, SAMPLE, POPULATION = "average-risk", "sample-uniqueness", "population-uniqueness"


def failed(findings):
    return [finding.check for finding in findings if not finding.holds]


def sized(*sizes):
    """Return an output with classes of these sizes."""
    return released({f"class {i}": ["x"] * size for i, size in enumerate(sizes)})


def uniqueness(threshold, estimator="zayatz", fraction=0.5):
    return {"model": POPULATION, "threshold": threshold, "sampling_fraction": fraction, "estimator": estimator}


# ---------------------------------------------------------------- by hand


@pytest.mark.parametrize(("threshold", "holds"), [(0.3, True), (0.29, False)])
def test_average_risk(threshold, holds):
    """Three classes of ten records."""
    finding = recount(sized(5, 4, 1), ["q"], {"model": AVERAGE, "threshold": threshold})
    assert (finding.check, finding.holds, finding.observed, finding.required) == (AVERAGE, holds, 0.3, threshold)


@pytest.mark.parametrize(("threshold", "holds"), [(0.2, True), (0.19, False), (0.0, False)])
def test_sample_uniqueness(threshold, holds):
    """Two of ten records are alone."""
    finding = recount(sized(5, 3, 1, 1), ["q"], {"model": SAMPLE, "threshold": threshold})
    assert (finding.check, finding.holds, finding.observed, finding.required) == (SAMPLE, holds, 0.2, threshold)


def test_population_uniqueness_of_a_whole_population():
    """A table that is its population has the unique people that it shows."""
    finding = recount(sized(5, 3, 1, 1), ["q"], uniqueness(0.2, fraction=1.0))
    assert finding.check == POPULATION
    assert (finding.holds, finding.observed) == (True, pytest.approx(0.2))


def test_population_uniqueness_without_a_unique_record():
    finding = recount(sized(5, 3), ["q"], uniqueness(0.0))
    assert (finding.holds, finding.observed) == (True, 0)


def test_suppressed_records_count_into_the_population():
    """Ten records are half of twenty people, of whom the eight kept ones are two fifths."""
    table = pa.concat_tables([sized(5, 1, 1, 1), released({"*": ["x", "x"]})])
    among = recount(table, ["q"], uniqueness(1.0))
    alone = recount(sized(5, 1, 1, 1), ["q"], uniqueness(1.0, fraction=8 / 20))
    other = recount(sized(5, 1, 1, 1), ["q"], uniqueness(1.0))
    assert among.observed == alone.observed != other.observed
    dropped = recount(sized(5, 1, 1, 1), ["q"], uniqueness(1.0), rows=10)
    assert dropped.observed == among.observed


def test_an_estimate_that_cannot_be_made_does_not_hold():
    """Of unique records alone no estimator tells how many of them are unique among people."""
    finding = recount(sized(1, 1), ["q"], uniqueness(1.0, "snb", 0.01))
    assert (finding.holds, finding.observed) == (False, None)
    assert "allow no estimate" in finding.message


@pytest.mark.parametrize(
    "model", [{"model": AVERAGE, "threshold": 0.1}, {"model": SAMPLE, "threshold": 0.0}, uniqueness(0.0)], ids=str
)
def test_nothing_kept_holds(model):
    table = released({"*": ["a", "b"]})
    finding = recount(table, ["q"], model, kept=table.slice(0, 0))
    assert (finding.holds, finding.observed) == (True, None)


def test_an_unknown_estimator_is_refused():
    with pytest.raises(InvalidJob, match="estimator must be one of dankar, pitman, zayatz, snb"):
        recount(sized(1, 2), ["q"], uniqueness(0.5, "guess"))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 1.0]))
def test_both_shares_are_those_of_fractions(sizes, threshold):
    kept = sum(sizes)
    shares = {AVERAGE: Fraction(len(sizes), kept), SAMPLE: Fraction(sizes.count(1), kept)}
    for model, share in shares.items():
        finding = recount(sized(*sizes), ["q"], {"model": model, "threshold": threshold})
        assert finding.observed == float(share)
        assert finding.holds == (share <= Fraction(threshold).limit_denominator(100))


# ---------------------------------------------------------------- against the engine

MODELS = st.one_of(
    st.sampled_from([0.2, 1 / 3, 0.5, 0.7]).map(lambda threshold: {"model": AVERAGE, "threshold": threshold}),
    st.sampled_from([0.0, 0.1, 0.25, 0.5]).map(lambda threshold: {"model": SAMPLE, "threshold": threshold}),
    st.builds(
        uniqueness,
        st.sampled_from([0.0, 0.05, 0.2]),
        st.sampled_from(["dankar", "pitman", "zayatz", "snb"]),
        st.sampled_from([0.1, 0.5, 1.0]),
    ),
)
PEOPLE = st.lists(populated.PERSON, min_size=1, max_size=40)


@settings(parent=MANY, max_examples=examples(80))
@given(
    PEOPLE,
    st.lists(MODELS, min_size=1, max_size=2, unique_by=str),
    st.sampled_from([0.0, 0.2, 0.5, 1.0]),
    st.sampled_from(["star", "drop"]),
    st.sampled_from([None, 0.1, 1.0]),
    st.data(),
)
def test_a_release_holds_with_the_figures_of_its_report(tmp_path_factory, people, models, limit, how, fraction, data):
    folder = tmp_path_factory.mktemp("job")
    output = {"path": "release", "suppressed": how}
    risk = {"threshold": 0.4} | ({} if fraction is None else {"sampling_fraction": fraction})
    this = populated.job(folder, models, limit=limit, output=output, risk=risk)
    try:
        result = run(this, populated.table(people), output=folder / "release")
    except NoSolution:
        assume(False)
    table, report = result.table, result.report
    assert failed(result.findings) == []
    recounted = [f for f in result.findings if f.check in {AVERAGE, SAMPLE, POPULATION}]
    assert [f.observed for f in recounted] == [entry["observed"] for entry in report["privacy"]]
    figure = data.draw(st.sampled_from(sorted(report["risk"])))
    changed = copy.deepcopy(report)
    changed["risk"][figure] = data.draw(st.sampled_from([None, 0.123, True]))
    assume(changed["risk"][figure] != report["risk"][figure])
    assert failed(verify(table, this, changed)) == ["figures"]


@pytest.mark.parametrize("model", [{"model": AVERAGE, "threshold": 0.5}, {"model": SAMPLE, "threshold": 0.0}], ids=str)
def test_a_record_that_moves_to_a_class_of_its_own_is_found(tmp_path, model):
    this = populated.job(tmp_path, [model])
    result = run(this, populated.table([("31", "11")] * 2 + [("42", "21")] * 2))
    assert failed(result.findings) == []
    rows = result.table.to_pylist()
    rows[0]["age"] = "41"
    moved = verify(pa.Table.from_pylist(rows, schema=result.table.schema), this, result.report)
    assert failed(moved) == [model["model"], "figures", "figures", "figures", "figures"]


def test_the_smallest_classes_are_those_that_are_missing(tmp_path):
    """Classes of 6, 3 and 1: without the last one two classes of nine records are left."""
    this = populated.job(tmp_path, [{"model": AVERAGE, "threshold": 0.25}], limit=0.1, attribute={"maximum_level": 0})
    result = run(this, populated.table([("31", "11")] * 6 + [("42", "21")] * 3 + [("41", "12")]))
    assert result.report["solution"]["suppressed"] == 1
    (finding,) = [f for f in result.findings if f.check == AVERAGE]
    assert math.isclose(finding.observed, 2 / 9)
