"""What an attack came to."""

from __future__ import annotations

import math
from dataclasses import dataclass

SURELY = 4.0
"""Standard deviations by which chance alone may lift a success above the bound: once in 30,000 attacks."""


@dataclass(frozen=True)
class Outcome:
    """How often an attack was right.

    Attributes
    ----------
    attack : str
        What is tried, in a few words.
    table : str
        On which release.
    tries : int
        Guesses, at least 0.
    success, baseline, bound : float
        Shares of the guesses that are right, 0 to 1: of the attacker, of somebody without what the attack uses, and at
        most as the threat model promises.
    exact : bool
        Whether `success` was computed over everything that can happen, so that chance has no part in it.
    """

    attack: str
    table: str
    tries: int
    success: float
    baseline: float
    bound: float
    exact: bool = False

    @property
    def chance(self) -> float:
        """What chance alone may add to the bound, of as many guesses; nothing where the bound says never."""
        if self.exact or not self.tries or self.bound in {0.0, 1.0}:
            return 0.0
        return SURELY * math.sqrt(self.bound * (1 - self.bound) / self.tries)

    @property
    def holds(self) -> bool:
        """Whether the promise holds."""
        return self.success <= self.bound + self.chance + 1e-12


def share(right: int, tries: int) -> float:
    """Return the share of guesses that are right; 0 of none."""
    return right / tries if tries else 0.0
