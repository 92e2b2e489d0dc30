"""Domains: which bits keep which values apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidData, InvalidJob
from engine.frontiers.search.exploration import policies
from engine.frontiers.space.domain import policy_space
from engine.hierarchy.hierarchy import Hierarchy
from tests.engine.frontiers.spaces import TREES, groups_of, space_of


def cuts(rows, level):
    """Return all partitions of the rows below a node of the tree into subtrees, by plain recursion."""
    leaves = frozenset(row[0] for row in rows)
    if len(leaves) == 1:
        return {frozenset([leaves])}
    children = {}
    for row in rows:
        children.setdefault(row[level - 1], []).append(row)
    finer = [cuts(below, level - 1) for below in children.values()]
    apart = {frozenset().union(*parts) for parts in itertools.product(*finer)}
    return apart | {frozenset([leaves])}


def all_cuts(rows):
    """Return those of a forest: its roots stay apart."""
    top = len(rows[0]) - 1
    roots = {}
    for row in rows:
        roots.setdefault(row[top], []).append(row)
    return {frozenset().union(*parts) for parts in itertools.product(*(cuts(below, top) for below in roots.values()))}


def partition(domain, groups):
    return frozenset(
        frozenset(domain.labels[i] for i in range(domain.size) if groups[i] == group) for group in set(groups)
    )


@pytest.mark.parametrize("rows", TREES)
def test_policies_of_a_tree_are_its_cuts(rows):
    space = space_of([rows])
    found = [partition(space.domains[0], groups_of(space, bits)[0]) for bits in policies(space.parents)]
    assert len(set(found)) == len(found) == space.count
    assert set(found) == all_cuts(rows)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_policies_of_an_order_are_its_runs(size):
    space = space_of([size])
    found = {groups_of(space, bits)[0] for bits in policies(space.parents)}
    assert len(found) == space.count == 2 ** (size - 1)
    assert all(set(np.diff(groups)) <= {0, 1} and groups[0] == 0 for groups in found)


def test_order_is_of_the_type_and_missing_values_come_first():
    hierarchy = Hierarchy("age", [("10", "*"), ("9", "*"), ("-1", "*")], with_null=True)
    domain = policy_space([hierarchy], ["age"], {"age": "integer"}).domains[0]
    assert domain.labels == (None, "-1", "9", "10")
    assert domain.leaf_positions.tolist() == [3, 2, 1, 0]


def test_leaf_positions_of_a_tree():
    hierarchy = Hierarchy("q", TREES[0])
    domain = policy_space([hierarchy], ["q"], {}).domains[0]
    assert [domain.labels[p] for p in domain.leaf_positions] == list(hierarchy.labels[0])
    assert sorted(domain.names) == ["*", "p", "q"]
    assert all(parent < bit for bit, parent in enumerate(domain.parents.tolist()))


@given(st.lists(st.sampled_from([2, 4, *TREES]), min_size=1, max_size=3), st.data())
def test_closed_bits_make_the_same_groups(parts, data):
    space = space_of(parts)
    bits = np.array(data.draw(st.lists(st.booleans(), min_size=space.size, max_size=space.size)), np.bool_)
    closed = space.closed(bits)
    assert groups_of(space, closed) == groups_of(space, bits)
    assert all(closed[parent] for bit, parent in enumerate(space.parents.tolist()) if closed[bit] and parent >= 0)
    assert (closed <= bits).all()
    assert np.array_equal(space.closed(closed), closed)


def test_text_is_no_integer():
    with pytest.raises(InvalidData, match=r"attributes\.age\.order"):
        policy_space([Hierarchy("age", [("young", "*"), ("1", "*")])], ["age"], {"age": "integer"})


def test_values_without_an_entry_have_no_place_in_an_order():
    hierarchy = Hierarchy("age", [("1", "*"), ("2", "*")], with_unseen=True)
    with pytest.raises(InvalidJob, match=r"attributes\.age"):
        policy_space([hierarchy], ["age"], {"age": "integer"})
    tree = policy_space([hierarchy], ["age"], {})
    assert len(set(groups_of(tree, tree.bottom)[0])) == 3
    assert set(groups_of(tree, tree.top)[0]) == {0}
