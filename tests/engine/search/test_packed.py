"""Boxes in packed rows, against what a record-by-record count says of them, and against enumeration."""

from __future__ import annotations

import itertools
import math
import random
import threading
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.kernels.packed_boxes.choices import bound_of_choices
from engine.kernels.packed_boxes.lagrangian import lagrangian_bound
from engine.kernels.packed_boxes.opening import LOWER, UPPER, halved
from engine.kernels.packed_boxes.rows import Bounds
from engine.kernels.packed_boxes.tightening import tighten_box, tightest_halves
from engine.search.algorithms.optimal import _Search, optimal
from engine.search.boxes import packed_opener as packed
from engine.search.boxes.incumbent import Incumbent
from engine.search.boxes.packed_opener import PackedOpener
from engine.search.check import Checker
from tests.engine import build
from tests.engine.search.packed_walk import (
    EVERYTHING,
    MANY,
    NONE_WAITS,
    SERVED,
    WORDS,
    Boxes,
    Walk,
    begun,
    changed,
    nodes,
    served,
    sized,
)
from tests.engine.strategies import any_problems
from tests.profiles import examples
from tests.reference import boxes
from tests.reference.lattice import solve


@MANY
@given(SERVED, WORDS, st.data())
def test_a_box_is_known_exactly_however_it_was_reached(problem, word, data):
    walk = begun(problem, word)
    for _ in range(data.draw(st.integers(0, 8))):
        walk.step(data)
    behind = walk.bounds.sums.copy()
    walk.catch_up(data.draw(st.sampled_from([1, 6, 12, NONE_WAITS])))
    assert (behind <= walk.bounds.sums).all()
    walk.assert_known()


@MANY
@given(SERVED, WORDS, st.data())
def test_a_part_at_a_lowest_level_is_known_exactly_once_nothing_waits(problem, word, data):
    walk = begun(problem, word)
    for _ in range(data.draw(st.integers(0, 6))):
        walk.step(data)
    walk.bounds.probes[:, 0] = -1
    walk.probe()
    walk.catch_up(data.draw(st.sampled_from([1, 6, 12, NONE_WAITS])))
    # what was found without the rows that came is made whole, or void
    for _ in range(2):
        for (_, records, cost), gone in walk.faces():
            assert walk.bounds.sums[1] <= records <= len(gone)
            assert cost <= walk.of.cost(walk.levels[0], gone)
        walk.probe()
    walk.catch_up(NONE_WAITS)
    low, high = walk.levels
    for anew in (False, True):
        if anew:
            walk.probe()
            assert len(list(walk.faces())) == sum(a < b for a, b in zip(low, high, strict=True))
        for (_, records, cost), gone in walk.faces():
            assert (records, cost) == (len(gone), walk.of.cost(low, gone))


@MANY
@given(SERVED, WORDS, st.data())
def test_a_part_that_is_inherited_stays_right_while_rows_wait(problem, word, data):
    walk = begun(problem, word)
    walk.catch_up(data.draw(st.sampled_from([1, 6, 12])))
    walk.probe()
    low, high = walk.levels
    free = [a for a in range(len(low)) if low[a] < high[a]]
    assume(free)
    a = data.draw(st.sampled_from(free))
    wanted = walk.bounds.low.copy()
    wanted[a] += 1
    walk.bounds.probes[a, 0] = -1
    walk.lift(wanted)
    assert [b for b in free if b != a] == [b for b in free if walk.bounds.probes[b, 0] == walk.bounds.low[b]]
    for waits in (True, False):
        for ((_, records, cost), gone), part in zip(walk.faces(), walk.parts(), strict=True):
            assert records <= len(gone)
            assert waits or records == len(gone)
            # an older one may be lower than what could be known now, but no transformation is
            least = min(boxes.exact_loss(problem, x, walk.of.gone(x)) for x in nodes(*part))
            assert cost <= least * Fraction(walk.of.unit)
        walk.catch_up(NONE_WAITS)


