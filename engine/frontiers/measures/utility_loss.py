"""Loss: the share of the domain that a record's group covers beyond its own value, mean over records and attributes.

Iyengar, Transforming data to satisfy privacy constraints. KDD 2002, section 4: (s - 1) / (d - 1) for a group of s of d
leaf values. From 0 (no value joined) to 1 (no value kept apart).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.utility import Loss, UtilityLoss


def _loss(records: NDArray[np.int64], sizes: tuple[int, ...]) -> Loss:
    each = 1.0 / (int(records.sum()) * max(len(sizes), 1))
    return Loss(
        start=0.0,
        per_cell=0.0,
        costs=tuple(each * np.maximum(np.arange(size + 1) - 1, 0) / max(size - 1, 1) for size in sizes),
    )


LOSS = UtilityLoss("loss", _loss)
