"""What t-closeness implies for the size and the values of a class, against all classes that can be."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.privacy.models.t_closeness import TCloseness, _least_in_tree
from tests.engine import build
from tests.engine.strategies import hierarchies
from tests.profiles import examples
from tests.reference.privacy import DISTANCES, hierarchical_distance, ordered_distance

THOROUGH = settings(deadline=None, max_examples=examples(200))
names = st.sampled_from(sorted(DISTANCES))


@st.composite
def tables(draw, most=12):
    """Draw the sensitive values of classes, and a tree with one root; several values share most nodes."""
    tree = [(*row, "any s") for row in draw(hierarchies("s"))]
    value = st.sampled_from([row[0] for row in tree])
    records = draw(st.lists(value, min_size=1, max_size=most))
    bounds = sorted(draw(st.sets(st.integers(1, len(records)), max_size=3)) | {0, len(records)})
    return [records[low:high] for low, high in itertools.pairwise(bounds)], tree


def counted(classes, tree):
    """Return the partition whose classes are given."""
    labels = [f"a{number}" for number in range(len(classes))]
    records = [((label,), {"s": s}) for label, members in zip(labels, classes, strict=True) for s in members]
    problem = {"records": records, "hierarchies": [[(label,) for label in labels]], "tree": tree}
    return build.counted(problem).partition((0,))


def parts(members):
    """Return every multiset of a class's records that holds at least one."""
    held = sorted(Counter(members).items())
    for counts in itertools.product(*(range(count + 1) for _, count in held)):
        if any(counts):
            yield [value for (value, _), count in zip(held, counts, strict=True) for _ in range(count)]


def distances_of_parts(members, table, distance, tree):
    """Return the size and the distance of each part, the distance correctly rounded."""
    return [(len(part), float(Fraction(DISTANCES[distance](part, table, tree)))) for part in parts(members)]


def closeness(distance, t):
    return TCloseness(distance=distance, attribute="s", t=t)


@THOROUGH
@given(tables(), names, st.data())
def test_the_least_size_is_that_of_the_smallest_records_of_the_table_within_t(drawn, distance, data):
    classes, tree = drawn
    table = [value for members in classes for value in members]
    found = distances_of_parts(table, table, distance, tree)
    # a limit that some class meets exactly, or any
    t = data.draw(st.sampled_from([d for _, d in found]) | st.floats(0, 1))
    expected = min(size for size, d in found if d <= t)
    assert closeness(distance, t).least_class_size(counted(classes, tree).histogram("s")) == expected


@THOROUGH
@given(tables(), names, st.integers(1, 5), st.data())
def test_no_part_of_a_class_within_t_is_larger_than_what_is_kept(drawn, distance, least, data):
    classes, tree = drawn
    table = [value for members in classes for value in members]
    found = [distances_of_parts(members, table, distance, tree) for members in classes]
    t = data.draw(st.sampled_from([d for of_class in found for _, d in of_class]) | st.floats(0, 1))
    kept = closeness(distance, t).most_kept(counted(classes, tree), least)
    for most, of_class in zip(kept.tolist(), found, strict=True):
        assert max((size for size, d in of_class if size >= least and d <= t), default=0) <= most


@THOROUGH
@given(tables(), names, st.data())
def test_a_class_is_kept_as_a_whole_just_when_it_is_not_violated(drawn, distance, data):
    classes, tree = drawn
    partition = counted(classes, tree)
    table = [value for members in classes for value in members]
    exact = [float(Fraction(DISTANCES[distance](members, table, tree))) for members in classes]
    model = closeness(distance, data.draw(st.sampled_from(exact) | st.floats(0, 1)))
    for least in {len(members) for members in classes}:
        judged = zip(classes, model.most_kept(partition, least), model.violated(partition), strict=True)
        for members, most, violated in judged:
            assert len(members) < least or (most == len(members)) == (not violated)
            assert most == 0 or least <= most <= len(members)


def lacking(members, table, nodes, part):
    """Return the least distance in a tree that a part of so many records can have, by what its nodes lack at least."""
    total = Fraction(0)
    for level in nodes:
        own, all_records = Counter(level[s] for s in members), Counter(level[s] for s in table)
        for node, records in all_records.items():
            total += max(Fraction(0), Fraction(records, len(table)) - Fraction(own[node], part))
    return total / len(nodes)


def out_of_order(members, table, part):
    """Return the least ordered distance that a part of so many records can have, value by value."""
    present = sorted(set(table))
    total = Fraction(0)
    for value in present[:-1]:
        below, wanted = sum(s <= value for s in members), Fraction(sum(s <= value for s in table), len(table))
        least = max(Fraction(0), 1 - Fraction(len(members) - below, part))
        total += max(least - wanted, wanted - min(Fraction(1), Fraction(below, part)), Fraction(0))
    return total / max(1, len(present) - 1)


@THOROUGH
@given(tables(most=40), names, st.integers(1, 6), st.data())
def test_what_is_kept_is_the_largest_part_that_may_be_near_enough(drawn, distance, least, data):
    classes, tree = drawn
    table = [value for members in classes for value in members]
    path = {row[0]: row for row in tree}
    nodes = [{value: path[value][level] for value in path} for level in range(len(tree[0]) - 1)]
    bounds = []
    for members in classes:
        if distance == "ordered":
            bounds.append({n: out_of_order(members, table, n) for n in range(1, len(members) + 1)})
        else:
            levels = nodes[:1] if distance == "equal" else nodes
            bounds.append({n: lacking(members, table, levels, n) for n in range(1, len(members) + 1)})
    t = data.draw(st.sampled_from([float(d) for of_class in bounds for d in of_class.values()]) | st.floats(0, 1))
    kept = closeness(distance, t).most_kept(counted(classes, tree), least).tolist()
    if distance == "ordered":
        # between two values of the class a share may differ for each value here, but not in a part
        for most, of_class in zip(kept, bounds, strict=True):
            assert most <= max((n for n, d in of_class.items() if n >= least and float(d) <= t), default=0)
    else:
        assert kept == [
            max((n for n, d in of_class.items() if n >= least and float(d) <= t), default=0) for of_class in bounds
        ]


