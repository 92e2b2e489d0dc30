"""Widths of intervals for numbers, from their spread: round numbers, each a multiple of the one before.

In: the values of a column. Out: widths in which the middle nine tenths of the values span about twenty intervals, and
coarser ones. They tell the order of magnitude of the spread, and no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

_INTERVALS = 20
_CHAINS: tuple[tuple[int, tuple[int, ...]], ...] = ((1, (1, 5, 10)), (2, (2, 10, 20)), (5, (5, 10, 50)))


def widths_of(values: Sequence[str], *, whole: bool) -> tuple[Decimal, ...]:
    """Return widths of the levels of an interval hierarchy; none where there is nothing to divide.

    Parameters
    ----------
    values : sequence of str
        Distinct numbers.
    whole : bool
        Whether widths must be whole numbers above 1.
    """
    numbers = sorted(map(Decimal, values))
    cut = len(numbers) // 20
    spread = numbers[-1 - cut] - numbers[cut]
    if spread <= 0:
        return ()
    wanted = spread / _INTERVALS
    power = Decimal(10) ** wanted.adjusted()
    first = next((place for place, _ in _CHAINS if place * power >= wanted), None)
    if first is None:
        first, power = 1, power * 10
    found = tuple(place * power for place in dict(_CHAINS)[first])
    if whole:
        found = tuple(width for width in found if width > 1 and width == int(width))
    return tuple(width.quantize(Decimal(1)) if width == int(width) else width.normalize() for width in found)
