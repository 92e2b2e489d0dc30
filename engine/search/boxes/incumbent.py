"""The best solution so far, and the transformations that it rules out."""

from __future__ import annotations

import math
import threading

from engine.lattice.space import Levels
from engine.search.check import Check
from engine.search.greedy import is_better
from engine.search.problem import preference, preference_from
from engine.utility.bounds.box_costs import Bound
from engine.utility.information_loss import leading

# Losses further apart than this share of the best one are not equal, whatever their rounding.
_NEAR = 1e-9
# Losses further apart than this share differ in their first 12 digits.
_APART = 1e-11


class Incumbent:
    """The best solution so far, shared by all threads."""

    def __init__(self, gap: float) -> None:
        self.best: Check | None = None
        self.solutions = 0
        self.given_up: Bound = (math.inf,)
        self._accepted = 1.0 - gap
        self._lock = threading.Lock()

    def offer(self, check: Check | None) -> None:
        """Keep a check if it is a preferred solution."""
        if check is None:
            return
        with self._lock:
            if is_better(check, self.best):
                self.best = check
                self.solutions += 1

    def rules_out(self, bound: Bound, low: Levels) -> bool:
        """Return whether nothing from `low` upwards with at least this loss is preferred beyond the gap."""
        best = self.best
        if best is None or best.loss is None:
            return False
        loss = leading(best.loss)
        if self._accepted < 1.0 and math.isfinite(loss) and loss * self._accepted <= bound[0] < loss:
            with self._lock:
                self.given_up = min(self.given_up, bound)
            return True
        if abs(bound[0] - loss) > _NEAR * loss and math.isfinite(bound[0]):
            return bound[0] > loss
        return preference_from(bound, low) >= preference(best.loss, best.levels)

    def is_best(self, levels: Levels) -> bool:
        """Return whether a transformation is the best solution so far, so that it need not be checked again."""
        return self.best is not None and self.best.levels == levels

    @property
    def unwanted(self) -> float:
        """Every transformation that loses more than this is ruled out, at any levels."""
        best = self.best
        if best is None or best.loss is None:
            return math.inf
        return leading(best.loss) * (self._accepted if self._accepted < 1.0 else 1.0 + _APART)

    def give_up(self, bound: Bound) -> None:
        """Note that losses above `unwanted` were ruled out, but none below `bound`."""
        if self._accepted < 1.0:
            with self._lock:
                self.given_up = min(self.given_up, bound)
