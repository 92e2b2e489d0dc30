"""What is said of a box, however it was reached from the whole lattice, against each of its transformations."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.search.boxes.incumbent import Incumbent
from engine.search.boxes.node_opener import NodeOpener
from engine.search.boxes.tighten import Tightener
from engine.search.check import Checker
from engine.utility.information_loss import ranked
from tests.engine import build
from tests.engine.search.exact_limits import limits, problem
from tests.profiles import examples
from tests.reference.lattice import evaluate, readings
from tests.reference.utility import ATTRIBUTE_WISE, CLASS_WISE

THOROUGH = settings(deadline=None, max_examples=examples(80))
MODELS = [
    [{"model": "k-anonymity", "k": 3}],
    [{"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2}],
    [
        {"model": "k-anonymity", "k": 2},
        {"model": "t-closeness", "attribute": "s", "distance": "equal", "t": 0.3},
    ],
]
MEASURES = [(measure, "arithmetic-mean") for measure in (*ATTRIBUTE_WISE, *CLASS_WISE)]
MEASURES += [("loss", "geometric-mean"), ("loss", "maximum"), ("non-uniform-entropy", "maximum"), ("precision", "rank")]


def assert_none_below(losses, bound):
    for loss in losses:
        assert ranked(loss)[0] >= bound[0] - 1e-9 * abs(bound[0])


@pytest.mark.parametrize(("measure", "combine"), MEASURES, ids=map("-".join, MEASURES))
@THOROUGH
@given(
    seed=st.integers(0, 10**6),
    models=st.sampled_from(MODELS),
    f=st.sampled_from([0.25, 0.5, 1.0]),
    halves=st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=5),
    place=st.integers(0, 26),
)
# weights of larger classes were added to a base of smaller ones
@example(seed=0, models=MODELS[2], f=0.25, halves=[(0, True)], place=7)
def test_nothing_is_said_that_a_solution_in_the_box_contradicts(measure, combine, seed, models, f, halves, place):
    drawn = problem(seed, models, measure, combine=combine, f=f)
    possible = limits(drawn)
    drawn["limit"] = possible[place % len(possible)]
    search = build.search_problem(drawn)
    checker, costs, incumbent = Checker(search), search.evaluator.box_costs(), Incumbent(0.0)
    opener = NodeOpener(search, [checker], costs, incumbent)
    tightener = Tightener(checker, costs, incumbent.rules_out, search.limit)
    read = readings(drawn)
    checked = {levels: evaluate(drawn, levels, read) for levels in itertools.product(range(3), repeat=3)}
    solutions = {levels: found for levels, found in checked.items() if found[1] <= search.limit}
    box = opener.root()
    for half in [None, *halves]:
        if half is not None:
            a, lower = half
            if a not in box.free:
                continue
            box = box.half(a, box.low[a] if lower else box.low[a] + 1, box.bound, lower=lower)
            box.finish(costs)
        inside = {
            levels: found
            for levels, found in solutions.items()
            if all(x <= y <= z for x, y, z in zip(box.low, levels, box.high, strict=True))
        }
        if not tightener._suppress(box):
            assert not inside
            return
        assert all(suppressed >= box.suppressed for _, suppressed in inside.values())
        assert_none_below([loss for loss, _ in inside.values()], box.bound)
        for b in box.free:
            probe = tightener._probe(box, b)
            lowest = [found for levels, found in inside.items() if levels[b] == box.low[b]]
            assert all(suppressed >= probe.suppressed for _, suppressed in lowest)
            assert_none_below([loss for loss, _ in lowest], probe.bound)
            for level in range(box.low[b] + 1, box.high[b] + 1):
                above = [loss for levels, (loss, _) in inside.items() if levels[b] >= level]
                assert_none_below(above, costs.above(box, box.base, b, level))
        for levels, (loss, _) in inside.items():
            assert_none_below([loss], opener._floor(box, levels))
            assert opener._is_promising(checker, box, levels)
