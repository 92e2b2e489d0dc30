"""The recount of every model with a sensitive attribute: what all share, and against the engine's own judgement."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given

from engine import InvalidData, InvalidJob, recount
from tests.engine.verification.verified import (
    MANY,
    MODELS,
    ROWS,
    at_the_bound,
    attributes,
    closeness,
    disclosure,
    diversity,
    judged,
    letters,
    likeness,
    released,
)

EVERY = [
    diversity("shannon-entropy", l=2),
    diversity("grassberger-entropy", l=2),
    diversity("recursive", c=2.0, l=2),
    closeness("equal", 0.2),
    closeness("ordered", 0.2),
    disclosure(1.0),
    likeness("basic", 0.5),
]


@pytest.mark.parametrize("model", EVERY, ids=str)
def test_nothing_kept_holds(model):
    table = released({"*": ["a", "b"]})
    finding = recount(table, ["q"], model, kept=table.slice(0, 0))
    assert (finding.holds, finding.observed) == (True, None)


@pytest.mark.parametrize("name", ["count_all", "value", "0", "s_list"])
@pytest.mark.parametrize("model", EVERY, ids=str)
def test_a_quasi_identifier_may_bear_any_name(model, name):
    table = released({"x": letters(3, 1), "y": letters(2, 4)})
    assert recount(table.rename_columns([name, "s"]), [name], model) == recount(table, ["q"], model)


@pytest.mark.parametrize("model", EVERY, ids=str)
def test_values_in_dictionaries_are_counted_by_value(model):
    """Two codes that stand for one value are one value."""
    plain = released({"x": ["a", "a"], "y": ["a", "b"]})
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.int8()), ["a", "a", "a", "b"])
    assert recount(plain.set_column(1, "s", codes), ["q"], model) == recount(plain, ["q"], model)


@pytest.mark.parametrize(
    ("model", "attribute", "text"),
    [
        (diversity("entropy", l=2), None, "variant 'entropy' of l-diversity cannot be verified"),
        (closeness("euclidean", 0.2), None, "distance 'euclidean' of t-closeness cannot be verified"),
        (likeness("other", 1.0), None, "variant 'other' of beta-likeness cannot be verified"),
        (closeness("hierarchical", 0.2), None, r"attributes.s.hierarchy: .* needs one"),
        (closeness("ordered", 0.2), {"ordr": "text"}, "sensitive attribute: ordr: unknown key"),
        (closeness("ordered", 0.2), {"order": "length"}, "sensitive attribute: order"),
    ],
)
def test_what_cannot_be_proven_is_refused(model, attribute, text):
    with pytest.raises(InvalidJob, match=text):
        recount(released({"x": ["a", "b"]}), ["q"], model, attribute)


def test_kept_records_of_another_output_are_refused():
    with pytest.raises(InvalidData, match="column 's': kept records hold values that the table lacks"):
        recount(released({"x": ["a"]}), ["q"], closeness("equal", 0.2), kept=released({"x": ["b"]}))


@MANY
@given(ROWS, MODELS, attributes())
def test_any_table_is_judged_as_the_engine_judges_it(rows, model, attribute):
    table = pa.table({"q": [label for label, _ in rows], "s": pa.array([value for _, value in rows], pa.string())})
    holds, observed = judged(table, model, attribute)
    finding = recount(table, ["q"], model, attribute)
    assert finding.observed == (observed if observed is None else pytest.approx(observed, rel=1e-9, abs=1e-12))
    if at_the_bound(model, observed):
        assert finding.holds >= holds
    else:
        assert finding.holds == holds


def test_more_pairs_of_class_and_value_than_are_held_at_once(monkeypatch):
    """Classes are given one by one, however their values lie in the parts that are held."""
    table = released({f"x{i}": letters(i % 4, 1, i % 3) for i in range(40)})
    whole = [recount(table, ["q"], model) for model in EVERY]
    for most in (1, 2, 7):
        monkeypatch.setattr("engine.verification.records.histograms._AT_ONCE", most)
        assert [recount(table, ["q"], model) for model in EVERY] == whole
