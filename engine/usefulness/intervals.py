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


class Mean(NamedTuple):
    """A mean of independent values.

    Attributes
    ----------
    interval : ConfidenceInterval
    number : int
        Of values.
    variance : float
        Of them, about their mean, with n - 1.
    """

    interval: ConfidenceInterval
    number: int
    variance: float

    @property
    def length(self) -> float:
        """Of the interval."""
        return self.interval.high - self.interval.low


def of_mean(values: NDArray[np.float64], counts: NDArray[np.int64]) -> Mean | None:
    """Return a mean and its interval; None of fewer than two values, or where a number is too large for it.

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
    values, counts = values[present], counts[present]
    if not np.isfinite(values).all():
        return None
    # sums of all digits do not follow the order of the source
    with np.errstate(over="ignore"):
        mean = _sum(counts * values) / number
        variance = _sum(counts * (values - mean) ** 2) / (number - 1)
    half = Z * math.sqrt(variance / number)
    if not math.isfinite(mean + half):
        return None
    return Mean(ConfidenceInterval(mean - half, mean + half), number, variance)


def _sum(terms: NDArray[np.float64]) -> float:
    """Return a sum that no order of its terms changes; infinite where a double cannot hold it."""
    if not np.isfinite(terms).all():
        return math.inf
    try:
        return math.fsum(terms.tolist())
    except OverflowError:
        return math.inf


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


def moved_by_one(one: Mean, other: Mean, width: float) -> float:
    """Return the most by which the overlap of two means changes if one value of each becomes another one.

    All values lie between two ends, `width` apart, before and after. One of n values moves the mean by ``width / n`` at
    most, and their variance V by ``width² / n``: so an interval moves by ``width / n``, and its length becomes at least
    ``sqrt(1 - width² / (n V))`` of what it was; it grows by less than it may shrink.

    Returns
    -------
    float
        Infinite where one value may change the interval altogether.
    """
    sides = []
    for mean in (one, other):
        if not (math.isfinite(width) and mean.variance > 0):
            return math.inf
        share = width * width / (mean.number * mean.variance)
        # numbers may be so large that the ends of an interval are one double, or that squares are none
        if not (share < 1 and mean.length > 0):
            return math.inf
        # the interval may be shortened before the other one is moved
        least = math.sqrt(1 - share) * mean.length
        sides.append((width / mean.number, mean.length - least, least))
    (shift, change, length), (other_shift, other_change, other_length) = sides
    # overlaps are halves of common / length: the common part changes by shift + change, and so may its divisor
    moved = (shift + 2 * change) / length + (shift + change) / other_length
    moved += (other_shift + 2 * other_change) / other_length + (other_shift + other_change) / length
    return moved / 2
