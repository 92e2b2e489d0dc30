"""Attribute inference: how often the most frequent sensitive value of a record's class is its own.

In: the records with each sensitive value of each class. Out: shares. An attacker who knows the quasi-identifiers of a
person guesses the most frequent value of the class; who knows nothing guesses that of the table.

Homogeneity attack: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity. ACM TKDD 1(1), 2007, section 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def share_right(classes: NDArray[np.int64], records: NDArray[np.int64], smallest: int) -> float | None:
    """Return the share of records whose value is right by the most frequent value of their class.

    Parameters
    ----------
    classes, records : int64, shape (P,)
        Of each pair of a class and a value: the number of the class, from 0, and the records.
    smallest : int
        Records of the smallest class allowed: a share that tells of fewer records, right or wrong, is None.

    Returns
    -------
    float or None
        0 to 1; None without a record.
    """
    if not classes.size:
        return None
    most = np.zeros(int(classes.max()) + 1, np.int64)
    np.maximum.at(most, classes, records)
    right, rows = int(most.sum()), int(records.sum())
    few = any(0 < part < smallest for part in (right, rows - right))
    return None if few else right / rows
