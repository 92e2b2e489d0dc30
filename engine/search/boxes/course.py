"""The course of a branch and bound: its time, what it reports on the way, and its solution with the proof.

In: the problem, the best solution so far, and where the search stands. Out: whether the time has ended, figures for who
watches, and the solution. The least bound among the waiting boxes is a proven lower bound at any moment.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from engine.search.boxes.incumbent import Incumbent
from engine.search.problem import PROGRESS_SECONDS, Problem, Progress, Solution
from engine.utility.bounds.box_costs import Bound
from engine.utility.information_loss import leading, original, ranked


class Stand(NamedTuple):
    """Where a search stands.

    Attributes
    ----------
    waiting : list of Bound
        Of the boxes that wait, one each.
    opened : int
        Boxes that were opened.
    checked : int
        Transformations that were checked.
    """

    waiting: list[Bound]
    opened: int
    checked: int


class Course:
    """The course of one search, which begins now.

    Parameters
    ----------
    stand : callable
        Tells where the search stands.

    Attributes
    ----------
    proven : Bound
        No solution loses less, whatever the waiting boxes say.
    """

    def __init__(
        self, problem: Problem, progress: Progress | None, incumbent: Incumbent, stand: Callable[[], Stand]
    ) -> None:
        self._limit = problem.time_limit
        self._progress = progress
        self._incumbent = incumbent
        self._stand = stand
        self._is_ended = False
        self.proven: Bound = (-math.inf,)
        self._started = self._reported = time.monotonic()

    def is_beyond(self, share: float) -> bool:
        """Return whether a share of the time limit has passed; never without a limit, unless the search is to end."""
        if self._is_ended:
            return True
        return self._limit is not None and time.monotonic() - self._started > share * self._limit

    def end(self) -> None:
        """Let the search end as if its time had."""
        self._is_ended = True

    def seconds_beyond(self, share: float) -> float:
        """Return the seconds of the time limit that follow a share of it; 0 without a limit."""
        return 0.0 if self._limit is None else (1.0 - share) * self._limit

    def prove(self, bound: float) -> None:
        """Note that no solution loses less, whatever the waiting boxes say."""
        self.proven = max(self.proven, (bound,))

    def pause(self) -> bool:
        """Report between two boxes; return whether the time has ended."""
        now = time.monotonic()
        if self._progress is not None and now - self._reported > PROGRESS_SECONDS:
            self._reported = now
            self._report(self._progress)
        return self.is_beyond(1.0)

    def solution(self, *, exhaustive: bool = False) -> Solution | None:
        """Return the best solution with what is proven of it; None if there is none.

        Parameters
        ----------
        exhaustive : bool
            Whether each transformation was checked by itself.
        """
        best, stand = self._incumbent.best, self._stand()
        if best is None or best.loss is None:
            return None
        # no measure goes far below 0; an infinite loss that is proven is its own bound
        figures = zip(self._lower_bound(stand), ranked(best.loss), strict=False)
        bound = tuple(min(max(figure, 0.0), loss) for figure, loss in figures)
        return Solution(
            levels=best.levels,
            suppressed_tuples=best.rows,
            suppressed=best.suppressed,
            loss=best.loss,
            lower_bound=original(bound, best.loss),
            optimal=not stand.waiting and not math.isfinite(self._incumbent.given_up[0]),
            checked=stand.checked,
            exhaustive=exhaustive,
        )

    def _lower_bound(self, stand: Stand) -> Bound:
        best = self._incumbent.best
        loss = (math.inf,) if best is None or best.loss is None else ranked(best.loss)
        return max(min([loss, self._incumbent.given_up, *stand.waiting]), min(self.proven, loss))

    def _report(self, progress: Progress) -> None:
        best, stand = self._incumbent.best, self._stand()
        loss = None if best is None or best.loss is None else leading(best.loss)
        bound = self._lower_bound(stand)[0]
        known = loss is not None and math.isfinite(loss) and math.isfinite(bound)
        progress(
            {
                "solutions": self._incumbent.solutions,
                "information_loss": loss if loss is not None and math.isfinite(loss) else None,
                "lower_bound": bound if math.isfinite(bound) else None,
                "gap": (loss - bound) / loss if known and loss else None,
                "boxes": stand.opened,
                "open_boxes": len(stand.waiting),
                "checked": stand.checked,
            }
        )
