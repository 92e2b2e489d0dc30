"""The exponential mechanism: one of several candidates is drawn, the more probably the higher its score.

McSherry, Talwar, Mechanism design via differential privacy, FOCS 2007, section 3. One more record in the table must
raise each score by 0 to 1, and lower none: then no probability changes by more than the factor e^epsilon if each
candidate is drawn with a probability proportional to e to the power of epsilon times its score.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction

_EXACT = Context(prec=60, Emin=-(10**17), Emax=10**17)
_BITS = 256


def probabilities(scores: Sequence[Fraction], epsilon: Fraction) -> list[Decimal]:
    """Return the probability of each candidate, to some fifty digits; scores of one unit of sensitivity."""
    highest = max(scores)
    weights = [_EXACT.exp(_decimal(epsilon * (score - highest))) for score in scores]
    total = Decimal(0)
    for weight in weights:
        total = _EXACT.add(total, weight)
    return [_EXACT.divide(weight, total) for weight in weights]


def drawn(scores: Sequence[Fraction], epsilon: Fraction, random_bits: Callable[[int], int] = secrets.randbits) -> int:
    """Draw a candidate; return its place.

    Parameters
    ----------
    random_bits : callable
        Returns so many random bits as a number; by default from the operating system.
    """
    at = _EXACT.divide(Decimal(random_bits(_BITS)), Decimal(1 << _BITS))
    below = Decimal(0)
    found = probabilities(scores, epsilon)
    for place, probability in enumerate(found):
        below = _EXACT.add(below, probability)
        if at < below:
            return place
    return max(range(len(found)), key=found.__getitem__)


def _decimal(number: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
