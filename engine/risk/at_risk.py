"""Shares of the kept records that are at risk: at or above a threshold, or alone in their class.

El Emam, Guide to the De-Identification of Personal Health Information, 2013, chapter 16. A record of a class of c has
the prosecutor's risk 1 / c; with C records of the population in the class, it has the journalist's risk 1 / C.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from engine.errors import InvalidJob

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def records_at_risk(kept: NDArray[np.int64], threshold: float) -> float:
    """Return the share of the kept records whose prosecutor's risk is at or above `threshold`.

    Parameters
    ----------
    kept : int64, shape (C,)
        Records of each kept class, at least 1; may be empty (then nobody is at risk).
    threshold : float
        From 0 to 1, read as the decimal it is written as: in a class of five everybody is at 0.2.

    Raises
    ------
    InvalidJob
        If `threshold` is out of range.
    """
    return records_at_journalist_risk(kept, kept, threshold)


def records_at_journalist_risk(kept: NDArray[np.int64], population: NDArray[np.int64], threshold: float) -> float:
    """Return the share of the kept records whose journalist's risk is at or above `threshold`.

    Parameters
    ----------
    kept : int64, shape (C,)
        Records of each kept class, at least 1; may be empty.
    population : int64, shape (C,)
        Records of the population in each of these classes, at least 1.
    threshold : float
        From 0 to 1, read as the decimal it is written as.

    Raises
    ------
    InvalidJob
        If `threshold` is out of range.
    """
    return _share(kept, population <= _largest_at_risk(threshold))


def sample_uniqueness(kept: NDArray[np.int64]) -> float:
    """Return the share of the kept records that are alone in their class; 0 if none is kept.

    Parameters
    ----------
    kept : int64, shape (C,)
        Records of each kept class, at least 1; may be empty.
    """
    return _share(kept, kept == 1)


def _largest_at_risk(threshold: float) -> float:
    """Return the largest whole c with 1 / c at or above the threshold: infinite where each is."""
    if not 0 <= threshold <= 1:
        raise InvalidJob("risk threshold must be from 0 to 1: the probability of finding a record")
    limit = Fraction(str(threshold))
    return math.floor(1 / limit) if limit else math.inf


def _share(kept: NDArray[np.int64], chosen: NDArray[np.bool_]) -> float:
    return int(kept[chosen].sum()) / int(kept.sum()) if kept.size else 0.0
