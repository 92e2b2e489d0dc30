"""Stores of predictive properties against a set of all insertions."""

from __future__ import annotations

import itertools
import random
from operator import sub
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernels.prefix_tree import HEIGHTS, LEAF, NONE, RANKED, STORED, USED
from engine.lattice.orientation import Inherited
from engine.lattice.prefix_tree import PrefixTree
from engine.lattice.properties import STORES, StoreName, property_store
from engine.lattice.property_list import PropertyList
from engine.lattice.ranked_prefix_tree import RankedPrefixTree
from engine.lattice.space import Lattice
from tests.reference.properties import Inserted, least_rests

QUICK = settings(deadline=None)
DIRECTIONS = get_args(Inherited)

both_directions = pytest.mark.parametrize("inherited", DIRECTIONS)
every_store = pytest.mark.parametrize("name", STORES)
trees = pytest.mark.parametrize("name", ["prefix-tree", "ranked-prefix-tree"])


def nodes_of(lattice):
    """All transformations of a lattice."""
    return itertools.product(*(range(low, high + 1) for low, high in zip(lattice.low, lattice.high, strict=True)))


@st.composite
def sequences(draw):
    """Draw a lattice, nodes to insert one after the other, and nodes to ask for."""
    bounds = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=6))
    low = tuple(bottom for bottom, _ in bounds)
    lattice = Lattice(low, tuple(bottom + more for bottom, more in bounds))
    node = st.tuples(*(st.integers(low, high) for low, high in zip(lattice.low, lattice.high, strict=True)))
    inserted = draw(st.lists(node, max_size=25))
    asked = list(nodes_of(lattice)) if lattice.size <= 64 else draw(st.lists(node, max_size=25))
    return lattice, inserted, asked


def distances(lattice, inherited, levels):
    """Return the levels counted from the end of the lattice that implies everything."""
    return tuple(map(sub, levels, lattice.low) if inherited == "upwards" else map(sub, lattice.high, levels))


def walk(tree, m, block=None, prefix=()):
    """Yield every prefix in a tree, the position of its slot and the number of levels of its block."""
    height = int(tree[HEIGHTS + len(prefix)])
    block = HEIGHTS + 2 * m if block is None else block
    for level in range(height):
        child = int(tree[block + level])
        if child != NONE:
            yield (*prefix, level), block + level, height
            if len(prefix) + 1 < m:
                yield from walk(tree, m, child, (*prefix, level))
            else:
                assert child == LEAF


def spare(tree, m):
    """Count the positions of blocks that were given up."""
    width = 1 + int(tree[RANKED])
    total = 0
    for depth in range(m):
        block = int(tree[HEIGHTS + m + depth])
        while block != NONE:
            total += width * int(tree[HEIGHTS + depth])
            block = int(tree[block])
    return total


def stored_in(store, m):
    """Read what is stored, as distances, out of the store's arrays; fail on an inconsistent tree."""
    if isinstance(store, PropertyList):
        return [tuple(row) for row in store._nodes[: len(store)].tolist()]
    tree = store._tree
    found = {prefix: (slot, height) for prefix, slot, height in walk(tree, m)}
    vectors = [prefix for prefix in found if len(prefix) == m]
    assert tree[STORED] == len(vectors)
    width = 1 + int(tree[RANKED])
    blocks = {(): HEIGHTS + 2 * m} | {prefix: int(tree[slot]) for prefix, (slot, _) in found.items() if len(prefix) < m}
    in_blocks = sum(width * int(tree[HEIGHTS + len(prefix)]) for prefix in blocks)
    assert HEIGHTS + 2 * m + in_blocks + spare(tree, m) == tree[USED] <= tree.size
    if tree[RANKED]:
        assert {prefix: int(tree[slot + height]) for prefix, (slot, height) in found.items()} == least_rests(vectors)
    # a block that nothing is stored below would have been found as a prefix of no vector
    assert set(found) == {vector[:length] for vector in vectors for length in range(1, m + 1)}
    return vectors


def assert_same(store, oracle, lattice, inherited, asked):
    """Compare a store with the oracle: answers, what is stored, and the inside of a tree."""
    assert [levels in store for levels in asked] == [levels in oracle for levels in asked]
    stored = stored_in(store, len(lattice.low))
    assert len(stored) == len(store)
    expected = {distances(lattice, inherited, levels) for levels in oracle.nodes}
    if type(store) is not PropertyList:
        expected = {distances(lattice, inherited, levels) for levels in oracle.antichain()}
        assert len(store) == len(expected)
    assert set(stored) == expected


@both_directions
@every_store
@QUICK
@given(sequence=sequences())
def test_answers_and_the_invariant_hold_after_every_insertion(name, inherited, sequence):
    lattice, inserted, asked = sequence
    store, oracle = property_store(lattice, inherited, name), Inserted(inherited)
    assert_same(store, oracle, lattice, inherited, asked)
    for levels in inserted:
        store.insert(levels)
        oracle.insert(levels)
        assert_same(store, oracle, lattice, inherited, [*asked, *inserted])


