"""The search where classes must lose a part of their records, against enumeration.

No box is small enough to be enumerated, and every probe looks, so nothing but bounds decides.
"""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.search.algorithms.optimal import optimal
from engine.search.boxes import node_opener, tighten
from tests.engine import build
from tests.engine.search.exact_limits import limits, problem
from tests.profiles import examples
from tests.reference.lattice import solve
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


@pytest.mark.parametrize("model", MODELS, ids=lambda model: "-".join(map(str, model.values())))
@THOROUGH
@given(seed=st.integers(0, 10**6), data=st.data())
def test_the_solution_is_that_of_enumeration(model, seed, data):
    drawn = problem(
        seed,
        [model, {"model": "k-anonymity", "k": 2}],
        data.draw(st.sampled_from([*ATTRIBUTE_WISE, *CLASS_WISE])),
        combine=data.draw(st.sampled_from(["arithmetic-mean", "geometric-mean", "maximum", "rank"])),
        f=data.draw(st.sampled_from([0.25, 0.5, 1.0])),
    )
    drawn["limit"] = data.draw(st.sampled_from(limits(drawn)))
    with mock.patch.object(node_opener, "_SMALL_BOX", 1), mock.patch.object(tighten, "_FIRST_LOOKS", 10**9):
        expected, found = solve(drawn), optimal(build.search_problem(drawn))
    assert found.optimal
    assert (found.levels, found.suppressed) == (expected.levels, expected.suppressed)


def test_classes_are_looked_into(monkeypatch):
    """The problems above are of the kind that the bound is for: it ends boxes that nothing else would."""
    ended = []
    look = tighten.Tightener._lost_inside

    def watched(self, classes, fails):
        before = int(classes.counts[fails].sum())
        lost = look(self, classes, fails)
        ended.append(before <= self._limit < before + int(lost.sum()))
        return lost

    monkeypatch.setattr(tighten.Tightener, "_lost_inside", watched)
    for seed in range(20):
        optimal(build.search_problem(problem(seed, [MODELS[0], {"model": "k-anonymity", "k": 2}], "loss", limit=0.2)))
    assert any(ended)
