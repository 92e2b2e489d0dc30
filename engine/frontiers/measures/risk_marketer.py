"""Marketer risk: the share of records that an attack on all of them is expected to find in the population.

Dankar, El Emam, A method for evaluating marketer re-identification risk. PAIS 2010; as Xia et al. 2015 use it: the mean
over records of 1 / F, with F people in the record's cell.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.risk import Risk
from engine.kernels.frontier_state import SHARED


def _marketer(records: NDArray[np.int64], people: NDArray[np.int64]) -> float:
    return math.fsum((records / people).tolist()) / int(records.sum())


MARKETER = Risk("marketer", _marketer, SHARED)