@both_directions
@QUICK
@given(sequence=sequences())
def test_an_implied_transformation_changes_no_tree(inherited, sequence):
    lattice, inserted, asked = sequence
    store = property_store(lattice, inherited)
    for levels in inserted:
        store.insert(levels)
    before = store._tree[: store._tree[USED]].tolist()
    for levels in [*inserted, *(levels for levels in asked if levels in store)]:
        store.insert(levels)
    assert store._tree[: store._tree[USED]].tolist() == before


@both_directions
@every_store
@pytest.mark.parametrize("seed", range(3))
def test_many_insertions_into_one_lattice(name, inherited, seed):
    """Early transformations are on average implied by later ones, so that much is removed."""
    chance = random.Random(seed)
    lattice = Lattice((0, 1, 0, 2), (4, 3, 5, 4))
    nodes = list(nodes_of(lattice))
    away = sorted(nodes, key=lambda levels: -sum(distances(lattice, inherited, levels)) + chance.uniform(-4, 4))
    store, oracle = property_store(lattice, inherited, name), Inserted(inherited)
    for step, levels in enumerate(away):
        store.insert(levels)
        oracle.insert(levels)
        if step % 30 == 0:
            assert_same(store, oracle, lattice, inherited, nodes)


@QUICK
@given(sequence=sequences())
def test_the_order_of_insertion_does_not_matter(sequence):
    lattice, inserted, asked = sequence
    answers = []
    for order in (inserted, inserted[::-1]):
        store = property_store(lattice, "upwards")
        for levels in order:
            store.insert(levels)
        answers.append((sorted(stored_in(store, len(lattice.low))), [levels in store for levels in asked]))
    assert answers[0] == answers[1]


@every_store
def test_the_example_of_the_paper(name):
    """Prasser et al. 2016, figure 3: three transformations, of which (1, 1, 1) implies (1, 2, 2)."""
    store = property_store(Lattice((0, 0, 0), (3, 3, 3)), "upwards", name)
    for levels in ((1, 1, 1), (1, 3, 0), (3, 2, 0)):
        store.insert(levels)
    assert len(store) == 3
    assert (1, 2, 2) in store
    assert (2, 2, 0) not in store
    assert (0, 3, 3) not in store


def test_ranks_of_the_example_of_the_paper():
    """The paper's minimum is that of whole transformations: the levels of the prefix and the rank of the slot."""
    store = RankedPrefixTree(Lattice((0, 0, 0), (3, 3, 3)), "upwards")
    for levels in ((1, 1, 1), (1, 3, 0), (3, 2, 0)):
        store.insert(levels)
    tree = store._tree
    minima = {prefix: sum(prefix) + int(tree[slot + height]) for prefix, slot, height in walk(tree, 3)}
    assert minima[1,] == 3
    assert minima[3,] == 5
    assert minima[1, 3] == 4


@both_directions
@trees
def test_a_large_antichain_grows_the_tree_until_one_transformation_implies_it(name, inherited):
    lattice = Lattice((0,) * 5, (5,) * 5)
    middle = [levels for levels in nodes_of(lattice) if sum(levels) == 12]
    random.Random(1).shuffle(middle)
    start, end = (lattice.low, lattice.high) if inherited == "upwards" else (lattice.high, lattice.low)
    store = property_store(lattice, inherited, name)
    first = store._tree.size
    for levels in middle:
        store.insert(levels)
    assert len(store) == len(middle)
    assert stored_in(store, 5)
    assert store._tree.size > 8 * first
    assert all(levels in store for levels in middle)
    store.insert(start)
    assert len(store) == 1
    assert end in store
    assert stored_in(store, 5) == [(0,) * 5]


@both_directions
@trees
def test_blocks_that_were_given_up_are_used_again(name, inherited):
    """Layers inserted towards the implying end: each replaces the one before, so memory follows the largest one."""
    lattice = Lattice((0,) * 4, (4,) * 4)
    ranks = range(16, -1, -1) if inherited == "upwards" else range(17)
    store = property_store(lattice, inherited, name)
    alone = []
    for rank in ranks:
        layer = [levels for levels in nodes_of(lattice) if sum(levels) == rank]
        fresh = property_store(lattice, inherited, name)
        for levels in layer:
            store.insert(levels)
            fresh.insert(levels)
        assert sorted(stored_in(store, 4)) == sorted(stored_in(fresh, 4))
        alone.append(int(fresh._tree[USED]))
    # while a layer is inserted, parts of the one before are still there
    assert int(store._tree[USED]) <= 2 * max(alone)


def test_offsets_that_do_not_fit_are_refused():
    store = PrefixTree(Lattice((0, 0), (3, 3)), "upwards")
    store._tree[USED] = np.iinfo(np.int32).max - 3
    with pytest.raises(MemoryError, match="2147483647 positions"):
        store.insert((1, 1))


def test_every_named_store_is_registered():
    assert set(STORES) == set(get_args(StoreName))
    assert type(property_store(Lattice((0,), (3,)), "upwards")) is RankedPrefixTree
