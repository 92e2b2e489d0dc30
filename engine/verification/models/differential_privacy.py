"""Differential privacy, recounted: the smallest class, and from the definition how many records it must have.

Of n records of a class, each drawn with probability beta, more than gamma n are drawn with a probability of at most
delta for every n from which on k of them can be enough: n >= k / gamma - 1 (Li, Qardaji, Su, ASIACCS 2012).
Here that probability is added up for each n, by logarithms in doubles; the model finds k by decimals at the ends of
runs of n. That records were drawn so, and that all classes of the sample are accounted for, is judged beside it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.classes import classes_of
from engine.verification.records.records import Records

_TERMS = 128
"""Terms of a tail: each is less than half of the one before."""
_AT_ONCE = 1 << 12


def recount_differential_privacy(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the classes of the kept records."""
    sizes = classes_of(records).sizes
    epsilon = float(model["epsilon"]) - float(model.get("search_epsilon", 0.0))
    least = records_needed(epsilon, float(model["delta"]), float(model["sampling_fraction"]))
    below = int((sizes < least).sum())
    return Finding(
        "differential-privacy",
        holds=below == 0,
        observed=int(sizes.min()) if sizes.size else None,
        required=least,
        sense="at-least",
        column=None,
        message=Message.of(
            "equivalence classes with fewer than {least} records: {below} of {classes}",
            below=Count(below),
            classes=Count(sizes.size),
            least=least,
        ),
    )


@functools.lru_cache(maxsize=64)
def records_needed(epsilon: float, delta: float, fraction: float) -> int:
    """Return the smallest class that epsilon, delta and the fraction of the sample allow."""
    gamma = 1.0 - (1.0 - fraction) * math.exp(-epsilon)
    divergence = gamma * math.log(gamma / fraction) - (1.0 - gamma) * epsilon
    most = math.ceil(1.1 * math.log(1.0 / delta) / divergence) + 100
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, most + 1.0)))])
    for start in range(most, 0, -_AT_ONCE):
        numbers = np.arange(max(1, start - _AT_ONCE + 1), start + 1)
        beyond = np.flatnonzero(_tails(numbers, gamma, fraction, factorials) > delta)
        if beyond.size:
            # every larger number is safe: k must be so large that it is not reached with fewer
            return max(2, math.floor(gamma * (int(numbers[beyond[-1]]) + 1)) + 1)
    return 2


def _tails(
    numbers: NDArray[np.int64], gamma: float, fraction: float, factorials: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probability that more than gamma n of n records are drawn, for several n."""
    drawn = (np.floor(gamma * numbers).astype(np.int64) + 1)[:, None] + np.arange(_TERMS)
    whole = numbers[:, None]
    possible = np.minimum(drawn, whole)
    logarithms = (
        factorials[whole]
        - factorials[possible]
        - factorials[whole - possible]
        + possible * math.log(fraction)
        + (whole - possible) * math.log1p(-fraction)
    )
    found: NDArray[np.float64] = np.where(drawn <= whole, np.exp(logarithms), 0.0).sum(axis=1)
    return found


RECOUNT = Recount(model="differential-privacy", judge=recount_differential_privacy)
