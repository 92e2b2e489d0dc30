"""Measures by hand, their aggregates and factors; `test_measures` has them against the reference."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from engine.tables.sources.source import open_data
from engine.utility.aggregate import aggregate, order_by_aggregate
from engine.utility.information_loss import leading, original, ranked
from engine.utility.registry import AnyMeasure
from tests.engine.build import Listed, encoded
from tests.profiles import examples
from tests.reference.utility import aggregate as plain_aggregate

QUICK = settings(deadline=None, max_examples=examples(150))


def counted(problem):
    """Return the frequency table of a problem's quasi-identifiers."""
    names = [f"q{a}" for a in range(len(problem["hierarchies"]))]
    columns = {name: [values[a] for values, _ in problem["records"]] for a, name in enumerate(names)}
    builders = {name: Listed(entries=rows) for name, rows in zip(names, problem["hierarchies"], strict=True)}
    return encoded(open_data(pa.table(columns)), builders, [])[1]


def evaluator(problem, table):
    settings_of_job = {
        "measure": problem["measure"],
        "aggregate": problem["combine"],
        "generalization_suppression_factor": problem["f"],
    }
    return TypeAdapter(AnyMeasure).validate_python(settings_of_job).evaluator(table, problem["weights"])


def loss(problem, levels, rows):
    table = counted(problem)
    return evaluator(problem, table).loss(levels, table.partition(levels), np.array(rows, np.int64))


@pytest.mark.parametrize("measure", ["loss", "precision"])
def test_the_bound_of_one_transformation_is_its_loss_when_generalizing_costs_no_more_than_suppressing(measure):
    problem = {
        "records": [((v,), {}) for v in "aab"],
        "hierarchies": [[("a", "A", "*"), ("b", "A", "*"), ("c", "C", "*")]],
        "weights": [1.0],
        "measure": measure,
        "combine": "arithmetic-mean",
        "f": 0.5,
    }
    found = evaluator(problem, counted(problem))
    assert found.bound((1,), (1,), np.array([1], np.int64)) == loss(problem, (1,), [1])


def test_loss_by_hand():
    # 4 leaves; a and b under A: share 1/2 at level 1. Two records of a kept, one of c suppressed, f = 0.5.
    problem = {
        "records": [((v,), {}) for v in "aac"],
        "hierarchies": [[("a", "A"), ("b", "A"), ("c", "C"), ("d", "C")]],
        "weights": [1.0],
        "measure": "loss",
        "combine": "arithmetic-mean",
        "f": 0.5,
    }
    # A = 2 * 1/2 + 1 = 2, normalized (2 - 3/4) / (3 - 3/4) = 5/9
    assert loss(problem, (1,), [1]) == pytest.approx(5 / 9)
    problem["measure"] = "precision"
    # two kept records at the highest level and a suppressed one: nothing is left
    assert loss(problem, (1,), [1]) == pytest.approx(1.0)
    assert loss(problem, (0,), [1]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("measure", ["loss", "precision"])
@pytest.mark.parametrize("f", [0.0, 0.5, 1.0])
def test_an_attribute_of_one_value_and_one_level_is_no_division_by_zero(measure, f):
    problem = {
        "records": [(("a",), {})],
        "hierarchies": [[("a",)]],
        "weights": [1.0],
        "measure": measure,
        "combine": "arithmetic-mean",
        "f": f,
    }
    assert loss(problem, (0,), []) == 0.0
    assert math.isfinite(loss(problem, (0,), [0]))


LOSSES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 5)), min_size=1, max_size=6).filter(
    lambda pairs: any(weight > 1e-3 for _, weight in pairs)
)
NAMES = ["arithmetic-mean", "geometric-mean", "sum", "maximum", "rank"]


@QUICK
@given(LOSSES, st.sampled_from(NAMES))
def test_aggregates(pairs, name):
    losses, weights = zip(*pairs, strict=True)
    assert aggregate(name, losses, weights) == pytest.approx(plain_aggregate(name, losses, weights), rel=1e-12)


