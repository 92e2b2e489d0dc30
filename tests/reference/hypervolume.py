"""What a set of points dominates of the unit square, in exact fractions, and the best subset by trying all."""

from __future__ import annotations

import itertools
from fractions import Fraction


def dominated_area(points):
    """Area of the union of the rectangles from each point (risk, loss) to (1, 1), cell by cell of the points' grid."""
    points = [(Fraction(risk), Fraction(loss)) for risk, loss in points]
    risks = sorted({risk for risk, _ in points} | {Fraction(1)})
    losses = sorted({loss for _, loss in points} | {Fraction(1)})
    return sum(
        (
            (right - left) * (high - low)
            for left, right in itertools.pairwise(risks)
            for low, high in itertools.pairwise(losses)
            if any(risk <= left and loss <= low for risk, loss in points)
        ),
        start=Fraction(0),
    )


def largest_area(points, forced, size):
    """Most that `size` or fewer of the points dominate, those at the positions `forced` among them."""
    free = [position for position in range(len(points)) if position not in forced]
    return max(
        dominated_area([points[position] for position in {*forced, *more}])
        for count in range(min(size - len(forced), len(free)) + 1)
        for more in itertools.combinations(free, count)
    )