@THOROUGH
@given(tables(most=20), st.data())
def test_without_a_least_size_every_record_of_the_table_moves_to_the_nearest_value_of_the_class(drawn, data):
    classes, tree = drawn
    table = [value for members in classes for value in members]
    present = sorted(set(table))
    path = {row[0]: row for row in tree}
    height = len(tree[0]) - 1

    def climb(value, other):
        return next(level for level in range(height + 1) if path[value][level] == path[other][level])

    grounds = {
        "equal": lambda value, other: Fraction(value != other),
        "ordered": lambda value, other: Fraction(
            abs(present.index(value) - present.index(other)), max(1, len(present) - 1)
        ),
        "hierarchical": lambda value, other: Fraction(climb(value, other), height),
    }
    distance = data.draw(names)
    ground = grounds[distance]
    nearest = [sum(min(ground(v, own) for own in members) for v in table) / len(table) for members in classes]
    t = data.draw(st.sampled_from([float(d) for d in nearest]) | st.floats(0, 1))
    kept = closeness(distance, t).most_kept(counted(classes, tree), 1)
    assert (kept == 0).tolist() == [float(d) > t for d in nearest]


@pytest.mark.parametrize(
    ("distance", "t", "expected"),
    [
        # cumulative shares of 1/2 and 5/6: met by 6 records; 2, 3 and 4 miss by 0 + 1/6, 1/6 + 1/6 and 0 + 1/12
        ("ordered", 0.0, 6),
        ("ordered", 1 / 12 - 1e-9, 4),
        ("ordered", 1 / 12, 2),
        # one record of the first value: half of the table lies elsewhere; of the middle one: 1/2 + 1/6 over two steps
        ("equal", 0.5, 1),
        ("equal", 0.49, 2),
        ("ordered", 1 / 3, 1),
    ],
)
def test_the_least_size_of_three_values(distance, t, expected):
    partition = counted([["s0"] * 3 + ["s1"] * 2 + ["s2"]], [(f"s{i}", "any s") for i in range(3)])
    assert closeness(distance, t).least_class_size(partition.histogram("s")) == expected


def test_the_least_size_is_not_sought_for_ever():
    # only all 10007 records have exactly the shares of the table
    histogram = SimpleNamespace(totals=np.array([1, 10006]), hierarchy=None)
    assert closeness("equal", 0.0).least_class_size(histogram) == 4096
    assert closeness("ordered", 0.0).least_class_size(histogram) == 4096


def test_a_class_without_records_is_at_no_distance():
    tree = [("s0", "any s"), ("s1", "any s")]
    whole = counted([["s0", "s0"], ["s1"]], tree).histogram("s")
    histogram = SimpleNamespace(
        offsets=np.array([0, 0, 1, 1, 2, 2]),
        values=whole.values,
        counts=whole.counts,
        totals=whole.totals,
        labels=whole.labels,
        hierarchy=whole.hierarchy,
    )
    partition = SimpleNamespace(counts=np.array([0, 2, 0, 1, 0]), histogram=lambda _: histogram)
    for distance in DISTANCES:
        model = closeness(distance, 0.5)
        assert model.violated(partition).tolist() == [False, False, False, True, False]
        assert model.most_kept(partition, 1).tolist() == [0, 2, 0, 0, 0]


@pytest.mark.parametrize(("levels_below", "on_the_left"), [(1, 4), (2, 5)])
def test_a_node_may_hold_more_than_its_fair_share_rounded_up(levels_below, on_the_left):
    # of 5 records the fair share of a value is 4/5 on the left and 1/5 on the right, that of the left node is 4
    sides = ["left"] * 5 + ["right"] * 5
    tree = [(f"s{i}", *[f"s{i}."] * (levels_below - 1), side, "any s") for i, side in enumerate(sides)]
    table = [row[0] for row, side in zip(tree, sides, strict=True) for _ in range(4 if side == "left" else 1)]
    histogram = counted([table], tree).histogram("s")
    nodes = histogram.hierarchy.codes[:-1, [histogram.hierarchy.leaf_code(label) for label in histogram.labels]]
    possible = itertools.combinations_with_replacement([row[0] for row in tree], 5)
    found = [(hierarchical_distance(part, table, tree), part) for part in possible]
    least = min(distance for distance, _ in found)
    assert {sum(s < "s5" for s in part) for distance, part in found if distance == least} == {on_the_left}
    assert _least_in_tree(nodes, histogram.totals, 5) == float(least)


def test_the_ordered_bound_lies_between_those_of_values_and_of_counts():
    # a part of two of {s0, s0, s2}: its share of s0 is 1/2 or 1, that of s2 at most 1/2
    tree = [(f"s{i}", "any s") for i in range(3)]
    table = ["s0", "s0", "s2", "s1", "s1", "s1"]
    partition = counted([table[:3], table[3:]], tree)
    best = min(Fraction(ordered_distance(part, table, None)) for part in (["s0", "s0"], ["s0", "s2"]))
    # the whole class is as near
    assert ordered_distance(table[:3], table, None) == best
    assert closeness("ordered", float(best)).most_kept(partition, 2)[0] == 3
    assert closeness("ordered", float(best) - 1e-9).most_kept(partition, 2)[0] == 0
