"""The evaluation of one transformation, and what follows for its specializations."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.kernels.refine import rows_of_classes
from engine.lattice.space import Levels
from engine.privacy.model import Partition, PrivacyModel
from engine.privacy.table_wide import TableWideModel
from engine.search.enforce import smallest_classes
from engine.search.problem import Problem
from engine.tables.counting.frequency import Classes
from engine.tables.counting.present_classes import PresentClasses
from engine.utility.information_loss import InformationLoss

Judge = Callable[[PrivacyModel, Partition], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Check:
    """One transformation, evaluated.

    Attributes
    ----------
    rows : int64, shape (S,)
        Rows of the frequency table that are suppressed.
    suppressed : int
        Records in them.
    loss : float, tuple of floats or None
        Information loss, None if the transformation is no solution.
    """

    levels: Levels
    rows: NDArray[np.int64]
    suppressed: int
    loss: InformationLoss | None


class Checker:
    """Evaluates transformations of one problem and counts the evaluations.

    Attributes
    ----------
    checked : int
        Partitions judged so far.
    inherited : bool
        Whether `surely_suppressed` finds all suppressed records: every model is monotone for this problem.
    absorbs : bool
        Whether classes that certainly fail may be dropped: nothing depends on how they are split.
    sized : bool
        Whether exactly the classes with fewer than `minimum` records certainly fail.
    minimum : int
        Records that a class must have.
    rejects_large : bool
        Whether a transformation in which a class of sufficient size fails is no solution. It is not inherited: such a
        class may have only small parts in a specialization, and a generalization may join small classes to one.
    looks_inside : bool
        Whether `most_kept` finds more than `surely_fails`.
    orders : bool
        Whether the order of the records matters.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.checked = 0
        self._models = [model for model in problem.models if not isinstance(model, TableWideModel)]
        self._table_wide = [model for model in problem.models if isinstance(model, TableWideModel)]
        self._minimum = max(model.minimum_class_size for model in problem.models)
        # a class that only the population has is ignored if classes must have a size; else it rules out the
        # transformation
        refusing = any(model.refuses_empty_classes for model in problem.models)
        self._refuses_empty = refusing and self._minimum <= 1
        self._leaves_out = refusing and self._minimum > 1
        self.inherited = not self._table_wide and all(map(self._is_inherited, self._models))
        # rows dropped from a box are not checked again, so they could not rule it out
        self.absorbs = not self._refuses_empty
        sized = all(model.is_sized(suppressing=self._suppressing(model)) for model in self._models)
        self.sized = sized and not self._table_wide and not self._refuses_empty and problem.table.refused is None
        # where exactly the small classes fail, or none may, the rule changes nothing
        self.rejects_large = problem.small_only and problem.limit > 0 and not (self.sized and self.inherited)
        self.inherited = self.inherited and not self.rejects_large
        self.minimum = max(self._least_class_size(model) for model in problem.models)
        self._inside = [model for model in self._models if model.looks_inside and not self._is_inherited(model)]
        self.looks_inside = bool(self._inside) and problem.table.population is None
        self.orders = bool(self._table_wide)

    def _least_class_size(self, model: PrivacyModel) -> int:
        name = model.sensitive_attribute
        return model.least_class_size(None if name is None else self._problem.table.sensitive[name])

    def _is_inherited(self, model: PrivacyModel) -> bool:
        return model.is_inherited(suppressing=self._suppressing(model))

    def _suppressing(self, model: PrivacyModel) -> bool:
        return self._problem.limit > 0 or (self._leaves_out and model.refuses_empty_classes)

    def check(self, levels: Levels, classes: Classes | None = None) -> Check:
        """Evaluate a transformation exactly; `classes` is its partition, if it exists already."""
        if classes is None:
            classes = self._problem.table.partition(levels)
        fails = self.too_small(classes)
        fails |= self._judged(classes, lambda model, present: model.violated(present))
        valid = not self._is_refused(classes) and not (self.rejects_large and self.is_large(classes, fails))
        valid = valid and self._enforce(levels, classes, fails)
        rows, suppressed = self._select(classes, fails)
        valid = valid and suppressed <= self._problem.limit
        loss = self._problem.evaluator.loss(levels, classes, rows) if valid else None
        return Check(levels, rows, suppressed, loss)

    def surely_suppressed(self, classes: Classes) -> tuple[NDArray[np.int64], int]:
        """Return rows, and their records, that are suppressed in every specialization of a partition.

        The number is above the limit if no specialization is a solution.
        """
        fails = self.too_small(classes)
        fails |= self._judged(
            classes,
            lambda model, present: model.surely_violated(present, suppressing=self._suppressing(model)),
        )
        rows, suppressed = self._select(classes, fails)
        limit = self._problem.limit
        if suppressed <= limit and (self._is_refused(classes) or self._is_hopeless(classes)):
            return rows, limit + 1
        return rows, suppressed

    def surely_fails(self, classes: Classes, gone: int = 0) -> tuple[NDArray[np.bool_], bool]:
        """Return the classes that are suppressed in every specialization of a partition, bool, shape (C,).

        Also return whether no specialization is a solution, even without the limit. Where the classes that are too
        small exceed the limit, with `gone` records that are suppressed besides, the others are not judged.
        """
        self.checked += 1
        fails = self.too_small(classes)
        if gone + classes.counts[fails].sum() > self._problem.limit:
            return fails, False
        fails |= self._judged(
            classes,
            lambda model, present: model.surely_violated(present, suppressing=self._suppressing(model)),
        )
        return fails, self._is_refused(classes) or self._is_hopeless(classes)

    def too_small(self, classes: Classes) -> NDArray[np.bool_]:
        """Return the classes that are suppressed by their size alone, or refused, bool, shape (C,)."""
        fails = classes.counts < self.minimum
        if self._problem.table.refused is not None:
            fails |= classes.refused
        return fails

    def is_large(self, classes: Classes, fails: NDArray[np.bool_]) -> bool:
        """Whether one of some classes, bool, shape (C,), has the records that the models demand, and is not refused."""
        return bool((fails & ~classes.refused & (classes.counts >= self._minimum)).any())

    def most_kept(self, classes: Classes) -> NDArray[np.int64]:
        """Bound the records that any specialization of a partition keeps of each class, int64, shape (C,)."""
        kept = classes.counts
        for model in self._inside if classes.size else ():
            kept = np.minimum(kept, model.most_kept(classes, self.minimum))
        return kept

    def fork(self) -> Checker:
        """Return another checker of the same problem, with a separate count."""
        other = copy.copy(self)
        other.checked = 0
        return other

    def fails(self, classes: Classes) -> NDArray[np.bool_]:
        """Return the classes that violate some model, without table-wide ones, bool, shape (C,)."""
        self.checked += 1
        return self._judged(classes, lambda model, present: model.violated(present))

    def _judged(self, classes: Classes, judge: Judge) -> NDArray[np.bool_]:
        """Return the classes that fail a model; a class without records fails none."""
        fails = np.zeros(classes.size, np.bool_)
        if not classes.size:
            return fails
        if self._problem.table.population is None:
            for model in self._models:
                fails |= judge(model, classes)
            return fails
        present = PresentClasses.of(classes)
        for model in self._models:
            fails[present.there] |= judge(model, present)
        return fails

    def _is_refused(self, classes: Classes) -> bool:
        """Whether a class that only the population has rules it out; parts of such a class are such classes too."""
        return self._refuses_empty and bool(((classes.counts == 0) & ~classes.refused).any())

    def _is_hopeless(self, classes: Classes) -> bool:
        if not self._table_wide:
            return False
        sizes = classes.counts[classes.counts > 0]
        return any(model.hopeless(sizes, self._problem.limit) for model in self._table_wide)

    def _enforce(self, levels: Levels, classes: Classes, fails: NDArray[np.bool_]) -> bool:
        """Suppress classes until the table-wide criteria hold; False if the limit does not allow it."""
        if not self._table_wide:
            return True
        room = self._problem.limit - int(classes.counts[fails].sum())
        order = self._problem.evaluator.class_order(levels, classes)
        demanded = smallest_classes(self._table_wide, classes, ~fails & (classes.counts > 0), order, room)
        if demanded is None:
            return False
        fails[demanded] = True
        return True

    def _select(self, classes: Classes, fails: NDArray[np.bool_]) -> tuple[NDArray[np.int64], int]:
        self.checked += 1
        if not fails.any():
            return np.empty(0, np.int64), 0
        return rows_of_classes(classes.gid, fails), int(classes.counts[fails].sum())
