"""Risk and utility loss of any partition of the values, from scratch.

The groups of a policy are runs of neighbouring positions, and the measures of policies rely on this. A rule such as
Safe Harbor may join values that are not neighbours; this module measures it, by the same definitions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.along_paths import Point
from engine.frontiers.measures.risk import Risk
from engine.frontiers.measures.utility import UtilityLoss
from engine.frontiers.space.coarsening import Classes
from engine.frontiers.space.tuples import Tuples
from engine.kernels.tuples import index_tuples


def point_of(classes: Classes, tuples: Tuples, risk: Risk, utility: UtilityLoss) -> Point:
    """Measure a partition.

    Parameters
    ----------
    classes : sequence of int32, shape (d,)
        For each quasi-identifier the class of each position, numbered from 0.
    tuples : Tuples
        The table and its population.
    risk, utility : Risk, UtilityLoss
    """
    cell, cells = _cells(classes, tuples)
    records, people = np.zeros((2, cells), np.int64)
    np.add.at(records, cell, tuples.records)
    np.add.at(people, cell, tuples.people)
    there = records > 0
    figure = risk.of_cells(records[there], np.maximum(people, records)[there])
    return Point(figure, utility_loss_of(classes, tuples, utility, np.zeros(cell.size, np.bool_)))


def utility_loss_of(classes: Classes, tuples: Tuples, utility: UtilityLoss, suppressed: NDArray[np.bool_]) -> float:
    """Measure the utility loss of a partition of which some tuples are suppressed.

    Suppressed records are one cell, which may stand for every leaf cell, whether they are in the file or left out: so
    suppression never lowers the loss (log sum inequality).

    Parameters
    ----------
    suppressed : bool, shape (R,)
        Tuples whose records are suppressed.
    """
    cell, cells = _cells(classes, tuples)
    records = np.zeros(cells + 1, np.int64)
    np.add.at(records, np.where(suppressed, cells, cell), tuples.records)
    records = records[records > 0]
    loss = utility.on(tuples.records[tuples.records > 0], tuple(own.size for own in classes))
    terms = [loss.start, *(-loss.per_cell * records * np.log(records)).tolist()]
    for own, costs, row in zip(classes, loss.costs, tuples.positions, strict=True):
        sizes = np.where(suppressed, own.size, np.bincount(own)[own[row]])
        terms += (tuples.records * costs[sizes]).tolist()
    return max(0.0, math.fsum(terms))


def _cells(classes: Classes, tuples: Tuples) -> tuple[NDArray[np.int64], int]:
    """Return the cell of each tuple, shape (R,), and the number of cells."""
    codes = np.stack([own[row] for own, row in zip(classes, tuples.positions, strict=True)], axis=1)
    cell, firsts, _ = index_tuples(np.ascontiguousarray(codes))
    return cell, int(firsts.size)
