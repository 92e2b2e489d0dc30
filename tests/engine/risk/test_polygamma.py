"""Digamma and trigamma: known values, and the finite sums that they stand for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.risk.polygamma import digamma_trigamma

EULER = 0.57721566490153286


@pytest.mark.parametrize(
    ("x", "psi", "psi1"),
    [
        (1.0, -EULER, math.pi**2 / 6),
        (0.5, -EULER - 2 * math.log(2), math.pi**2 / 2),
        (0.25, -EULER - math.pi / 2 - 3 * math.log(2), math.pi**2 + 8 * 0.9159655941772190),
        (-0.5, 2 - EULER - 2 * math.log(2), math.pi**2 / 2 + 4),
        (-1.5, 2 + 2 / 3 - EULER - 2 * math.log(2), math.pi**2 / 2 + 4 + 4 / 9),
    ],
)
def test_known_values(x, psi, psi1):
    found = digamma_trigamma(np.array([x]))
    assert [float(f[0]) for f in found] == pytest.approx([psi, psi1], rel=1e-13)


@given(st.floats(1e-3, 1e6) | st.floats(-30, 30).filter(lambda x: abs(x - round(x)) > 1e-2), st.integers(1, 300))
def test_differences_are_finite_sums(x, terms):
    (low, high), (low1, high1) = (f.tolist() for f in digamma_trigamma(np.array([x, x + terms])))
    inverse = [1 / (x + i) for i in range(terms)]
    assert high - low == pytest.approx(math.fsum(inverse), rel=0, abs=1e-11 * max(1, abs(low), abs(high)))
    squares = math.fsum(value**2 for value in inverse)
    assert low1 - high1 == pytest.approx(squares, rel=0, abs=1e-11 * max(1, low1, high1))


@given(st.floats(1e-3, 40))
def test_the_truncated_trigamma_sums_below_8_only(x):
    exact, short = (float(digamma_trigamma(np.array([x]), truncated=short)[1][0]) for short in (False, True))
    if x >= 12:
        assert short == exact
    else:
        terms = [x + i for i in range(12) if x + i < 8]
        assert short == pytest.approx(math.fsum(term**-2 for term in terms), rel=1e-12)
