"""Comparison of a recounted figure with a bound or a stated one, up to the rounding of another order of summation.

A model is judged by the engine in doubles, and recounted here by another formula: where a class lies exactly on the
bound the two may differ in the last digits. `TOLERANCE` is far below any meaning: in a class of a billion records, one
record changes a share by a thousand times as much.
"""

from __future__ import annotations

import math
from typing import Any, TypeGuard

TOLERANCE = 1e-12


def at_most(figure: float, bound: float) -> bool:
    """Tell whether `figure <= bound`, to 1e-12 of the bound, or of 1 where that is more (shares and distances)."""
    return figure <= bound + TOLERANCE * max(1.0, abs(bound))


def at_least(figure: float, bound: float) -> bool:
    """Tell whether `figure >= bound`, to 1e-12 of the bound."""
    return figure >= bound - TOLERANCE * abs(bound)


def is_number(stated: Any) -> TypeGuard[int | float]:
    """Tell whether a report states a number that doubles can be compared with: JSON has larger whole ones."""
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        return False
    try:
        return math.isfinite(stated)
    except OverflowError:
        return False


def same_share(stated: Any, found: float | None) -> bool:
    """Tell whether a report states a share of persons as it was found, to 1e-9 of it."""
    return same(stated, found, relative=1e-9)


def same(stated: Any, found: float | None, *, relative: float, absolute: float = 0.0) -> bool:
    """Tell whether a report states a figure as it was found, or none where none was."""
    if found is None or not is_number(stated):
        return stated is None and found is None
    return math.isclose(stated, found, rel_tol=relative, abs_tol=absolute)
