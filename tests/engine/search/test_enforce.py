"""Which classes table-wide criteria suppress, against taking one class after the other; and what is hopeless."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.search.enforce import smallest_classes
from tests.engine import build
from tests.engine.strategies import TABLE_WIDE
from tests.profiles import examples
from tests.reference.privacy import holds_table_wide, shortest_prefix

MANY = settings(deadline=None, max_examples=examples(300))
SIZES = st.lists(st.integers(1, 6), max_size=9)
MODELS = st.lists(TABLE_WIDE, min_size=1, max_size=3, unique_by=repr)


def of_values(parameters):
    return build.models({"models": parameters})


@st.composite
def estimated(draw):
    """Draw a population uniqueness model with any estimator."""
    return {
        "model": "population-uniqueness",
        "threshold": draw(st.sampled_from([0.0, 0.0123, 0.234])),
        "sampling_fraction": draw(st.sampled_from([0.01, 0.2, 1.0])),
        "estimator": draw(st.sampled_from(["dankar", "pitman", "snb"])),
    }


def first_holding(sizes, start, stop, records, parameters):
    """Try one number of classes after the other."""
    for gone in range(start, stop + 1):
        if holds_table_wide(sizes[gone:], records, parameters):
            return gone
    return stop + 1


def assert_first_holding(parameters, sizes, suppressed, data):
    sizes = sorted(sizes)
    start = data.draw(st.integers(0, len(sizes)))
    stop = data.draw(st.integers(start, len(sizes)))
    records = sum(sizes) + suppressed
    (model,) = of_values([parameters])
    found = model.first_holding(np.array(sizes, np.int64), start, stop, records)
    assert found == first_holding(sizes, start, stop, records, parameters)


@MANY
@given(TABLE_WIDE, SIZES, st.integers(0, 5), st.data())
def test_the_fewest_classes_that_must_go(parameters, sizes, suppressed, data):
    assert_first_holding(parameters, sizes, suppressed, data)


@settings(deadline=None, max_examples=examples(40))
@given(estimated(), SIZES, st.integers(0, 5), st.data())
def test_the_fewest_classes_that_must_go_by_each_estimator(parameters, sizes, suppressed, data):
    assert_first_holding(parameters, sizes, suppressed, data)


def refinements(size):
    """Return every way to split a class into classes: sorted sizes of the parts."""
    if not size:
        return {()}
    return {tuple(sorted((part, *rest))) for part in range(1, size + 1) for rest in refinements(size - part)}


def is_solvable(parameters, sizes, limit):
    """Whether some refinement, with some classes suppressed, satisfies a model."""
    refined = {tuple(sorted(sum(parts, ()))) for parts in itertools.product(*map(refinements, sizes))}
    return any(
        holds_table_wide([size for size, is_kept in zip(parts, kept, strict=True) if is_kept], sum(sizes), parameters)
        for parts in refined
        for kept in itertools.product([True, False], repeat=len(parts))
        if sum(parts) - sum(itertools.compress(parts, kept)) <= limit
    )


@MANY
@given(TABLE_WIDE, st.lists(st.integers(1, 4), min_size=1, max_size=4).filter(lambda s: sum(s) <= 7), st.integers(0, 7))
def test_what_is_hopeless_has_no_solution_in_any_specialization(parameters, sizes, limit):
    (model,) = of_values([parameters])
    if model.hopeless(np.array(sizes, np.int64), limit):
        assert not is_solvable(parameters, sizes, limit)


@pytest.mark.parametrize(
    ("parameters", "sizes", "limit", "hopeless"),
    [
        # at least 3 classes of 6 records stay, whatever becomes of them; without the two smallest one of 4
        ({"model": "average-risk", "threshold": 0.49}, [1, 1, 4], 0, True),
        ({"model": "average-risk", "threshold": 0.5}, [1, 1, 4], 0, False),
        ({"model": "average-risk", "threshold": 0.25}, [1, 1, 4], 2, False),
        ({"model": "average-risk", "threshold": 0.05}, [1, 1, 4], 6, False),
        # two of six records are alone; of one that is suppressed 1 of 5 is left
        ({"model": "sample-uniqueness", "threshold": 0.3}, [1, 1, 4], 0, True),
        ({"model": "sample-uniqueness", "threshold": 0.2}, [1, 1, 4], 1, False),
        ({"model": "sample-uniqueness", "threshold": 0.19}, [1, 1, 4], 1, True),
    ],
)
def test_hopeless_by_hand(parameters, sizes, limit, hopeless):
    (model,) = of_values([parameters])
    assert model.hopeless(np.array(sizes, np.int64), limit) is hopeless


@st.composite
def kept_classes(draw):
    """Draw classes with and without records, kept or not, and places of them, some equal."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=9))
    classes = SimpleNamespace(
        counts=np.array(sizes, np.int64),
        first=np.array(draw(st.permutations(range(len(sizes)))), np.int64),
        size=len(sizes),
    )
    kept = np.array([draw(st.booleans()) and size > 0 for size in sizes], np.bool_)
    order = draw(st.none() | st.lists(st.integers(0, 2), min_size=len(sizes), max_size=len(sizes)))
    return classes, kept, order


@MANY
@given(MODELS, kept_classes(), st.integers(-1, 20))
def test_classes_go_by_size_then_by_their_loss_then_by_their_first_record(parameters, drawn, room):
    classes, kept, order = drawn
    sizes, first = classes.counts.tolist(), classes.first.tolist()
    places = {c: (sizes[c], *([] if order is None else [order[c]]), first[c]) for c in np.flatnonzero(kept).tolist()}
    expected = shortest_prefix(places, sum(sizes), parameters)
    given_order = None if order is None else np.array(order, np.int64)
    found = smallest_classes(of_values(parameters), classes, kept, given_order, room)
    if sum(sizes[c] for c in expected) > room:
        assert found is None
    else:
        assert set(found.tolist()) == expected
        assert found.size == len(expected)
