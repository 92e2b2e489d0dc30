"""The form of a measure of utility loss.

It must be monotone: joining groups never lowers it. All of them have one form,

    start - per_cell * (sum over cells of f ln f) + sum over attributes and groups of (records) * cost(leaf values),

so a walk updates the sums without knowing the measure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Loss:
    """The numbers of a measure for one table.

    Attributes
    ----------
    start, per_cell : float
        See above.
    costs : tuple of float64, shape (d + 1,)
        For each attribute the loss of a record in a group of 0, 1, ..., d leaf values.
    """

    start: float
    per_cell: float
    costs: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True)
class UtilityLoss:
    """A measure of utility loss.

    Attributes
    ----------
    name : str
        Its name in a job.
    on : function
        Of the records of each distinct tuple, int64, shape (tuples,), at least 1, and the leaf values of each
        attribute, to its numbers.
    """

    name: str
    on: Callable[[NDArray[np.int64], tuple[int, ...]], Loss]
