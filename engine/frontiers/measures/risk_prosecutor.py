"""Prosecutor risk: the highest probability of finding a record of someone known to be in the table.

El Emam, Guide to the De-Identification of Personal Health Information, 2013, chapter 16: 1 / f in the smallest cell.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.risk import Risk
from engine.kernels.frontier_state import FEWEST_RECORDS


def _prosecutor(records: NDArray[np.int64], people: NDArray[np.int64]) -> float:
    del people
    return 1.0 / int(records.min())


PROSECUTOR = Risk("prosecutor", _prosecutor, FEWEST_RECORDS, of_population=False)
