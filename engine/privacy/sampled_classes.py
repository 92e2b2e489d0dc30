"""How many records a class of a random sample must have, so that releasing it is differentially private.

Each record of a table is drawn with probability beta, by itself. Records are mapped to classes by a function that
depends on nothing else in the table, and the drawn records of a class are shown only if they are at least k. One more
record in the table then changes one class, from n - 1 records to n, of which a binomially distributed number j is
drawn. The probability of j changes by the factor n (1 - beta) / (n - j): above e^epsilon where j > gamma n with
gamma = 1 - (1 - beta) e^-epsilon, and never below e^-epsilon if e^epsilon (1 - beta) >= 1. A class of fewer than k
drawn records shows nothing, so delta is the largest probability, over n, that at least k and more than gamma n are
drawn. (Li, Qardaji, Su, On sampling, anonymization, and differential privacy, ASIACCS 2012; Bild, Kuhn, Prasser,
SafePub, PoPETs 2018(1).)

All arithmetic is of decimals that are rounded to the careful side, so delta is never understated.
"""

from __future__ import annotations

import functools
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

_UP = Context(prec=50, rounding=ROUND_CEILING)
_DOWN = Context(prec=50, rounding=ROUND_FLOOR)
_PROBABILITIES = 1 << 64
"""A sample is drawn with a multiple of one part in so many: `engine.tables.altered.sampled`."""
_NEGLIGIBLE = Decimal("1e-40")
FEWEST = 2
"""No class of one record is ever released."""


def least_epsilon(fraction: float) -> float:
    """Return the smallest epsilon that a sample allows: with a smaller one no class could ever be shown."""
    return -math.log1p(-fraction)


def allows(epsilon: float, fraction: float) -> bool:
    """Tell whether epsilon is at least `least_epsilon`, by exact arithmetic."""
    return 1 - _drawn(fraction) >= _shrunk(epsilon)


@functools.lru_cache(maxsize=256)
def smallest_class(epsilon: float, delta: float, fraction: float) -> int:
    """Return the smallest k for which the drawn classes of at least k records are (epsilon, delta)-private.

    Parameters
    ----------
    epsilon, delta : float
        Taken as the decimals that they are written as; `allows(epsilon, fraction)` must be true, and delta above 0.
    fraction : float
        beta, above 0 and below 1.
    """
    drawn, bound = _drawn(fraction), Decimal(repr(delta))
    gamma = 1 - (1 - drawn) * _shrunk(epsilon)
    least = math.ceil(gamma * _enough(epsilon, delta, drawn, gamma))
    # delta of k is the largest of all sizes from k on: it is that of k or of a larger one
    while least > FEWEST and _beyond(least - 1, gamma, drawn) <= bound:
        least -= 1
    return max(least, FEWEST)


def _drawn(fraction: float) -> Fraction:
    return Fraction(int(fraction * _PROBABILITIES), _PROBABILITIES)


def _shrunk(epsilon: float) -> Fraction:
    """Return e^-epsilon, rounded up."""
    return Fraction(_UP.next_plus(_UP.exp(-Decimal(repr(epsilon)))))


def _enough(epsilon: float, delta: float, drawn: Fraction, gamma: Fraction) -> int:
    """Return a number of records n from which on more than gamma n are drawn with a probability of at most delta.

    By the bound of Chernoff and Hoeffding, exp(-n D) with D the divergence of gamma from beta.
    """
    divergence = float(gamma) * math.log(gamma / drawn) - float(1 - gamma) * epsilon
    return math.ceil(1.01 * math.log(1 / delta) / divergence) + 10


def _beyond(size: int, gamma: Fraction, drawn: Fraction) -> Decimal:
    """Return the largest probability, over all n with gamma n < size, that at least `size` of n are drawn; rounded up.

    It grows with n, so it is that of the largest n.
    """
    records = math.ceil(size / gamma) - 1
    if records < size:
        return Decimal(0)
    odds = _quotient(drawn / (1 - drawn))
    term = _UP.multiply(
        _UP.create_decimal(math.comb(records, size)),
        _UP.multiply(_power(_quotient(drawn), size), _power(_quotient(1 - drawn), records - size)),
    )
    total, number = term, size
    while number < records and term > _UP.multiply(total, _NEGLIGIBLE):
        ratio = _UP.multiply(_UP.divide(Decimal(records - number), Decimal(number + 1)), odds)
        term = _UP.multiply(term, ratio)
        total = _UP.add(total, term)
        number += 1
    if number == records:
        return total
    # the ratios fall, and the last one is below 1: what is left is less than a geometric series
    return _UP.add(total, _UP.divide(_UP.multiply(term, ratio), _DOWN.subtract(Decimal(1), ratio)))


def _quotient(share: Fraction) -> Decimal:
    return _UP.divide(Decimal(share.numerator), Decimal(share.denominator))


def _power(base: Decimal, exponent: int) -> Decimal:
    """Return a power by squaring, since `Context.power` does not round to one side."""
    found = Decimal(1)
    while exponent:
        found = _UP.multiply(found, base) if exponent & 1 else found
        base, exponent = _UP.multiply(base, base), exponent >> 1
    return found
