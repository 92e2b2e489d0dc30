"""The evaluation of one transformation, and what it says about its specializations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.frequency import Classes
from engine.lattice.space import Levels
from engine.search.algorithm import Problem


@dataclass(frozen=True, eq=False)
class Check:
    """One transformation, evaluated.

    Attributes
    ----------
    rows : int64, shape (S,)
        Rows of the frequency table that are suppressed.
    suppressed : int
        Records in them.
    loss : float or None
        Information loss, None where more records are suppressed than the limit allows.
    """

    levels: Levels
    rows: NDArray[np.int64]
    suppressed: int
    loss: float | None


class Checker:
    """Evaluates transformations of one problem and counts how often it did.

    Attributes
    ----------
    checked : int
        Partitions judged so far.
    inherited : bool
        Whether what `surely_suppressed` finds is all that is suppressed: every model is monotone for this problem.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.checked = 0
        self._suppressing = problem.limit > 0
        self.inherited = all(model.is_inherited(suppressing=self._suppressing) for model in problem.models)
        self._minimum = max(model.minimum_class_size for model in problem.models)

    def check(self, levels: Levels) -> Check:
        """Evaluate a transformation exactly."""
        classes = self._problem.table.partition(levels)
        fails = classes.counts < self._minimum
        for model in self._problem.models:
            fails |= model.violated(classes)
        rows, suppressed = self._select(classes, fails)
        within = suppressed <= self._problem.limit
        loss = self._problem.evaluator.loss(levels, classes, rows) if within else None
        return Check(levels, rows, suppressed, loss)

    def surely_suppressed(self, classes: Classes) -> tuple[NDArray[np.int64], int]:
        """Return rows, and their records, that are suppressed in every specialization of a partition."""
        fails = classes.counts < self._minimum
        for model in self._problem.models:
            fails |= model.surely_violated(classes, suppressing=self._suppressing)
        return self._select(classes, fails)

    def _select(self, classes: Classes, fails: NDArray[np.bool_]) -> tuple[NDArray[np.int64], int]:
        self.checked += 1
        if not fails.any():
            return np.empty(0, np.int64), 0
        return np.flatnonzero(fails[classes.gid]), int(classes.counts[fails].sum())
