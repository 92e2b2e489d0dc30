"""Cut points and equal widths: intervals whose ends stand in the job."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidJob
from engine.hierarchy.builders.cuts import CutPoints


def test_each_value_is_in_the_interval_that_holds_it(build, rows_of):
    builder = build(builder="cuts", cuts=[[18, 30, 45.5], [30]])
    assert rows_of(builder, ["17.99", "18", "30", "45.50", "-3", "x", "1e99"]) == [
        ("17.99", "< 18", "< 30", "*"),
        ("18", "[18, 30[", "< 30", "*"),
        ("30", "[30, 45.5[", ">= 30", "*"),
        ("45.50", ">= 45.5", ">= 30", "*"),
        ("-3", "< 18", "< 30", "*"),
    ]
    assert not builder.is_label("[18, 45.5[", 1)
    assert not builder.is_label("< 18", 2)


@given(st.lists(st.integers(-1000, 1000), min_size=1, unique=True).map(sorted), st.integers(-1100, 1100))
def test_an_interval_holds_its_values_and_no_others(cuts, number):
    (row,) = CutPoints(cuts=(tuple(cuts),)).rows([str(number)])
    below, above = [cut for cut in cuts if cut <= number], [cut for cut in cuts if cut > number]
    expected = f"< {cuts[0]}" if not below else f">= {cuts[-1]}" if not above else f"[{below[-1]}, {above[0]}["
    assert row == (str(number), expected, "*")


@pytest.mark.parametrize(
    ("cuts", "text"),
    [
        ([[5, 3]], "cuts.0: must ascend"),
        ([[1, 2], [3]], r"cuts.1: 3 is no cut of cuts.0"),
        ([[1, 2], [1, 2]], "cuts.1: is the same as cuts.0"),
        ([[]], "needs at least 1 entry"),
    ],
)
def test_cuts_that_do_not_nest(build, cuts, text):
    with pytest.raises(InvalidJob, match=text):
        build(builder="cuts", cuts=cuts)


def test_equal_widths(build, rows_of):
    builder = build(builder="equal-width", lower=0, upper=120, bins=[24, 6, 2])
    assert rows_of(builder, ["37.5", "0", "120", "-1", "?"]) == [
        ("37.5", "[35, 40[", "[20, 40[", "[0, 60[", "*"),
        ("0", "[0, 5[", "[0, 20[", "[0, 60[", "*"),
        ("120", ">= 120", ">= 120", ">= 120", "*"),
        ("-1", "< 0", "< 0", "< 0", "*"),
    ]
    assert len({builder.rows([str(number)])[0][1] for number in range(120)}) == 24


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"lower": 5, "upper": 5, "bins": [2]}, "upper is 5; it must be above lower"),
        ({"lower": 0, "upper": 12, "bins": [6, 4]}, "bins.1 is 4; it must divide bins.0, 6"),
        ({"lower": 0, "upper": 10, "bins": [3]}, "bins.0 is 3, which gives a width without a last digit"),
        ({"lower": 0, "upper": 10, "bins": []}, "needs at least 1 entry"),
    ],
)
def test_widths_that_do_not_nest(build, keys, text):
    with pytest.raises(InvalidJob, match=text):
        build(builder="equal-width", **keys)
