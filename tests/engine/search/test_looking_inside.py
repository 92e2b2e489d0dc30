"""What is said of a box whose classes must lose a part of their records, against each of its transformations."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.search.boxes.incumbent import Incumbent
from engine.search.boxes.node_opener import NodeOpener
from engine.search.boxes.tighten import Tightener
from engine.search.check import Checker
from engine.utility.information_loss import ranked
from tests.engine import build
from tests.engine.search.exact_limits import limits, problem, searched
from tests.profiles import examples
from tests.reference.lattice import evaluate, readings, solve
from tests.reference.utility import ATTRIBUTE_WISE, CLASS_WISE

THOROUGH = settings(deadline=None, max_examples=examples(60))
DIVERSE = {"model": "l-diversity", "attribute": "s", "missing": "value"}
MODELS = [
    {"model": "t-closeness", "attribute": "s", "distance": "equal", "t": 0.2},
    {"model": "t-closeness", "attribute": "s", "distance": "ordered", "t": 0.15},
    {"model": "t-closeness", "attribute": "s", "distance": "hierarchical", "t": 0.15},
    {**DIVERSE, "variant": "recursive", "c": 0.8, "l": 2},
    {**DIVERSE, "variant": "recursive", "c": 1.0, "l": 3, "missing": "not-a-value"},
    {**DIVERSE, "variant": "shannon-entropy", "l": 2.5},
    {"model": "beta-likeness", "attribute": "s", "variant": "basic", "beta": 0.5},
    {"model": "beta-likeness", "attribute": "s", "variant": "enhanced", "beta": 1.0},
    {"model": "delta-disclosure-privacy", "attribute": "s", "delta": 1.0, "strict": False},
    {"model": "delta-disclosure-privacy", "attribute": "s", "delta": 1.5, "strict": True},
]
of_each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: "-".join(map(str, model.values())))


@st.composite
def problems(draw, model):
    return problem(
        draw(st.integers(0, 10**6)),
        [model, {"model": "k-anonymity", "k": 2}],
        draw(st.sampled_from([*ATTRIBUTE_WISE, *CLASS_WISE])),
        combine=draw(st.sampled_from(["arithmetic-mean", "geometric-mean", "maximum", "rank"])),
        f=draw(st.sampled_from([0.25, 0.5, 1.0])),
    )


@of_each_model
@THOROUGH
@given(data=st.data())
def test_no_transformation_of_a_box_suppresses_or_loses_less_than_is_said(model, data):
    drawn = data.draw(problems(model))
    low = data.draw(st.tuples(*[st.integers(0, 1)] * 3))
    high = data.draw(st.tuples(*[st.integers(1, 2)] * 3))
    search = build.search_problem(drawn, low, high)
    checker, costs, incumbent = Checker(search), search.evaluator.box_costs(), Incumbent(0.0)
    box = NodeOpener(search, [checker], costs, incumbent).root()
    tightener = Tightener(checker, costs, incumbent.rules_out, search.limit)
    read = readings(drawn)
    found = {
        levels: evaluate(drawn, levels, read)
        for levels in itertools.product(*(range(x, y + 1) for x, y in zip(low, high, strict=True)))
    }
    # all records may be suppressed, so there is a solution
    assert tightener._suppress(box)
    said = [(found, box.suppressed, box.bound)]
    for a in box.free:
        probe = tightener._probe(box, a)
        lowest = {levels: figures for levels, figures in found.items() if levels[a] == low[a]}
        said.append((lowest, probe.suppressed, probe.bound))
    for part, records, bound in said:
        for loss, suppressed in part.values():
            assert suppressed >= records
            least, other = bound[0], ranked(loss)[0]
            assert other >= least - 1e-9 * abs(least)


def test_the_largest_part_that_may_be_kept_is_kept():
    """The bound is met: 5 and 4 records satisfy, and so does no more of a class with ten further ones of one value."""
    rows = [("v0", "v0.", "any v"), ("v2", "v2.", "any v")]
    values = ["s0"] * 5 + ["s1"] * 4
    drawn = {
        **problem(0, [{**DIVERSE, "variant": "recursive", "c": 1.5, "l": 2}], "loss"),
        "records": [(("v0",), {"s": s}) for s in values] + [(("v2",), {"s": "s0"})] * 10,
        "hierarchies": [rows],
        "weights": [1.0],
    }
    for spare, levels in [(0.5, (0,)), (-0.5, None)]:
        drawn["limit"] = (10 + spare) / 19
        found = searched(drawn)
        assert (None if found is None else found.levels) == levels


@of_each_model
@THOROUGH
@given(data=st.data())
def test_the_solution_is_that_of_enumeration(model, data):
    drawn = data.draw(problems(model))
    drawn["limit"] = data.draw(st.sampled_from(limits(drawn)))
    expected, found = solve(drawn), searched(drawn)
    assert found.optimal
    assert (found.levels, found.suppressed) == (expected.levels, expected.suppressed)


@pytest.mark.parametrize("seed", [43, 44, 45])
def test_boxes_are_halved_where_probes_tell_less_than_the_box(seed):
    """No probe looks into classes, the box itself does; and no solution is known that would end the box."""
    models = [{"model": "average-risk", "threshold": 0.02}, {**MODELS[6], "beta": 1.0}]
    drawn = problem(seed, models, "non-uniform-entropy", limit=0.2)
    # many records: what a half of the box loses is far more than one
    drawn["records"] = drawn["records"] * 20
    expected, found = solve(drawn), searched(drawn, looks=0)
    assert (found.levels, found.suppressed) == (expected.levels, expected.suppressed)
    assert found.optimal


def test_classes_are_looked_into(monkeypatch):
    """The problems above are of the kind that the bound is for: it ends boxes that nothing else would."""
    ended = []
    look = Tightener._lost_inside

    def watched(self, classes, fails):
        before = int(classes.counts[fails].sum())
        lost = look(self, classes, fails)
        ended.append(before <= self._limit < before + int(lost.sum()))
        return lost

    monkeypatch.setattr(Tightener, "_lost_inside", watched)
    for seed in range(20):
        searched(problem(seed, [MODELS[0], {"model": "k-anonymity", "k": 2}], "loss", limit=0.2))
    assert any(ended)
