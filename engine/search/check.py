"""The evaluation of one transformation, and what it says about its specializations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.frequency import Classes
from engine.lattice.space import Levels
from engine.privacy.model import Monotonicity, PrivacyModel
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
        nested = {Monotonicity.WITH_SUPPRESSION}
        if problem.limit == 0:
            nested.add(Monotonicity.GENERALIZATION_ONLY)
        self._nested = tuple(model for model in problem.models if model.monotonicity in nested)
        self.inherited = len(self._nested) == len(problem.models)
        self._minimum = max(model.minimum_class_size for model in problem.models)

    def check(self, levels: Levels) -> Check:
        """Evaluate a transformation exactly."""
        rows, suppressed = self._select(self._problem.table.partition(levels), self._problem.models)
        within = suppressed <= self._problem.limit
        loss = self._problem.evaluator.loss(levels, rows) if within else None
        return Check(levels, rows, suppressed, loss)

    def surely_suppressed(self, classes: Classes) -> tuple[NDArray[np.int64], int]:
        """Return rows, and their records, that are suppressed in every specialization of a partition."""
        return self._select(classes, self._nested, self._minimum)

    def _select(
        self, classes: Classes, models: tuple[PrivacyModel, ...], minimum: int = 1
    ) -> tuple[NDArray[np.int64], int]:
        self.checked += 1
        fails = classes.counts < minimum
        for model in models:
            fails |= model.violated(classes)
        if not fails.any():
            return np.empty(0, np.int64), 0
        return np.flatnonzero(fails[classes.gid]), int(classes.counts[fails].sum())
