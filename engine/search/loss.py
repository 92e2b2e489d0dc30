"""The loss of a solution: by its levels, or of a local recoding by those of each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.search.problem import Solution
from engine.tables.counting.frequency import FrequencyTable
from engine.utility.additive import AdditiveEvaluator
from engine.utility.classwise import ClasswiseEvaluator
from engine.utility.information_loss import InformationLoss
from engine.utility.measure import Evaluator


def loss_of(
    evaluator: Evaluator, table: FrequencyTable, solution: Solution, suppressed: NDArray[np.int64]
) -> InformationLoss:
    """Return the loss of a solution that suppresses these rows of its table; a local recoding has a measure for it."""
    found = loss_if_defined(evaluator, table, solution, suppressed)
    assert found is not None  # noqa: S101 (the job's own validation)
    return found


def loss_if_defined(
    evaluator: Evaluator, table: FrequencyTable, solution: Solution, suppressed: NDArray[np.int64]
) -> InformationLoss | None:
    """Return the loss of a solution; None of a local recoding whose measure is one of whole attributes."""
    classes = solution.partition(table)
    if solution.recoding is None or isinstance(evaluator, ClasswiseEvaluator):
        return evaluator.loss(solution.levels, classes, suppressed)
    if not isinstance(evaluator, AdditiveEvaluator):
        return None
    return evaluator.loss_of_rows(table.codes, table.counts, solution.recoding.levels, suppressed)
