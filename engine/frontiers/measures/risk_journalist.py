"""Journalist risk: the highest probability of finding the person of a record in the population.

El Emam, Guide to the De-Identification of Personal Health Information, 2013, chapter 16: 1 / F in the cell with records
that has the fewest people.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.risk import Risk
from engine.kernels.frontier_state import FEWEST_PEOPLE


def _journalist(records: NDArray[np.int64], people: NDArray[np.int64]) -> float:
    del records
    return 1.0 / int(people.min())


JOURNALIST = Risk("journalist", _journalist, FEWEST_PEOPLE)
