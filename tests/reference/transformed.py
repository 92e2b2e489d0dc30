"""Coded numbers and aggregates of classes, by the words of their definitions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction


def coded(number, bottom=None, top=None, round_to=None):
    """Code a number, given as text, exactly."""
    value = Fraction(number)
    low = None if bottom is None else Fraction(str(bottom))
    high = None if top is None else Fraction(str(top))
    if high is not None and value >= high:
        return high
    if low is not None and value <= low:
        return low
    if round_to is not None:
        step = Fraction(str(round_to))
        below = value // step
        # of the multiples around a number the nearer one; of two the even one
        value = min((below, below + 1), key=lambda n: (abs(n * step - value), n % 2)) * step
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def aggregate(how, values):
    """Aggregate the values of a class, of which none is missing."""
    if how == "mean":
        return float(sum(map(Fraction, values)) / len(values))
    if how == "median":
        return sorted(values)[(len(values) - 1) // 2]
    if how == "mode":
        counts = Counter(values)
        return min(value for value in counts if counts[value] == max(counts.values()))
    return f"[{min(values)}, {max(values)}]"