@settings(MANY, max_examples=examples(120))
@given(SERVED, WORDS, st.data())
def test_what_is_cut_off_is_no_solution_or_costs_too_much(problem, word, data):
    walk = begun(problem, word)
    for _ in range(data.draw(st.integers(0, 3))):
        walk.step(data)
    of, whole = walk.of, walk.levels
    losses = {levels: boxes.exact_loss(problem, levels, of.gone(levels)) for levels in nodes(*whole)}
    ceiling = math.ceil(data.draw(st.sampled_from(sorted(losses.values()))) * Fraction(of.unit))
    limit = of.search.limit
    for _ in range(2):
        alive, walk.rows, _ = tighten_box(walk.rows, walk.bounds, of.minimum, limit, ceiling, of.labels)
        if not alive:
            break
        walk.catch_up(data.draw(st.sampled_from([1, 6, NONE_WAITS])))
    left = set(nodes(*walk.levels)) if alive else set()
    for levels in losses.keys() - left:
        assert len(of.gone(levels)) > limit or losses[levels] * Fraction(of.unit) > ceiling
    if alive:
        assert all(walk.bounds.sums[0] <= losses[levels] * Fraction(of.unit) for levels in left)


@pytest.mark.parametrize("bound", [lagrangian_bound, bound_of_choices])
@settings(MANY, max_examples=examples(80))
@given(problem=SERVED, word=WORDS, data=st.data())
def test_all_attributes_at_once_bound_every_solution(bound, problem, word, data):
    walk = begun(problem, word)
    for _ in range(data.draw(st.integers(0, 5))):
        walk.step(data)
    walk.catch_up(data.draw(st.sampled_from([1, 6, NONE_WAITS])))
    walk.bounds.probes[:, 0] = -1
    walk.probe()
    of = walk.of
    losses = {levels: boxes.exact_loss(problem, levels, of.gone(levels)) for levels in nodes(*walk.levels)}
    gone = {levels: len(of.gone(levels)) for levels in losses}
    # the least limit that the box may be held to, and a drawn one
    fewest = int(walk.bounds.sums[1])
    for limit in {fewest, data.draw(st.integers(fewest, len(of.records)))}:
        least, staying, rising = bound(walk.rows, walk.bounds, limit, of.labels)
        assert least >= walk.bounds.sums[0]
        for levels in (levels for levels in losses if gone[levels] <= limit):
            cost = losses[levels] * Fraction(of.unit)
            assert least <= cost
            for a, level in enumerate(levels):
                known = staying[a] if level == walk.bounds.low[a] else rising[a, level]
                assert known <= cost


@settings(MANY, max_examples=examples(60))
@given(SERVED, st.data())
def test_a_choice_of_attributes_that_suppresses_too_much_is_none(problem, data):
    walk = Walk(problem)
    for _ in range(data.draw(st.integers(0, 3))):
        walk.step(data)
    walk.catch_up(NONE_WAITS)
    walk.bounds.probes[:, 0] = -1
    walk.probe()
    of, (low, high) = walk.of, walk.levels
    free = [a for a in range(len(low)) if low[a] < high[a]]
    face = {a: set(of.gone((*high[:a], low[a], *high[a + 1 :]))) for a in free}
    limit = data.draw(st.integers(int(walk.bounds.sums[1]), len(of.records)))
    least, staying, rising = bound_of_choices(walk.rows, walk.bounds, limit, of.labels)
    plain = []
    for stay in itertools.chain.from_iterable(itertools.combinations(free, n) for n in range(len(free) + 1)):
        gone = set(of.gone(high)).union(*(face[a] for a in stay))
        if sum(record in gone for record in of.records) <= limit:
            raised = [a for a in free if a not in stay]
            rises = [int(walk.bounds.rises[a, low[a] + 1 : high[a] + 1].min()) for a in raised]
            plain.append((int(walk.bounds.sums[0]) + sum(rises), stay))
    assert least >= min(cost for cost, _ in plain)
    for a in free:
        # one that suppresses nothing of its own is not looked at: costs that are rounded down may fall by raising it
        either = face[a] == set(of.gone(high))
        assert staying[a] >= min((cost for cost, stay in plain if a in stay or either), default=EVERYTHING)
        assert rising[a, low[a] + 1] >= min(cost for cost, stay in plain if a not in stay)


