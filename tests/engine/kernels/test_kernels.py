"""Kernels against plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernels.boxes import least_lost, most_classes
from engine.kernels.closeness import hierarchical_distances, ordered_distances
from engine.kernels.diversity import largest_and_tail
from engine.kernels.histograms import distinct_values, merge_histograms
from engine.kernels.refine import class_counts, refine, rows_of_classes
from engine.kernels.tuples import find_tuples, index_tuples
from tests.reference.privacy import hierarchical_distance, ordered_distance
from tests.reference.tuples import numbered

QUICK = settings(deadline=None)


@st.composite
def code_rows(draw):
    """Rows of codes: few values, so that rows repeat, or any int32."""
    width = draw(st.integers(1, 5))
    code = draw(st.sampled_from([st.integers(0, 2), st.integers(0, 2**31 - 1), st.integers(-(2**31), 2**31 - 1)]))
    rows = draw(st.lists(st.lists(code, min_size=width, max_size=width), max_size=60))
    return np.array(rows, np.int32).reshape(len(rows), width)


@QUICK
@given(code_rows())
def test_tuples_are_numbered_by_first_appearance(rows):
    group, first, slots = index_tuples(rows)
    expected_group, expected_first = numbered(rows.tolist())
    assert group.tolist() == expected_group
    assert first.tolist() == expected_first
    assert slots.size & (slots.size - 1) == 0
    assert sorted(slots[slots >= 0].tolist()) == list(range(first.size))


@QUICK
@given(code_rows(), st.data())
def test_tuples_are_found_again_and_only_those(rows, data):
    _, first, slots = index_tuples(rows)
    known = rows[first]
    strangers = data.draw(st.lists(st.lists(st.integers(0, 3), min_size=rows.shape[1], max_size=rows.shape[1])))
    asked = np.concatenate([rows, np.array(strangers, np.int32).reshape(len(strangers), rows.shape[1])])
    place = {tuple(row): number for number, row in enumerate(known.tolist())}
    assert find_tuples(asked, known, slots).tolist() == [place.get(tuple(row), -1) for row in asked.tolist()]


def test_many_tuples_collide_in_no_way():
    rows = np.stack(np.meshgrid(np.arange(60), np.arange(60), np.arange(60)), -1).reshape(-1, 3).astype(np.int32)
    group, first, slots = index_tuples(np.concatenate([rows, rows[::-1]]))
    assert first.size == len(rows)
    assert (group[len(rows) :] == group[: len(rows)][::-1]).all()
    assert (find_tuples(rows, rows, slots) == np.arange(len(rows))).all()


@st.composite
def partitions(draw):
    """Draw a partition of rows, and an attribute to refine it by."""
    rows = draw(st.integers(0, 50))
    classes = draw(st.integers(1, 8))
    width, leaves = draw(st.sampled_from([(1, 1), (3, 6), (7, 7), (400, 400)]))
    number = st.integers(0, classes - 1)
    gid = np.array(draw(st.lists(number, min_size=rows, max_size=rows)), np.int32)
    leaf = np.array(draw(st.lists(st.integers(0, leaves - 1), min_size=rows, max_size=rows)), np.int32)
    codes = np.array(draw(st.lists(st.integers(0, width - 1), min_size=leaves, max_size=leaves)), np.int32)
    return gid, classes, leaf, codes, width


def assert_refined(gid, classes, leaf, codes, width):
    refined, size = refine(gid, classes, leaf, codes, width)
    expected, first = numbered(zip(gid.tolist(), codes[leaf].tolist(), strict=True))
    assert refined.tolist() == expected
    assert size == len(first)


@QUICK
@given(partitions())
def test_refining_splits_by_class_and_code(partition):
    assert_refined(*partition)


@QUICK
@given(partitions(), st.integers(100_000, 2_000_000))
def test_refining_many_codes_takes_the_hash_table_and_finds_the_same(partition, width):
    gid, classes, leaf, codes, _ = partition
    # above 16 * rows + 1024 combinations no direct table is made; the codes are spread over the whole width
    assert classes * width > 16 * gid.size + 1024
    spread = codes * np.int32(width // 401)
    assert_refined(gid, classes, leaf, spread, width)


@QUICK
@given(partitions(), st.data())
def test_records_of_a_class_are_summed(partition, data):
    gid, classes, *_ = partition
    counts = np.array(data.draw(st.lists(st.integers(1, 2**40), min_size=gid.size, max_size=gid.size)), np.int64)
    totals = [0] * classes
    for number, count in zip(gid.tolist(), counts.tolist(), strict=True):
        totals[number] += count
    assert class_counts(gid, classes, counts).tolist() == totals


@QUICK
@given(st.lists(st.booleans(), min_size=1, max_size=5), st.data())
def test_rows_of_wanted_classes(wanted, data):
    gid = data.draw(st.lists(st.integers(0, len(wanted) - 1), max_size=30))
    found = rows_of_classes(np.array(gid, np.int32), np.array(wanted))
    assert found.tolist() == [r for r, c in enumerate(gid) if wanted[c]]


@QUICK
@given(partitions(), st.data())
def test_distinct_values_of_a_class(partition, data):
    gid, classes, *_ = partition
    # few values are marked in a table, many are not
    domain = data.draw(st.integers(1, 6) | st.just(1000))
    value = st.lists(st.integers(0, domain - 1), unique=True)
    held = data.draw(st.lists(value, min_size=gid.size, max_size=gid.size))
    offsets = np.cumsum([0, *map(len, held)]).astype(np.int64)
    values = np.array([code for codes in held for code in codes], np.int32)
    expected = defaultdict(set)
    for number, codes in zip(gid.tolist(), held, strict=True):
        expected[number].update(codes)
    found = distinct_values(gid, classes, offsets, values, domain)
    assert found.tolist() == [len(expected[number]) for number in range(classes)]


@st.composite
def histograms(draw, domain, *, least=1):
    """Draw counts of values 0 to `domain` - 1 in rows: a Counter each, with at least so many values."""
    counts = st.sampled_from([1, 2, 3, 7, 1000])
    row = st.dictionaries(st.integers(0, domain - 1), counts, min_size=min(least, domain))
    return list(map(Counter, draw(st.lists(row, min_size=1, max_size=12))))


def sparse(rows):
    """Return offsets, values and counts of rows; values ascend."""
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    pairs = [pair for row in rows for pair in sorted(row.items())]
    return offsets, np.array([v for v, _ in pairs], np.int32), np.array([c for _, c in pairs], np.int64)


@QUICK
@given(
    # few values are counted in a table, many are sorted
    (st.integers(1, 6) | st.just(1000)).flatmap(lambda domain: st.tuples(st.just(domain), histograms(domain, least=0))),
    st.data(),
)
def test_histograms_of_rows_are_merged_by_class(drawn, data):
    domain, rows = drawn
    classes = data.draw(st.integers(1, len(rows)))
    # in any order and with some class perhaps empty
    gid = data.draw(st.lists(st.integers(0, classes - 1), min_size=len(rows), max_size=len(rows)))
    expected = [Counter() for _ in range(classes)]
    for number, row in zip(gid, rows, strict=True):
        expected[number].update(row)
    found = merge_histograms(np.array(gid, np.int32), classes, *sparse(rows), domain)
    assert [part.tolist() for part in found] == [part.tolist() for part in sparse(expected)]


@QUICK
@given(histograms(8), st.integers(2, 6))
def test_the_largest_count_and_the_tail(rows, rank):
    offsets, _, counts = sparse(rows)
    largest, tail = largest_and_tail(offsets, counts, rank)
    descending = [sorted(row.values(), reverse=True) for row in rows]
    assert largest.tolist() == [row[0] for row in descending]
    assert tail.tolist() == [sum(row[rank - 1 :]) for row in descending]


def letters(row):
    """Return the records of a histogram, in the order of their codes."""
    return [chr(97 + value) for value, count in row.items() for _ in range(count)]


@QUICK
@given(histograms(6))
def test_ordered_distances(rows):
    present = sorted(set().union(*rows))
    rows = [Counter({present.index(value): count for value, count in row.items()}) for row in rows]
    table = sum(rows, Counter())
    cumulative = np.cumsum([table[value] for value in range(len(present))]).astype(np.float64)
    prefix = np.concatenate([[0.0], np.cumsum(cumulative)])
    found = ordered_distances(*sparse(rows), cumulative, prefix)
    # every term is a whole number far below 2**53, and one division is rounded correctly
    assert found.tolist() == [float(Fraction(ordered_distance(letters(row), letters(table), None))) for row in rows]


@st.composite
def trees(draw):
    """Draw the nodes of 6 values at up to 4 levels, with one root or several."""
    nodes = [list(range(6))]
    for _ in range(draw(st.integers(0, 3))):
        groups = draw(st.lists(st.integers(0, 5), min_size=6, max_size=6))
        nodes.append([groups[node] for node in nodes[-1]])
    return nodes


@QUICK
@given(histograms(6), trees())
def test_hierarchical_distances(rows, nodes):
    table = sum(rows, Counter())
    totals = np.zeros((len(nodes), 6))
    parents = np.zeros((len(nodes), 6), np.int32)
    for level, labels in enumerate(nodes):
        for value, node in enumerate(labels):
            totals[level, node] += table[value]
            parents[level, node] = nodes[level + 1][value] if level + 1 < len(nodes) else 0
    found = hierarchical_distances(*sparse(rows), np.array(nodes, np.int32), totals, parents)
    tree = [
        (chr(97 + value), *(f"{level}.{nodes[level][value]}" for level in range(1, len(nodes)))) for value in range(6)
    ]
    expected = [
        float(Fraction(hierarchical_distance(letters(row), letters(table), tree))) if len(nodes) > 1 else 0.0
        for row in rows
    ]
    assert found.tolist() == expected


def test_distances_of_very_many_records_do_not_overflow():
    # the products of class and table sizes are above 2**63
    rows = [Counter({0: 3 * 10**9}), Counter({1: 10**9, 2: 2 * 10**9})]
    cumulative = np.array([3e9, 4e9, 6e9])
    prefix = np.concatenate([[0.0], np.cumsum(cumulative)])
    # (1/2 + 1/3) / 2 for the first; the second mirrors it
    assert ordered_distances(*sparse(rows), cumulative, prefix) == pytest.approx([5 / 12, 5 / 12])


def splits(rows):
    """Return all ways to split rows into parts."""
    if not rows:
        return [[]]
    first, *others = rows
    found = []
    for parts in splits(others):
        found.append([[first], *parts])
        found += [[*parts[:i], [first, *part], *parts[i + 1 :]] for i, part in enumerate(parts)]
    return found


@QUICK
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=12), st.integers(1, 5))
def test_a_class_is_split_into_no_more_large_enough_parts_than_is_said(rows, minimum):
    held = defaultdict(list)
    kept = []
    for c, number in rows:
        if len(held[c]) < 6:
            held[c].append(number)
            kept.append((c, number))
    gid, counts = np.array([c for c, _ in kept], np.int32), np.array([n for _, n in kept], np.int64)
    most, present = most_classes(gid, 3, counts, minimum)
    possible = sum(max(sum(sum(part) >= minimum for part in parts) for parts in splits(own)) for own in held.values())
    alone = sum(n >= minimum for _, n in kept)
    assert max(possible, alone) <= most <= alone + sum(n for _, n in kept if n < minimum) // minimum
    assert present == sum(n > 0 for _, n in kept)


@QUICK
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 20), st.integers(0, 20)), max_size=12),
    st.lists(st.integers(0, 6), min_size=4, max_size=4),
)
def test_records_that_are_lost_weigh_at_least_what_the_cheapest_do(rows, wanted):
    held = [[row for row in rows if row[0] == c and row[1]] for c in range(4)]
    lost = [min(number, sum(row[1] for row in own)) for number, own in zip(wanted, held, strict=True)]
    gid, counts = np.array([row[0] for row in rows], np.int32), np.array([row[1] for row in rows], np.int64)
    weights = np.array([[row[2] for row in rows], [row[3] for row in rows]], np.float64).reshape(2, len(rows))
    found = least_lost(gid, np.array(lost), counts, weights)
    for part, sums in enumerate(found.tolist()):
        cheapest = [min((row[2 + part] / row[1] for row in own), default=0.0) for own in held]
        assert sums == pytest.approx(sum(number * cost for number, cost in zip(lost, cheapest, strict=True)))
