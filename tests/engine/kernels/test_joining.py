"""Joined classes and moves against a recount in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernels.joining import Cells, Needs, join, lacks, nearest_pairs, partners
from engine.kernels.moves import ALL_ROWS, ONE_ROW, best_moves, tight_cells
from tests.engine.kernels.test_recoding import COSTS, LABELS, SHAPE
from tests.profiles import examples

REAL = settings(deadline=None, max_examples=examples(200))
LEAVES = st.tuples(st.integers(0, 3), st.integers(0, 2))


def cell(members):
    """Return the lowest levels that leaves share, and the cost of a record there."""
    levels = [
        next(level for level in range(len(of)) if len({of[level][one[a]] for one in members}) == 1)
        for a, of in enumerate(LABELS)
    ]
    return levels, sum(COSTS[a][level, 0] for a, level in enumerate(levels))


@st.composite
def classes(draw):
    """Draw classes of leaves, one record each, with the records of each class by three features."""
    groups = draw(st.lists(st.lists(LEAVES, min_size=1, max_size=3), min_size=2, max_size=7))
    sums = [[draw(st.integers(0, 3)) for _ in range(3)] for _ in groups]
    return groups, np.array(sums, np.float64)


def cells_of(groups):
    levels, costs = zip(*map(cell, groups), strict=True)
    first = np.array([one[0] for one in groups], np.int32)
    return Cells(first, np.array(levels), np.array([float(len(one)) for one in groups]), np.array(costs))


def needs_of(least, allowed, distinct):
    weights, shares = np.array([0.5, 0.5, 0.25]), np.array([0.5, 0.25, 0.25])
    return Needs(float(least), np.array([3]), weights, shares, np.array([allowed]), np.array([float(distinct)]))


def plain_lack(needs, sums, size):
    apart = sum(w * abs(n - size * q) for w, n, q in zip(needs.weights, sums, needs.shares, strict=True))
    different = sum(n > 0 for n in sums)
    return max(needs.least - size, 0) + max(apart - needs.allowed[0] * size, 0) + max(needs.distinct[0] - different, 0)


@REAL
@given(classes(), st.integers(1, 5), st.sampled_from([0.0, 0.25, 1.0]), st.integers(0, 3))
def test_a_class_is_joined_where_the_loss_rises_least_per_record_of_lack(case, least, allowed, distinct):
    groups, sums = case
    needs, cells = needs_of(least, allowed, distinct), cells_of(groups)
    lacking = lacks(needs, sums, cells.sizes)
    assert np.allclose(lacking, [plain_lack(needs, s, n) for s, n in zip(sums, cells.sizes, strict=True)])
    seekers = np.flatnonzero(lacking > 0)
    chosen, rises = partners(SHAPE, cells, needs, sums, lacking, seekers)
    for one, partner, rise in zip(seekers.tolist(), chosen.tolist(), rises.tolist(), strict=True):
        best = {}
        for other in set(range(len(groups))) - {one}:
            cost = cell(groups[one] + groups[other])[1] * (len(groups[one]) + len(groups[other]))
            cost -= cells.costs[one] * cells.sizes[one] + cells.costs[other] * cells.sizes[other]
            left = plain_lack(needs, sums[one] + sums[other], len(groups[one]) + len(groups[other]))
            best[other] = cost / max(lacking[one] + lacking[other] - left, 1e-9)
        assert np.isclose(rise, min(best.values()))
        assert np.isclose(best[partner], rise)


@REAL
@given(classes())
def test_two_joined_classes_have_the_lowest_labels_that_they_share(case):
    groups, _ = case
    cells = cells_of(groups)
    join(SHAPE, cells, np.array([0]), np.array([1]))
    levels, cost = cell(groups[0] + groups[1])
    assert cells.levels[0].tolist() == levels
    assert np.isclose(cells.costs[0], cost)
    assert cells.sizes[0] == len(groups[0]) + len(groups[1])


@REAL
@given(classes())
def test_cells_are_paired_with_the_nearest_one_that_is_free(case):
    groups, _ = case
    pairs = nearest_pairs(SHAPE, cells_of(groups)).tolist()
    assert [pairs[other] for other in pairs] == list(range(len(groups)))
    free = set(range(len(groups)))
    for one in range(len(groups)):
        if one in free:
            free -= {one}
            costs = {other: cell(groups[one] + groups[other])[1] for other in free}
            assert not costs or np.isclose(costs[pairs[one]], min(costs.values()))
            free -= {pairs[one]}


@REAL
@given(classes(), st.integers(1, 3), st.sampled_from([ONE_ROW, ALL_ROWS, ONE_ROW | ALL_ROWS]))
def test_the_best_move_of_a_class_saves_most_of_all(case, least, asked):
    groups, _ = case
    leaves = np.array([one for group in groups for one in group], np.int32)
    records, order = np.ones(len(leaves), np.int64), np.arange(len(leaves))
    offsets = np.cumsum([0, *map(len, groups)])
    cells = tight_cells(SHAPE, leaves, records, order, offsets)
    assert cells.levels.tolist() == [cell(group)[0] for group in groups]
    assert np.allclose(cells.costs, [cell(group)[1] for group in groups])
    gains, movers = np.zeros(len(groups)), np.zeros(len(groups), np.int64)
    targets = np.zeros(len(leaves), np.int64)
    asks = np.full(len(groups), asked, np.int8)
    best_moves(SHAPE, leaves, records, order, offsets, cells, 0, len(groups), least, asks, gains, movers, targets)
    for c, group in enumerate(groups):
        cost = len(group) * cell(group)[1]
        rises = []
        for leaf in group:
            others = [one for other, one in enumerate(groups) if other != c]
            rises.append(min((len(one) + 1) * cell([*one, leaf])[1] - len(one) * cell(one)[1] for one in others))
        found = [0.0]
        if asked & ALL_ROWS:
            found.append(cost - sum(rises))
        if asked & ONE_ROW and len(group) > max(least, 1):
            for nth, rise in enumerate(rises):
                rest = group[:nth] + group[nth + 1 :]
                found.append(cost - len(rest) * cell(rest)[1] - rise)
        assert np.isclose(gains[c], max(found))
