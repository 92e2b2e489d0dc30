"""Prosecutor, journalist and marketer risk from equivalence classes.

El Emam, Guide to the De-Identification of Personal Health Information, 2013, chapter 16; formulas as in the
definitions. Without a population table the released table stands for the population.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def risks(kept: NDArray[np.int64]) -> dict[str, float]:
    """Compute the risk figures of the kept records.

    Parameters
    ----------
    kept : int64, shape (C,)
        Records of each kept equivalence class; may be empty (then nobody can be found: all risks are 0).

    Returns
    -------
    dict of float, each from 0 to 1
        `prosecutor` and `journalist`: the highest probability of finding one record; `marketer`: the share of records
        an attack on all of them is expected to find.
    """
    if not kept.size:
        return {"prosecutor": 0.0, "journalist": 0.0, "marketer": 0.0}
    highest = 1.0 / float(kept.min())
    return {"prosecutor": highest, "journalist": highest, "marketer": kept.size / float(kept.sum())}
