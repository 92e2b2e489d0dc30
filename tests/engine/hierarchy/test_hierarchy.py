"""A hierarchy as arrays: codes, shares of rows, missing values, nesting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidData
from engine.hierarchy.hierarchy import Hierarchy

ROWS = [("a", "low", "*"), ("b", "low", "*"), ("c", "high", "*")]


def test_codes_lead_from_a_leaf_to_its_label_at_each_level():
    hierarchy = Hierarchy("grade", ROWS)
    leaf = hierarchy.leaf_code("b")
    assert [hierarchy.labels[level][hierarchy.codes[level, leaf]] for level in range(3)] == ["b", "low", "*"]
    assert hierarchy.codes.shape == (3, 3)
    assert str(hierarchy.codes.dtype) == "int32"
    assert hierarchy.codes[1, hierarchy.leaf_code("a")] == hierarchy.codes[1, leaf]
    assert hierarchy.codes[1, hierarchy.leaf_code("c")] != hierarchy.codes[1, leaf]


def test_a_value_without_a_row_has_no_code():
    hierarchy = Hierarchy("grade", ROWS)
    assert hierarchy.leaf_code("d") == -1
    assert hierarchy.leaf_code("low") == -1
    assert hierarchy.leaf_code(None) == -1


def test_rows_are_counted_per_label():
    assert Hierarchy("grade", ROWS).leaf_rows().tolist() == [[1, 1, 1], [2, 2, 1], [3, 3, 3]]


def test_a_leaf_in_two_rows_counts_twice_in_the_domain_and_in_shares():
    """Definitions: a label that stands in several rows counts each time (fars iage)."""
    hierarchy = Hierarchy("grade", [*ROWS, ROWS[0]])
    assert hierarchy.domain_size == 4
    assert hierarchy.labels[0] == ("a", "b", "c")
    assert hierarchy.leaf_rows().tolist() == [[2, 1, 1], [3, 3, 1], [4, 4, 4]]


def test_two_different_rows_of_one_leaf_are_no_function():
    with pytest.raises(InvalidData, match=r"row 4 gives the label of level 0 another parent at level 1 than row 1"):
        Hierarchy("grade", [*ROWS, ("a", "high", "*")])


def test_broken_nesting_names_column_row_and_level_and_no_value():
    rows = [("secret-1", "x", "p"), ("secret-2", "y", "q"), ("secret-3", "x", "q")]
    with pytest.raises(
        InvalidData, match=r"'grade': row 3 gives the label of level 1 another parent at level 2 than row 1"
    ):
        Hierarchy("grade", rows)
    with pytest.raises(InvalidData) as caught:
        Hierarchy("grade", rows)
    assert not any(value in str(caught.value) for row in rows for value in (row[0], f"'{row[1]}'", f"'{row[2]}'"))


def test_a_missing_value_stays_missing_until_it_joins_the_root():
    hierarchy = Hierarchy("grade", ROWS, with_null=True)
    missing = hierarchy.leaf_code(None)
    assert [hierarchy.labels[level][hierarchy.codes[level, missing]] for level in range(3)] == [None, None, "*"]
    assert hierarchy.domain_size == 4
    assert hierarchy.root_is_suppressed
    assert hierarchy.leaf_rows()[:, missing].tolist() == [1, 1, 4]


def test_a_missing_value_has_no_root_to_join_among_two():
    hierarchy = Hierarchy("grade", [row[:2] for row in ROWS], with_null=True)
    assert hierarchy.labels[1] == ("low", "high", None)
    assert not hierarchy.root_is_suppressed


def test_a_missing_value_does_not_join_the_only_leaf():
    hierarchy = Hierarchy("grade", [("a",)], with_null=True)
    assert hierarchy.labels == (("a", None),)


def test_another_root_than_the_star_is_not_suppressed():
    assert not Hierarchy("grade", [("a", "any"), ("b", "any")]).root_is_suppressed


@given(
    leaves=st.lists(st.text(max_size=3), min_size=1, max_size=20),
    first=st.lists(st.integers(0, 4), min_size=20, max_size=20),
    null=st.booleans(),
)
def test_arrays_agree_with_counting_the_rows(leaves, first, null):
    group = dict(zip(leaves, first, strict=False))
    rows = [(leaf, f"g{group[leaf]}", "even" if group[leaf] % 2 == 0 else "odd") for leaf in leaves]
    hierarchy = Hierarchy("column", rows, with_null=null)
    assert hierarchy.domain_size == len(rows) + null
    for row in rows:
        leaf = hierarchy.leaf_code(row[0])
        for level, label in enumerate(row):
            assert hierarchy.labels[level][hierarchy.codes[level, leaf]] == label
            # A missing value joins a root only where there is one.
            joins = null and level == 2 and len({other[2] for other in rows}) == 1
            assert hierarchy.leaf_rows()[level, leaf] == sum(other[level] == label for other in rows) + joins
