"""A better solution from a good one: neighbours in the lattice, until none of them loses less.

In: a solution. Out: a solution that is not worse. Iterated local search (Lourenço, Martin, Stützle, Iterated local
search, in: Handbook of Metaheuristics, 2003): a local optimum, and local optima from near it. The neighbours of a
transformation have one attribute a level higher or lower, or one a level higher and another one a level lower. It
guarantees nothing, and gives an exact search a solution early that rules out much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from engine.lattice.space import Levels, replaced
from engine.search.check import Check, Checker
from engine.search.greedy import is_better
from engine.search.problem import Problem
from engine.tables.counting.frequency import Classes
from engine.utility.bounds.box_costs import Bound
from engine.utility.information_loss import ranked

_MOVED = (2, 5)
"""How many attributes a perturbation moves: from the first number to below the second."""


class _Move(NamedTuple):
    """A neighbour: its levels, the attribute that is raised and the one that is lowered."""

    bound: Bound
    levels: Levels
    raised: int | None
    lowered: int | None


class LocalSearch:
    """Improves solutions of a problem.

    Parameters
    ----------
    checker : Checker
        Of the thread that calls.
    is_over : callable
        Whether to end with what was found; asked before each evaluation.
    seed : int
        Of the perturbations.
    """

    def __init__(self, checker: Checker, problem: Problem, is_over: Callable[[], bool], seed: int = 0) -> None:
        self._checker = checker
        self._is_over = is_over
        self._table = problem.table
        self._evaluator = problem.evaluator
        self._low, self._high = problem.lattice.low, problem.lattice.high
        self._free = [a for a, (low, high) in enumerate(zip(self._low, self._high, strict=True)) if low < high]
        self._random = np.random.default_rng(seed)

    def improved(self, start: Check, most: int) -> Check:
        """Return the local optimum to which a solution leads, or what was found by the end of `most` checks."""
        here, left = start, most
        while True:
            for levels, classes in self._neighbours(here):
                if left <= 0 or self._is_over():
                    return here
                left -= 1
                found = self._checker.check(levels, classes)
                if is_better(found, here):
                    here = found
                    break
            else:
                return here

    def perturbed(self, best: Check, most: int) -> Check | None:
        """Return a solution near another one, after at most `most` checks: some attributes are moved at random.

        Others are then raised until it is a solution; None if it becomes none.
        """
        levels = list(best.levels)
        for a in self._random.permutation(self._free)[: self._random.integers(*_MOVED)]:
            levels[a] = int(self._random.integers(self._low[a], self._high[a], endpoint=True))
        for _ in range(most):
            if self._is_over():
                return None
            found = self._checker.check(tuple(levels))
            if found.loss is not None:
                return found
            raisable = [a for a in self._free if levels[a] < self._high[a]]
            if not raisable:
                return None
            levels[int(self._random.choice(raisable))] += 1
        return None

    def _neighbours(self, here: Check) -> Iterator[tuple[Levels, Classes]]:
        """Yield the neighbours that may lose less with their partitions, by what generalization alone loses."""
        shared: dict[int | None, Classes] = {}
        for move in sorted(self._moves(here)):
            if move.lowered is None:
                yield move.levels, self._table.partition(move.levels)
                continue
            if move.raised not in shared:
                shared[move.raised] = self._table.partition(
                    replaced(move.levels, move.lowered, here.levels[move.lowered])
                )
            yield move.levels, shared[move.raised].refined(move.lowered, move.levels[move.lowered])

    def _moves(self, here: Check) -> Iterator[_Move]:
        assert here.loss is not None  # noqa: S101 (only solutions are improved)
        nothing, loss = np.empty(0, np.int64), ranked(here.loss)
        up = [a for a in self._free if here.levels[a] < self._high[a]]
        down = [a for a in self._free if here.levels[a] > self._low[a]]
        for raised in (None, *up):
            for lowered in (None, *down):
                if raised == lowered:
                    continue
                if self._is_over():
                    return
                levels = here.levels
                if raised is not None:
                    levels = replaced(levels, raised, levels[raised] + 1)
                if lowered is not None:
                    levels = replaced(levels, lowered, levels[lowered] - 1)
                bound = ranked(self._evaluator.bound(levels, levels, nothing))
                if bound <= loss:
                    yield _Move(bound, levels, raised, lowered)
