"""Passes over the rows of a box that end once it is known that it suppresses, or costs, too much."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.kernels.packed_boxes.probing import probe
from engine.kernels.packed_boxes.splitting import ALL, split_classes
from engine.kernels.packed_boxes.tightening import tighten_box
from engine.kernels.packed_boxes.waiting import catch_up
from engine.search.boxes.packed_opener import _large
from tests.engine.search.packed_walk import EVERYTHING, MANY, NONE_WAITS, SERVED, WORDS, begun, nodes


def stepped(problem, word, data):
    """Return a walk after some steps, at which no row waits."""
    walk = begun(problem, word)
    for _ in range(data.draw(st.integers(0, 4))):
        walk.step(data)
    walk.catch_up(NONE_WAITS)
    return walk


def probed(walk, a, most, dearest):
    labels, low = walk.of.labels, walk.bounds.low
    words = walk.rows.keys if labels.places[a, 0] == 0 else walk.rows.tails
    shift, mask, width = np.uint64(labels.places[a, 1]), labels.masks[a], labels.widths[a, low[a]]
    return probe(walk.rows, words, shift, mask, width, walk.of.minimum, a, most, dearest)


@MANY
@given(SERVED, WORDS, st.data())
def test_a_probe_ends_only_if_all_rows_would_be_too_many_or_too_dear(problem, word, data):
    walk = stepped(problem, word, data)
    free = np.flatnonzero(walk.bounds.low < walk.bounds.high).tolist()
    for a in free:
        marks = walk.rows.marks.copy()
        records, cost = probed(walk, a, ALL, ALL)
        most = data.draw(st.integers(0, records + 1))
        dearest = data.draw(st.integers(0, int(cost) + 1))
        whole = walk.rows.marks.copy()
        walk.rows.marks[:] = marks
        told, told_cost = probed(walk, a, most, dearest)
        if told <= most and told_cost <= dearest:
            assert (told, told_cost) == (records, cost)
            assert (walk.rows.marks == whole).all()
        else:
            assert records > most or cost > dearest
            assert (told > most) <= (records > most)


@MANY
@given(SERVED, WORDS, st.data())
def test_classes_are_split_to_the_end_unless_too_much_is_suppressed(problem, word, data):
    walk = stepped(problem, word, data)
    low, high = walk.levels
    wanted = np.array([data.draw(st.integers(a, b)) for a, b in zip(low, high, strict=True)])
    limit = data.draw(st.integers(0, len(walk.of.records)))
    ends = []
    for most in (EVERYTHING, limit):
        bounds = type(walk.bounds)(*(array.copy() for array in walk.bounds))
        ends.append(((split_classes(walk.rows, bounds, wanted, walk.of.minimum, most, walk.of.labels),), bounds))
    assert_ended(ends, limit)


@MANY
@given(SERVED, WORDS, st.data())
def test_all_that_waits_is_brought_unless_too_much_is_suppressed(problem, word, data):
    walk = begun(problem, word)
    for _ in range(data.draw(st.integers(0, 4))):
        walk.step(data)
    limit = data.draw(st.integers(0, len(walk.of.records)))
    large = data.draw(st.sampled_from([1, 6, NONE_WAITS]))
    of, ends = walk.of, []
    for most in (EVERYTHING, limit):
        bounds = type(walk.bounds)(*(array.copy() for array in walk.bounds))
        # a probe marks rows in place
        rows = walk.rows._replace(marks=walk.rows.marks.copy())
        found = catch_up(rows, walk.waiting, of.tuples, of.bottom, bounds, of.minimum, large, most, of.labels)
        ends.append((found, bounds))
    assert_ended(ends, limit)


def assert_ended(ends, limit):
    """Compare what was not ended, and what ends above a limit: the same where the limit is not exceeded."""
    (all_rows, whole), (some_rows, ended) = ends
    assert (ended.sums[1] > limit) == (whole.sums[1] > limit)
    if whole.sums[1] <= limit:
        assert all((x == y).all() for x, y in zip(whole, ended, strict=True))
        for rows, others in zip(all_rows, some_rows, strict=True):
            assert all((x == y).all() for x, y in zip(rows, others, strict=True))


@MANY
@given(SERVED, WORDS, st.data())
def test_a_box_that_survives_lost_nothing_that_is_wanted(problem, word, data):
    walk = stepped(problem, word, data)
    low, high = walk.levels
    limit = data.draw(st.integers(0, len(walk.of.records)))
    ceiling = data.draw(st.integers(0, 1 << 62))
    alive, walk.rows, _ = tighten_box(walk.rows, walk.bounds, walk.of.minimum, limit, ceiling, walk.of.labels)
    left = set(nodes(*walk.levels)) if alive else set()
    for node in set(nodes(low, high)) - left:
        gone = walk.of.gone(node)
        assert len(gone) > limit or walk.of.cost(node, gone) > ceiling
    if alive:
        walk.assert_known()
        for (_, records, cost), gone in walk.faces():
            assert (records, cost) == (len(gone), walk.of.cost(walk.levels[0], gone))


def test_classes_wait_from_a_size_that_rises_as_fewer_records_may_be_suppressed():
    # one in 10, one in 20, one in 100, one in 1,000, and none
    sizes = [_large(5, limit, 100_000) for limit in (10_000, 5_000, 1_000, 100, 0)]
    assert sizes[:4] == [500, 500, 2_500, 25_000]
    assert sizes[4] > 1 << 60
