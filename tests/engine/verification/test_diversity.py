"""The recount of entropy and recursive l-diversity, by hand."""

from __future__ import annotations

import math

import pytest

from engine import recount
from tests.engine.verification.verified import diversity, letters, released


@pytest.mark.parametrize(
    ("counts", "least", "holds", "effective"),
    [
        # ln 4 - 3/4 ln 3 nats: e to that is 4 / 3^(3/4)
        ((3, 1), 2, False, 4 / 3**0.75),
        ((3, 1), 1.7, True, 4 / 3**0.75),
        ((2, 2), 2, True, 2),
        # the model itself fails one of these by rounding alone
        ((1, 1, 1), 3, True, 3),
        ((2, 2, 2), 3, True, 3),
        ((70, 70, 70, 70, 70), 5, True, 5),
        ((70, 70, 70, 70, 71), 5, False, None),
    ],
)
def test_shannon_entropy(counts, least, holds, effective):
    finding = recount(released({"x": letters(*counts)}), ["q"], diversity("shannon-entropy", l=least))
    assert (finding.check, finding.holds, finding.required, finding.column) == ("l-diversity", holds, least, "s")
    if effective is not None:
        assert finding.observed == pytest.approx(effective, rel=1e-14)


def test_shannon_entropy_just_below_the_bound_fails():
    """With 1/2 + d and 1/2 - d the entropy is ln 2 - 2 d^2 nats: one record of 99999 is seen, rounding is not."""
    finding = recount(released({"x": letters(50_000, 49_999)}), ["q"], diversity("shannon-entropy", l=2))
    assert 2 - finding.observed == pytest.approx(2 * 2 * (0.5 / 99_999) ** 2, rel=1e-3)
    assert finding.holds is False


@pytest.mark.parametrize(
    ("counts", "least", "holds", "nats"),
    [
        # G(3) - G(1) = 2, by definition; G(6) - G(2) = 2/3 + 2/5
        ((1, 1, 1), 3, True, 2.0),
        ((2, 2, 2), 3, False, 16 / 15),
        # two values only, whatever their entropy: G(2) - G(1) = 2 is more than ln 3
        ((1, 1), 3, False, 2.0),
        # G(200) - G(100) and G(20001) - G(10000, 10001): differences of the definition's sums
        ((100, 100), 2, None, math.fsum(2 / (2 * i - 1) for i in range(51, 101))),
        ((10_000, 10_001), 2, None, math.fsum(2 / (2 * i - 1) for i in range(5_001, 10_001))),
        ((33, 33), 2, None, math.fsum(2 / (2 * i - 1) for i in range(17, 34))),
    ],
)
def test_grassberger_entropy(counts, least, holds, nats):
    finding = recount(released({"x": letters(*counts)}), ["q"], diversity("grassberger-entropy", l=least))
    assert finding.observed == pytest.approx(math.exp(nats), rel=1e-13)
    assert finding.holds is (nats >= math.log(least) if holds is None else holds)


@pytest.mark.parametrize(
    ("counts", "c", "rank", "holds", "ratio"),
    [
        ((5, 2, 1, 1), 2.5, 3, False, 5 / 2),
        ((5, 2, 1, 1), 2.6, 3, True, 5 / 2),
        ((5, 2, 1, 1), 5 / 4, 2, False, 5 / 4),
        ((5, 2, 1, 1), 100.0, 5, False, None),
        ((3, 10), 0.3, 2, False, 10 / 3),
    ],
)
def test_recursive_diversity(counts, c, rank, holds, ratio):
    finding = recount(released({"x": letters(*counts)}), ["q"], diversity("recursive", c=c, l=rank))
    assert (finding.holds, finding.observed, finding.required) == (holds, ratio, c)
