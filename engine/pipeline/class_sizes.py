"""The distribution of the kept equivalence classes by size, in bins that double in width.

In: class sizes and the smallest size that a job allows. Out: plain numbers for the report. No bin is below the
smallest class, so that no figure is about fewer records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.pipeline.document import SizeBin


def size_distribution(
    sizes: NDArray[np.int64], smallest: int, records_of: NDArray[np.int64] | None = None
) -> list[SizeBin]:
    """Count classes and their records by size.

    Parameters
    ----------
    sizes : int64, shape (C,)
        Records of each kept class, or persons, at least `smallest`.
    smallest : int
        Where the first bin starts, at least 1.
    records_of : int64, shape (C,), optional
        Records of each class where sizes count persons.

    Returns
    -------
    list of SizeBin
        Bins `smallest` to 2 `smallest` - 1, 2 `smallest` to 4 `smallest` - 1, ..., up to that of the largest class:
        `from` and `to`, both included, `classes`, `records`. Empty bins are kept; without any class there is
        no bin.
    """
    if not sizes.size:
        return []
    # the binary exponent of the whole quotient is exact; a logarithm might not be
    bins = np.frexp((sizes // smallest).astype(np.float64))[1] - 1
    classes, records = np.bincount(bins), np.zeros(int(bins.max()) + 1, np.int64)
    np.add.at(records, bins, sizes if records_of is None else records_of)
    return [
        {
            "from": smallest << place,
            "to": (smallest << (place + 1)) - 1,
            "classes": int(classes[place]),
            "records": int(records[place]),
        }
        for place in range(classes.size)
    ]
