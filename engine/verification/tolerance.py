"""Comparison of a recounted figure with a bound, up to the rounding of another order of summation.

A model is judged by the engine in doubles, and recounted here by another formula: where a class lies exactly on the
bound the two may differ in the last digits. `TOLERANCE` is far below any meaning: in a class of a billion records, one
record changes a share by a thousand times as much.
"""

from __future__ import annotations

TOLERANCE = 1e-12


def at_most(figure: float, bound: float) -> bool:
    """Tell whether `figure <= bound`, to 1e-12 of the bound, or of 1 where that is more (shares and distances)."""
    return figure <= bound + TOLERANCE * max(1.0, abs(bound))


def at_least(figure: float, bound: float) -> bool:
    """Tell whether `figure >= bound`, to 1e-12 of the bound."""
    return figure >= bound - TOLERANCE * abs(bound)
