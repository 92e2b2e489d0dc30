"""What the algorithms of local recoding are given, and what they return.

In: a problem whose models judge each class by itself, and whose measure is a sum over records and attributes. Out:
`Pieces` of the tuples, each at levels of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.cells import Shape
from engine.search.problem import Problem
from engine.utility.additive import AdditiveEvaluator


class Pieces(NamedTuple):
    """A recoding: parts of tuples, and how each is shown.

    Attributes
    ----------
    tuples : int64, shape (P,)
        Row of the frequency table of each piece.
    records : int64, shape (P,)
    levels : int8, shape (P, m)
    """

    tuples: NDArray[np.int64]
    records: NDArray[np.int64]
    levels: NDArray[np.int8]


def additive(problem: Problem) -> AdditiveEvaluator:
    """Return the measure of a problem, whose job allows only sums over records and attributes."""
    assert isinstance(problem.evaluator, AdditiveEvaluator)  # noqa: S101 (the job's own validation)
    return problem.evaluator


def shape_of(problem: Problem) -> Shape:
    """Return the labels of a problem, and what a record with each adds to the loss."""
    hierarchies = problem.table.hierarchies
    sizes = [hierarchy.codes.size for hierarchy in hierarchies]
    return Shape(
        np.concatenate([hierarchy.codes.ravel() for hierarchy in hierarchies]).astype(np.int32),
        np.concatenate([costs.ravel() for costs in additive(problem).record_costs()]),
        np.cumsum([0, *sizes[:-1]]).astype(np.int64),
        np.array([hierarchy.codes.shape[1] for hierarchy in hierarchies], np.int64),
        np.array(problem.lattice.low, np.int64),
        np.array(problem.lattice.high, np.int64),
    )


def at(shape: Shape, a: int, levels: NDArray[np.int64], leaves: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the places in a shape of the labels of leaves of attribute `a` at levels, shape (rows,)."""
    places: NDArray[np.int64] = shape.offsets[a] + levels * shape.leaves[a] + leaves
    return places
