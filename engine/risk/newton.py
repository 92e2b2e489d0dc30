"""Newton's method for two equations in two unknowns, from several starts in a fixed order.

The starts, the accuracy and the limits are those of the reference solver, and so is the rule that the first root found
counts, so both find the same one of several roots.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

Pair = tuple[float, float]
Values = tuple[Pair, tuple[Pair, Pair]]
"""Both functions at a point, and the rows of their Jacobian matrix."""
System = Callable[[float, float], Values]

ACCURACY = 1e-6
"""At a root both functions are at most this far from 0."""
ITERATIONS = 1000
"""Steps from one start."""
GRID: tuple[Pair, ...] = tuple((x, y) for x in (0.0, 0.33, 0.66, 0.99) for y in (0.0, 0.33, 0.66, 0.99))[:-1]
"""Starts to try in turn. The reference solver lists (0.99, 0.99) too but gives up before its first step."""


def solve(system: System, starts: Iterable[Pair], *, may_visit: Callable[[float, float], bool]) -> Pair | None:
    """Return the first root found, or None.

    Parameters
    ----------
    system : callable
        Takes a point. If it raises `ArithmeticError` or `ValueError` or returns a value that is not finite, the start
        is given up.
    starts : iterable of pairs
        Tried one after another.
    may_visit : callable
        Whether a step may go to a point; if not, the start is given up.
    """
    for start in starts:
        root = _descend(system, start, may_visit)
        if root is not None:
            return root
    return None


def is_root(values: Pair) -> bool:
    """Return whether both functions are 0 up to the accuracy."""
    return abs(values[0]) <= ACCURACY and abs(values[1]) <= ACCURACY


def _descend(system: System, start: Pair, may_visit: Callable[[float, float], bool]) -> Pair | None:
    x, y = start
    for _ in range(ITERATIONS + 1):
        try:
            values, jacobian = system(x, y)
            if is_root(values):
                return x, y
            x, y = _step(x, y, values, jacobian)
        except (ArithmeticError, ValueError):
            return None
        if not (math.isfinite(x) and math.isfinite(y) and may_visit(x, y)):
            return None
    return None


def _step(x: float, y: float, values: Pair, jacobian: tuple[Pair, Pair]) -> Pair:
    (f, g), ((f_x, f_y), (g_x, g_y)) = values, jacobian
    determinant = f_x * g_y - f_y * g_x
    return x - (g_y * f - f_y * g) / determinant, y - (f_x * g - g_x * f) / determinant
