"""Kernels against plain Python."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernels.histograms import distinct_values
from engine.kernels.refine import class_counts, refine
from engine.kernels.tuples import find_tuples, index_tuples
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
@given(partitions(), st.data())
def test_distinct_values_of_a_class(partition, data):
    gid, classes, *_ = partition
    domain = data.draw(st.integers(1, 6))
    value = st.lists(st.integers(0, domain - 1), unique=True)
    held = data.draw(st.lists(value, min_size=gid.size, max_size=gid.size))
    offsets = np.cumsum([0, *map(len, held)]).astype(np.int64)
    values = np.array([code for codes in held for code in codes], np.int32)
    expected = defaultdict(set)
    for number, codes in zip(gid.tolist(), held, strict=True):
        expected[number].update(codes)
    found = distinct_values(gid, classes, offsets, values, domain)
    assert found.tolist() == [len(expected[number]) for number in range(classes)]
