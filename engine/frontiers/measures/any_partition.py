"""Risk and utility loss of any partition of the values, from scratch.

The groups of a policy are runs of neighbouring positions, and the measures of policies rely on this. A rule such as
Safe Harbor may join values that are not neighbours; this module measures it, by the same definitions.
"""

from __future__ import annotations

import math

import numpy as np

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
    codes = np.stack([own[row] for own, row in zip(classes, tuples.positions, strict=True)], axis=1)
    cell, firsts, _ = index_tuples(np.ascontiguousarray(codes))
    records, people = np.zeros((2, firsts.size), np.int64)
    np.add.at(records, cell, tuples.records)
    np.add.at(people, cell, tuples.people)
    there = records > 0
    records, people = records[there], np.maximum(people, records)[there]
    there = tuples.records > 0
    loss = utility.on(tuples.records[there], tuple(own.size for own in classes))
    terms = [loss.start, *(-loss.per_cell * records * np.log(records)).tolist()]
    for own, costs, row in zip(classes, loss.costs, tuples.positions, strict=True):
        sizes = np.bincount(own)
        terms += (tuples.records * costs[sizes[own[row]]]).tolist()
    return Point(risk.of_cells(records, people), max(0.0, math.fsum(terms)))
