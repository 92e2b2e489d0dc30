"""Overlap of 95% confidence intervals: how far an analysis of the release tells the same as one of the source.

A. F. Karr, C. N. Kohnen, A. Oganian, J. P. Reiter and A. P. Sanil, A framework for evaluating the utility of data
altered to protect confidentiality, The American Statistician 60(3), 2006: the part of each interval that lies in the
other, averaged over the two. Intervals are those of the normal approximation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Z = 1.959963984540054
"""97.5% quantile of the standard normal distribution."""


class ConfidenceInterval(NamedTuple):
    """A closed interval."""

    low: float
    high: float


def of_mean(values: NDArray[np.float64], counts: NDArray[np.int64]) -> ConfidenceInterval | None:
    """Return the interval of a mean; None of fewer than two values.

    Parameters
    ----------
    values : float64, shape (V,)
        Distinct values; NaN is none.
    counts : int64, shape (V,)
        Records of each.
    """
    counts = np.where(np.isnan(values), 0, counts)
    number = int(counts.sum())
    if number < 2:  # noqa: PLR2004 (one value has no variance)
        return None
    present = counts > 0
    mean = float(np.average(values[present], weights=counts[present]))
    variance = float((counts[present] * (values[present] - mean) ** 2).sum()) / (number - 1)
    half = Z * math.sqrt(variance / number)
    return ConfidenceInterval(mean - half, mean + half)


def of_proportion(part: int, number: int) -> ConfidenceInterval:
    """Return the interval of a share of so many records, at least one (Wald)."""
    share = part / number
    half = Z * math.sqrt(share * (1 - share) / number)
    return ConfidenceInterval(share - half, share + half)


def overlap(one: ConfidenceInterval, other: ConfidenceInterval) -> float:
    """Return how much two intervals overlap, from 0 to 1.

    An interval of a single point counts as wholly inside, if it is inside at all.
    """
    low, high = max(one.low, other.low), min(one.high, other.high)
    if high < low:
        return 0.0
    parts = [(high - low) / (end - begin) if end > begin else 1.0 for begin, end in (one, other)]
    return sum(parts) / 2