@QUICK
@given(LOSSES, st.sampled_from(NAMES), st.integers(0, 5), st.floats(0, 1))
def test_aggregates_never_fall_when_a_loss_rises(pairs, name, place, rise):
    losses, weights = map(list, zip(*pairs, strict=True))
    before = ranked(aggregate(name, losses, weights))
    losses[place % len(losses)] += rise
    assert ranked(aggregate(name, losses, weights)) >= tuple(figure * (1 - 1e-12) for figure in before)


@QUICK
@given(LOSSES, st.randoms(use_true_random=False))
def test_ranked_losses_compare_from_the_largest_on_whatever_their_order(pairs, random):
    losses, weights = zip(*pairs, strict=True)
    found = aggregate("rank", losses, weights)
    shuffled = random.sample(pairs, len(pairs))
    assert aggregate("rank", *zip(*shuffled, strict=True)) == found
    assert list(found) == sorted(found, reverse=True)
    assert leading(found) == aggregate("maximum", losses, weights)


def test_ranked_losses_by_hand():
    # weights 2 and 1 and 0: the losses count whole, half and not at all
    assert aggregate("rank", [0.25, 1.0, 9.0], [2.0, 1.0, 0.0]) == (0.5, 0.25, 0.0)
    # the second largest decides between equal largest ones, where the maximum sees no difference
    assert aggregate("rank", [0.5, 0.25], [1.0, 1.0]) < aggregate("rank", [0.375, 0.5], [1.0, 1.0])
    assert original((0.5, 0.25), (0.0, 0.0)) == (0.5, 0.25)
    assert original((0.5,), 0.0) == 0.5


COLUMNS = st.integers(1, 3).flatmap(
    lambda m: st.lists(st.tuples(*[st.sampled_from([0.0, 1 / 3, 0.1, 0.2, 0.3, 2 / 3])] * m), min_size=1, max_size=8)
)


@QUICK
@given(COLUMNS, st.sampled_from(NAMES), st.data())
def test_places_of_losses_are_those_of_their_aggregates(columns, name, data):
    weights = data.draw(st.lists(st.sampled_from([0.0, 1.0, 3.0]), min_size=len(columns[0]), max_size=len(columns[0])))
    weights[0] = 3.0
    place = order_by_aggregate(name, np.array(columns).T, weights)
    found = [ranked(plain_aggregate(name, column, weights)) for column in columns]
    for (mine, here), (other, there) in itertools.combinations(zip(found, place.tolist(), strict=True), 2):
        if mine != pytest.approx(other, rel=1e-9):
            assert (here < there) == (mine < other)
    assert min(place) == 0


@pytest.mark.parametrize("name", NAMES)
def test_weights_count_relative_to_each_other(name):
    losses = [0.2, 0.7]
    assert aggregate(name, losses, [1.0, 4.0]) == aggregate(name, losses, [0.5, 2.0])
    if name != "arithmetic-mean":
        assert aggregate(name, losses, [0.0, 3.0]) == aggregate(name, [0.0, 0.7], [1.0, 1.0])


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=6).filter(any))
def test_where_nothing_is_left_the_weighted_mean_is_one(weights):
    assert aggregate("arithmetic-mean", [1.0] * len(weights), weights) == pytest.approx(1.0)


def test_the_weighted_mean_by_hand():
    # (1 x 0.2 + 4 x 0.7) / 5
    assert aggregate("arithmetic-mean", [0.2, 0.7], [1.0, 4.0]) == pytest.approx(0.6)
    assert aggregate("arithmetic-mean", [0.2, 0.7], [0.0, 3.0]) == pytest.approx(0.7)


@pytest.mark.parametrize(("f", "g", "s"), [(0.0, 1, 0), (0.25, 1, 0.5), (0.5, 1, 1), (0.75, 0.5, 1), (1.0, 0, 1)])
def test_the_factors_of_generalization_and_suppression(f, g, s):
    measure = TypeAdapter(AnyMeasure).validate_python({"generalization_suppression_factor": f})
    assert (measure.generalization_factor, measure.suppression_factor) == (g, s)
