"""The common parts of searches that check one transformation after another: the best so far, the clock, the result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from engine.lattice.space import Lattice, Levels, replaced
from engine.search.check import Check, Checker
from engine.search.greedy import is_better
from engine.search.problem import PROGRESS_SECONDS, Problem, Progress, Solution, preference, preference_from
from engine.tables.counting.frequency import Classes, FrequencyTable
from engine.utility.bounds.box_costs import Bound
from engine.utility.information_loss import leading, original, ranked


class NodeSearch:
    """The state of one search.

    Attributes
    ----------
    best : Check or None
        The preferred solution of those that were checked.
    floor : tuple of float
        Lower bound of all transformations of the lattice.
    """

    def __init__(self, problem: Problem, progress: Progress | None, checker: Checker) -> None:
        self._problem = problem
        self._progress = progress
        self._checker = checker
        self._started = self._reported = time.monotonic()
        self._taken = 0
        self._solutions = 0
        self.best: Check | None = None
        self.floor = self.bound(problem.lattice.low)

    def check(self, levels: Levels, classes: Classes | None = None) -> Check:
        """Evaluate a transformation and keep it if it is preferred; `classes` is its partition, if there is one."""
        found = self._checker.check(levels, classes)
        self._taken += 1
        if is_better(found, self.best):
            self.best = found
            self._solutions += 1
        return found

    def bound(self, levels: Levels) -> Bound:
        """Return a lower bound of a transformation and all its generalizations."""
        nothing = np.empty(0, np.int64)
        return ranked(self._problem.evaluator.bound(levels, self._problem.lattice.high, nothing))

    def is_hopeless(self, bound: Bound, levels: Levels) -> bool:
        """Whether no generalization of a transformation, of at least this loss, is preferred to the best solution."""
        if self.best is None or self.best.loss is None:
            return False
        return preference_from(bound, levels) >= preference(self.best.loss, self.best.levels)

    def goes_on(self, waiting: int = 0, lower_bound: Callable[[], Bound] | None = None) -> bool:
        """Report from time to time; False when the time has ended.

        Parameters
        ----------
        waiting : int
            Transformations that are known to be left to check.
        lower_bound : callable, optional
            Lower bound of those left, if a better one than `floor` is known.
        """
        now = time.monotonic()
        if self._progress is not None and now - self._reported > PROGRESS_SECONDS:
            self._reported = now
            self._report(self._progress, waiting, self.floor if lower_bound is None else lower_bound())
        limit = self._problem.time_limit
        return limit is None or now - self._started <= limit

    def solution(self, lower_bound: Bound | None = None, *, exhaustive: bool = False) -> Solution | None:
        """Return the best solution found.

        Parameters
        ----------
        lower_bound : tuple of float, optional
            Lower bound of the transformations that were not checked, infinite if there are none; by default `floor`.
        exhaustive : bool
            Whether the search checks all of them, without pruning.
        """
        best = self.best
        if best is None or best.loss is None:
            return None
        bound = self.floor if lower_bound is None else lower_bound
        optimal = bound == (math.inf,) or self.is_hopeless(self.floor, self._problem.lattice.low)
        proven = ranked(best.loss) if optimal else min(bound, ranked(best.loss))
        return Solution(
            levels=best.levels,
            suppressed_tuples=best.rows,
            suppressed=best.suppressed,
            loss=best.loss,
            # no measure goes far below 0; a loss that is proven is its own bound
            lower_bound=original(proven if optimal else tuple(max(figure, 0.0) for figure in proven), best.loss),
            optimal=optimal,
            checked=self._checker.checked,
            exhaustive=exhaustive or self.floor[0] == -math.inf,
        )

    def _report(self, progress: Progress, waiting: int, bound: Bound) -> None:
        loss = math.inf if self.best is None or self.best.loss is None else leading(self.best.loss)
        least = min(bound[0], loss)
        known = math.isfinite(loss) and math.isfinite(least)
        progress(
            {
                "solutions": self._solutions,
                "information_loss": loss if math.isfinite(loss) else None,
                "lower_bound": least if math.isfinite(least) else None,
                "gap": (loss - least) / loss if known and loss else None,
                # a transformation is a box with one node
                "boxes": self._taken,
                "open_boxes": waiting,
                "checked": self._checker.checked,
            }
        )


NOTHING_LEFT: Bound = (math.inf,)
"""Lower bound if no transformation is left to check."""


def successors(lattice: Lattice, levels: Levels) -> Iterator[tuple[int, Levels]]:
    """Yield the direct generalizations of a transformation, each with the attribute that is generalized."""
    for a, level in enumerate(levels):
        if level < lattice.high[a]:
            yield a, replaced(levels, a, level + 1)


def distinct_labels(table: FrequencyTable, a: int, level: int) -> int:
    """Count the different labels that an attribute of the released records has at a level."""
    return int(np.unique(table.hierarchies[a].codes[level][table.codes[a, table.counts > 0]]).size)
