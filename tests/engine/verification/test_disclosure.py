"""The recount of delta-disclosure privacy and beta-likeness, by hand."""

from __future__ import annotations

import math

import pytest

from engine import recount
from tests.engine.verification.verified import disclosure, letters, likeness, released


@pytest.mark.parametrize(
    ("delta", "holds"),
    # twice as frequent is one bit, and less than that is demanded
    [(1.0, False), (1.0 + 1e-9, True), (0.9, False)],
)
def test_delta_disclosure(delta, holds):
    finding = recount(released({"x": ["a", "a"], "*": ["b", "b"]}), ["q"], disclosure(delta))
    assert (finding.holds, finding.observed, finding.required) == (holds, 1.0, delta)


def test_delta_disclosure_accepts_rounding_where_there_is_no_equality():
    """Three times as frequent is log2(3) bits, which no double is: the last digit of the bound decides nothing."""
    table = released({"x": ["a", "a"], "*": letters(0, 4)})
    assert recount(table, ["q"], disclosure(math.nextafter(math.log2(3), 0))).holds is True
    assert recount(table, ["q"], disclosure(math.log2(3) - 1e-10)).holds is False


def test_delta_disclosure_of_rare_values():
    """A value of half the table is an eighth of the class: two bits, though no value is more frequent by as much."""
    table = released({"x": letters(1, 7), "y": letters(7, 1)})
    assert recount(table, ["q"], disclosure(2.0)).holds is False
    assert recount(table, ["q"], disclosure(2.5)).holds is True
    assert recount(table, ["q"], disclosure(2.5)).observed == 2.0


def test_strict_delta_disclosure_fails_a_class_that_lacks_a_value():
    table = released({"x": ["a", "a"], "*": ["b", "b"]})
    assert recount(table, ["q"], disclosure(5.0)).holds is True
    assert recount(table, ["q"], disclosure(5.0, strict=True)).holds is False


@pytest.mark.parametrize(
    ("variant", "beta", "holds"),
    [
        ("basic", 3.0, True),
        ("basic", 2.999, False),
        # q is a quarter, -ln q less than 1.4
        ("enhanced", 3.0, False),
    ],
)
def test_beta_likeness(variant, beta, holds):
    """All of one value where the table has a quarter of it: three times as much again."""
    finding = recount(released({"x": ["a", "a"], "*": letters(0, 6)}), ["q"], likeness(variant, beta))
    assert (finding.holds, finding.observed, finding.required) == (holds, 3.0, beta)


def test_enhanced_beta_likeness_of_a_table_with_one_value():
    """No value can gain, and its bound is zero."""
    finding = recount(released({"x": ["a", "a"]}), ["q"], likeness("enhanced", 1.0))
    assert (finding.holds, finding.observed) == (True, 0)
