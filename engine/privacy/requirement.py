"""The bound of a privacy model on its observed figure, and the unused part of it: the margin.

In: the bound of a model and what was observed. Out: a share, 0 to 1. It compares criteria of different units: 0.5 is
twice as many records as k, or half of the distance that t allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Sense = Literal["at-least", "at-most"]


class Requirement(NamedTuple):
    """A bound.

    Attributes
    ----------
    required : float
        In the unit of the observed figure, at least 0.
    sense : {"at-least", "at-most"}
        The side of the bound on which the figure must be. The model decides whether a figure on the bound holds.
    """

    required: float
    sense: Sense

    def margin(self, observed: float | None, *, holds: bool) -> float | None:
        """Return the unused part of the requirement.

        Parameters
        ----------
        observed : float, optional
            The figure of the worst kept class; None if there is none.
        holds : bool
            Whether the model holds; the figure alone may not decide it (a strict bound, a second condition).

        Returns
        -------
        float or None
            At least r required and o observed: 1 - r/o. At most r: 1 - o/r, and 0 where r is 0. 0 for a model that does
            not hold; None for one that holds without an observed figure.
        """
        if not holds:
            return 0.0
        if observed is None:
            return None
        whole, part = (observed, self.required) if self.sense == "at-least" else (self.required, observed)
        # rounding may put a figure on its bound a little beyond it
        return min(1.0, max(0.0, 1.0 - part / whole)) if whole > 0 else 0.0


def least_margin(margins: Iterable[float | None]) -> float | None:
    """Return the least of the known margins; None if none is known."""
    return min((margin for margin in margins if margin is not None), default=None)
