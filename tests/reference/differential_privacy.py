"""Slow, exact twins of what differential privacy rests on: fractions, and every table of a few records.

The size of the classes by the definition of Li, Qardaji, Su 2012, and the largest difference between what is
released of two tables that differ in one record, added up over all releases.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

LOW = Context(prec=60, rounding=ROUND_FLOOR)


def exponential(epsilon: str) -> Fraction:
    """Return e^epsilon, a little less than it is."""
    return Fraction(LOW.next_minus(LOW.exp(Decimal(epsilon))))


def binomial(number: int, drawn: int, fraction: Fraction) -> Fraction:
    """Return the probability that so many of a number of records are drawn."""
    return math.comb(number, drawn) * fraction**drawn * (1 - fraction) ** (number - drawn)


def tail(number: int, epsilon: str, fraction: Fraction) -> Fraction:
    """Return the probability that more than gamma n of n records are drawn."""
    least = math.floor(gamma_of(epsilon, fraction) * number) + 1
    share, whole = fraction.numerator, fraction.denominator
    ways = (
        math.comb(number, drawn) * share**drawn * (whole - share) ** (number - drawn)
        for drawn in range(least, number + 1)
    )
    return Fraction(sum(ways), whole**number)


def gamma_of(epsilon: str, fraction: Fraction) -> Fraction:
    """Return the share of the records of a class beyond which those drawn tell too much."""
    return (exponential(epsilon) - 1 + fraction) / exponential(epsilon)


def delta(k: int, epsilon: str, fraction: Fraction, most: int) -> Fraction:
    """Return delta of k: the largest tail of all n from k / gamma - 1 up to `most`."""
    gamma = gamma_of(epsilon, fraction)
    return max(tail(number, epsilon, fraction) for number in range(max(1, math.ceil(k / gamma - 1)), most + 1))


def tables(values: tuple[str, ...], most: int) -> list[tuple[str, ...]]:
    """Return every table of at most so many records of one column, in one order."""
    return [found for number in range(most + 1) for found in itertools.combinations_with_replacement(values, number)]


def distribution(table: tuple[str, ...], fraction: Fraction, released) -> Counter:
    """Return the probability of each release of a table, exactly.

    Parameters
    ----------
    released : callable
        From the records that are drawn, in the order of `tables`, to what is shown of them.
    """
    counted = sorted(Counter(table).items())
    found: Counter = Counter()
    for drawn in itertools.product(*(range(number + 1) for _, number in counted)):
        probability = Fraction(1)
        for (_, number), some in zip(counted, drawn, strict=True):
            probability *= binomial(number, some, fraction)
        sample = tuple(value for (value, _), some in zip(counted, drawn, strict=True) for _ in range(some))
        found[released(sample)] += probability
    return found


def beyond(one: Counter, other: Counter, factor: Fraction) -> Fraction:
    """Return the least delta with which no set of releases is more probable than `factor` times as probable there."""
    return sum((max(Fraction(0), share - factor * other[release]) for release, share in one.items()), start=Fraction(0))