def test_with_too_many_attributes_for_their_choices_there_is_a_price():
    records = [tuple(int(a == r) for a in range(13)) for r in range(13)] + [(0,) * 13] * 4
    walk = Walk(wide([2] * 13, records, 2))
    walk.catch_up(NONE_WAITS)
    walk.probe()
    arguments = (walk.rows, walk.bounds, 1, walk.of.labels)
    for one, other in zip(bound_of_choices(*arguments), lagrangian_bound(*arguments), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("bound", [lagrangian_bound, bound_of_choices])
def test_all_attributes_count_at_once(bound):
    # one record per attribute fails there; one record may be suppressed, so three of four attributes must be raised
    records = [tuple(int(a == r) for a in range(4)) for r in range(4)] + [(0, 0, 0, 0)] * 4
    walk = Walk(wide([2] * 4, records, 2))
    of = walk.of
    walk.catch_up(NONE_WAITS)
    walk.probe()
    least, staying, rising = bound(walk.rows, walk.bounds, 1, of.labels)
    rise = int(walk.bounds.rises[0, 1])
    optimum = min(of.cost(levels, of.gone(levels)) for levels in nodes(*walk.levels) if len(of.gone(levels)) <= 1)
    # of eight records one is suppressed, at the cost of all its labels: 25 eighths
    assert optimum / rise == pytest.approx(25 / 8)
    assert walk.bounds.sums[0] == 0
    assert rise * 24 / 8 <= least <= optimum
    # each alone is nothing that would have been known
    assert (walk.bounds.probes[:, 2] <= rise / 2).all()
    assert (staying <= optimum).all()
    assert (rising[:, 1] <= optimum).all()
    # raised or not, two further attributes must be raised
    assert min(int(staying.min()), int(rising[:, 1].min())) >= least


@settings(MANY, max_examples=examples(60))
@given(SERVED, st.data())
def test_a_tightened_box_keeps_no_face_that_is_known_to_be_hopeless(problem, data):
    walk = Walk(problem)
    of, limit = walk.of, walk.of.search.limit
    walk.catch_up(NONE_WAITS)
    # what is known of parts of the box before it is cut is known of other parts than afterwards
    walk.probe()
    whole = walk.levels
    some = data.draw(st.sampled_from([of.cost(levels, of.gone(levels)) for levels in nodes(*whole)]))
    alive, walk.rows, _ = tighten_box(walk.rows, walk.bounds, of.minimum, limit, some, of.labels)
    if not alive:
        # not by what is known of it now: costs that are rounded down may fall by raising
        for levels in nodes(*whole):
            gone = of.gone(levels)
            assert len(gone) > limit or boxes.exact_loss(problem, levels, gone) * Fraction(of.unit) > some
        return
    low, high = walk.levels
    assert walk.bounds.sums[0] <= some
    gone = of.gone(high)
    assert len(gone) <= limit
    for a in (a for a in range(len(low)) if low[a] < high[a]):
        assert of.cost((*low[:a], high[a], *low[a + 1 :]), gone) <= some
        face = of.gone((*high[:a], low[a], *high[a + 1 :]))
        assert len(face) <= limit
    walk.assert_known()


@MANY
@given(SERVED, WORDS, st.data())
def test_halves_know_of_themselves_what_is_right(problem, word, data):
    walk = begun(problem, word)
    walk.catch_up(data.draw(st.sampled_from([1, 6, NONE_WAITS])))
    walk.probe()
    low, high = walk.levels
    free = [a for a in range(len(low)) if low[a] < high[a]]
    assume(free)
    a, lower = data.draw(st.sampled_from(free)), data.draw(st.booleans())
    part, of = LOWER if lower else UPPER, walk.of
    walk.rows = halved(walk.rows, walk.bounds, part, a, of.minimum, EVERYTHING, of.labels)
    changed_one = (*high[:a], low[a], *high[a + 1 :]) if lower else (*low[:a], low[a] + 1, *low[a + 1 :])
    assert walk.levels == ((low, changed_one) if lower else (changed_one, high))
    walk.catch_up(NONE_WAITS)
    walk.assert_known()
    assert all(records == len(gone) for (_, records, _), gone in walk.faces())


@pytest.mark.parametrize(
    ("large", "word", "at_once", "threads", "memory"),
    [(1, 64, 999, 1, 1 << 30), (200, 6, 1, 1, 1 << 30), (2, 8, 40, 1, 1 << 30), (1, 8, 1, 2, 0), (2, 64, 999, 1, 0)],
)
@MANY
@given(problem=SERVED | sized(any_problems(measures=["loss", "precision", "height"])), data=st.data())
def test_a_search_finds_what_enumeration_finds(large, word, at_once, threads, memory, problem, data):
    heights = [len(rows[0]) - 1 for rows in problem["hierarchies"]]
    low = [data.draw(st.sampled_from([0, 0, height])) for height in heights]
    high = [data.draw(st.sampled_from([bottom, height, height])) for bottom, height in zip(low, heights, strict=True)]
    search = replace(build.search_problem(problem, low, high), threads=threads, memory=memory)
    with pytest.MonkeyPatch.context() as patch, changed(_LARGE=large, _RARE=0, WORD=word, _AT_ONCE=at_once):
        patch.setattr("engine.search.algorithms.optimal._BOXES_BETWEEN_MEMORY_CHECKS", 1)
        assume(PackedOpener.serves(search, Checker(search), search.evaluator.box_costs()))
        found = optimal(search)
    expected = solve(problem, low, high)
    assert (found is None) == (expected is None)
    if found is not None:
        assert (found.levels, found.suppressed) == (expected.levels, expected.suppressed)
        assert found.loss == pytest.approx(expected.loss, rel=1e-9, abs=1e-12)
        assert found.lower_bound == found.loss
        assert found.optimal is True


def wide(widths, records, k):
    """Return records of some attributes with many values; each has a root."""
    return {
        "records": [(tuple(f"{a}.{x}" for a, x in enumerate(values)), {"s": "x"}) for values in records],
        "hierarchies": [[(f"{a}.{x}", "*") for x in range(width)] for a, width in enumerate(widths)],
        "models": [{"model": "k-anonymity", "k": k}],
        "limit": 0.5,
        "measure": "loss",
        "combine": "sum",
        "weights": [1.0] * len(widths),
        "f": 0.5,
    }


@pytest.mark.parametrize("large", [1, 50, NONE_WAITS])
@pytest.mark.parametrize("widths", [(100, 100), pytest.param((5, 4100), marks=pytest.mark.thorough), (70, 60, 50)])
def test_a_split_into_more_cells_than_a_table_holds(widths, large):
    drawn = random.Random(len(widths))
    # half of the values are frequent, so that some cells have enough records
    records = [tuple(int(width * drawn.random() ** 4) for width in widths) for _ in range(2500)]
    walk = Walk(wide(widths, records, 3))
    walk.catch_up(large)
    walk.split(np.array([0] * len(widths)))
    walk.catch_up(large)
    walk.assert_known()
    assert 0 < walk.bounds.sums[1] < len(records)
    straight = Walk(wide(widths, records, 3))
    straight.split(np.array([0] * len(widths)))
    straight.catch_up(large)
    straight.assert_known()


@pytest.mark.parametrize("word", [10, 64])
@pytest.mark.parametrize("seed", range(12))
def test_many_rows_are_known_exactly_however_their_box_was_reached(word, seed):
    """With classes of more rows than random problems have, of which some wait while others do not."""
    drawn = random.Random(seed)
    problem = wide([12, 12, 12], [tuple(int(12 * drawn.random() ** 2) for _ in range(3)) for _ in range(500)], 4)
    problem["hierarchies"] = [
        [(leaf, f"{leaf[0]}:{x // 3}", f"{leaf[0]}::{x // 6}", "*") for x, (leaf, _) in enumerate(rows)]
        for rows in problem["hierarchies"]
    ]
    with changed(WORD=word):
        walk = Walk(problem)
    for step in range(6):
        walk.catch_up([200, 60, 25, 10][min(step, 3)])
        wanted = walk.bounds.high - np.array([drawn.random() < 0.4 for _ in range(3)])
        walk.split(np.maximum(wanted, walk.bounds.low))
        walk.lift(np.minimum(walk.bounds.low + np.array([drawn.random() < 0.2 for _ in range(3)]), walk.bounds.high))
    walk.catch_up(10)
    walk.assert_known()


def test_rows_that_differ_in_their_second_word_alone_stay_apart():
    drawn = random.Random(3)
    # 20 bits for the last four labels, of which few combinations occur: some share a slot of the table of rows
    widths = [200, 30, 30, 30, 30, 30, 30]
    records = [tuple(map(drawn.randrange, widths)) for _ in range(1500)]
    with changed(WORD=21):
        walk = Walk(wide(widths, records, 3))
    assert walk.of.tuples.tails.size
    walk.catch_up(NONE_WAITS)
    walk.lift(np.array([1, 1, 1, 0, 0, 0, 0]))
    assert not walk.rows.keys.any()
    walk.assert_known()


def test_rows_that_look_alike_are_the_same_box_merged_or_not():
    """Few of the first rows are merged, so later ones are left as they are, and merged by a raise that merges many."""
    drawn = random.Random(1)
    # the labels of the last two differ in all rows of the first classes, and look alike in those of the last
    records = [(r // 30, r % 30, 0, r % 30) for r in range(1500)]
    records += [(50 + r // 30, drawn.randrange(30), drawn.randrange(2), 0) for r in range(600)]
    walk = Walk(wide([70, 30, 2, 30], records, 3))
    walk.catch_up(NONE_WAITS)
    walk.split(np.array([0, 1, 1, 1]))
    before = walk.rows
    walk.lift(np.array([0, 0, 1, 0]))
    of, (low, high) = walk.of, walk.levels

    def merged():
        return [
            sorted(
                (key, sum(n for k, n, _ in those if k == key), sum(w for k, _, w in those if k == key)) for key in keys
            )
            for those in of.read(walk.rows, low, high)
            for keys in [{key for key, _, _ in those}]
        ]

    expected = boxes.undecided(of.records, of.problem["hierarchies"], low, high, 3, of.whole)
    assert walk.rows.keys.size > sum(map(len, expected))
    assert walk.rows.keys.size <= before.keys.size
    assert sorted(merged()) == expected
    # all rows of a class now look alike: each is one row, which cannot fail
    walk.lift(np.array([0, 1, 1, 1]))
    assert walk.rows.keys.size == 0
    assert walk.bounds.sums.tolist() == [of.cost(walk.levels[0], []), 0]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_known_of_parts_is_found_anew_once_highest_levels_are_cut(seed):
    drawn = random.Random(seed)
    records = [tuple(int(12 * drawn.random() ** 2) for _ in range(3)) for _ in range(300)]
    walk = Walk(wide([12, 12, 12], records, 4))
    of = walk.of
    walk.catch_up(NONE_WAITS)
    walk.probe()
    a = seed % 3
    # dearer at its highest level than anything, so that this is cut and nothing else
    walk.bounds.rises[a, 1] = EVERYTHING
    alive, walk.rows, _ = tighten_box(walk.rows, walk.bounds, of.minimum, len(records), EVERYTHING // 2, of.labels)
    assert alive
    assert walk.bounds.high[a] == 0
    found = list(walk.faces())
    assert len(found) == sum(walk.bounds.low < walk.bounds.high)
    assert [records for (_, records, _), _ in found] == [len(gone) for _, gone in found]


@given(st.floats(0, 1e6), st.integers(-10, 20), st.integers(1, 100))
def test_a_cost_is_rounded_down_by_little(cost, exponent, terms):
    unit = 2.0**exponent
    (whole,) = packed._rounded_down(np.array([cost]), unit, terms).tolist()
    exact = Fraction(cost) * Fraction(unit)
    assert 0 <= whole <= exact < whole + 1 + exact * (terms + 6) / 2**52


@pytest.mark.parametrize("attributes", [1, 21, 22, 42])
def test_labels_fill_words_to_their_last_bit(attributes):
    drawn = random.Random(attributes)
    kinds = [tuple(drawn.randrange(8) for _ in range(attributes)) for _ in range(6)]
    # alike but for the first attribute, or the last: no bit of either may be lost
    kinds += [(7, *kind[1:]) for kind in kinds] + [(*kind[:-1], 7) for kind in kinds]
    every_label = [(label,) * attributes for label in range(8)]
    walk = Walk(wide([8] * attributes, every_label + [drawn.choice(kinds) for _ in range(60)], 4))
    assert (walk.of.tuples.tails.size > 0) == (attributes > 21)
    walk.catch_up(NONE_WAITS)
    walk.assert_known()
    middle = np.array([a % 2 for a in range(attributes)])
    walk.split(middle)
    walk.assert_known()
    walk.lift(np.minimum(walk.bounds.low + np.array([a % 4 == 1 for a in range(attributes)]), middle))
    walk.assert_known()
    walk.split(walk.bounds.low.copy())
    walk.assert_known()


KIND = wide([3, 3], [(0, 0), (1, 2), (2, 2)], 2)
CLOSE = {"model": "t-closeness", "distance": "equal", "attribute": "s", "t": 0.5}
DISTINCT = {"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2}
AVERAGE = {"model": "average-risk", "threshold": 0.5}


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({}, True),
        ({"combine": "arithmetic-mean"}, True),
        ({"measure": "precision"}, True),
        ({"measure": "height"}, True),
        ({"models": [{"model": "k-anonymity", "k": 2}, {"model": "k-anonymity", "k": 3}]}, True),
        ({"measure": "non-uniform-entropy"}, False),
        ({"measure": "discernibility"}, False),
        ({"combine": "maximum"}, False),
        ({"combine": "geometric-mean"}, False),
        ({"combine": "rank"}, False),
        ({"models": [*KIND["models"], CLOSE]}, False),
        ({"models": [*KIND["models"], DISTINCT]}, False),
        ({"models": [*KIND["models"], AVERAGE]}, False),
    ],
)
def test_which_problems_are_of_the_kind(change, answer):
    records = [(values, {"s": s}) for (values, _), s in zip(KIND["records"], "xyx", strict=True)]
    assert served({**KIND, "records": records, **change}) is answer


@pytest.mark.parametrize(("attributes", "answer"), [(21, True), (42, True), (43, False)])
def test_labels_need_room_in_two_words(attributes, answer):
    assert served(wide([8] * attributes, [(0,) * attributes] * 2, 2)) is answer


def test_refused_records_are_not_of_the_kind():
    problem = wide([3], [(0,), (0,), (1,)], 2)
    problem["records"].append((("new",), {"s": "x"}))
    assert served({**problem, "unseen": ["root"]}) is True
    assert served({**problem, "unseen": ["suppress"]}) is False


@MANY
@given(SERVED)
def test_whole_numbers_are_rounded_down_and_near(problem):
    of = Boxes(problem)
    unit, records = Fraction(of.unit), of.records
    heights = [tree.level_count - 1 for tree in of.trees]
    terms = sum(tree.codes.shape[1] for tree in of.trees) + 4 * len(records) * len(heights)
    # each double may miss by its last bits, each whole number by one
    most = sum((of.whole.rises[a][height] for a, height in enumerate(heights)), of.whole.base) + sum(
        max((cost for by_label in levels for cost in by_label.values()), default=0) * len(records)
        for levels in of.whole.more
    )
    near = (terms + 64) * (1 + Fraction(most) / 2**52 * 8)
    for levels in {
        (0,) * len(heights),
        tuple(heights),
        *((*heights[:a], 0, *heights[a + 1 :]) for a in range(len(heights))),
    }:
        for gone in ([], records, of.gone(levels)):
            exact = boxes.exact_loss(problem, levels, gone) * unit
            whole = of.cost(levels, gone)
            assert whole <= exact
            # where suppressing is cheaper than keeping, a kept record is sure to cost no more than that
            if problem["f"] >= 0.5 or gone is records:
                assert exact - near <= whole


def test_a_measure_that_costs_next_to_nothing_has_units():
    # the attribute that weighs most has one value, which costs nothing
    problem = {**wide([1, 2], [(0, 0), (0, 0), (0, 1), (0, 1), (0, 1)], 3), "weights": [1.0, 1e-300]}
    found = optimal(build.search_problem(problem))
    assert (found.levels, found.suppressed, found.optimal) == ((0, 0), 2, True)


def test_an_attribute_is_chosen_whatever_its_costs():
    """Where values without a row share a label, the costs that are known may fall with the level."""
    one = np.array([[0, -(10**6)]])
    bounds = Bounds(np.zeros(1, np.int64), np.ones(1, np.int64), np.array([9, 0]), one, np.array([[0, 0, 9]]))
    assert tightest_halves(bounds, 3, 10) == 0


def test_a_box_that_is_taken_is_not_let_go_of():
    """One thread saves memory while another takes the box it is letting go of: that one waits until it is done."""
    search = build.search_problem(KIND)
    begun, go_on, opened = threading.Event(), threading.Event(), []

    class Held:
        bound, low, rows, bytes = (0.0,), (0, 0), "rows", 1

        def forget(self):
            begun.set()
            go_on.wait(10)
            self.rows = None

    taken, other = Held(), Held()
    opener = SimpleNamespace(open=lambda _, box: opened.append(box.rows) or [], opened=[100, 0])
    run = _Search(replace(search, memory=0), None, [Checker(search)], Incumbent(0.0), opener)
    run._pool = SimpleNamespace(waiting=lambda: [taken])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.search.algorithms.optimal._BOXES_BETWEEN_MEMORY_CHECKS", 1)
        saving = threading.Thread(target=run._open, args=(0, other))
        saving.start()
        assert begun.wait(10)
        run._pool = SimpleNamespace(waiting=list)
        opening = threading.Thread(target=run._open, args=(1, taken))
        opening.start()
        opening.join(0.2)
        assert opened == []
        go_on.set()
        saving.join(10)
        opening.join(10)
    assert sorted(map(str, opened)) == ["None", "rows"]
