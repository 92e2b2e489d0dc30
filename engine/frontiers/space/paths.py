"""Random maximal chains between two policies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.space.domain import Bits, PolicySpace


def upward(space: PolicySpace, bits: Bits, keys: NDArray[np.float64]) -> NDArray[np.int64]:
    """Order bits so that each comes after those under it, else by their keys.

    Parameters
    ----------
    bits : bool, shape (size,)
        The bits to clear; with a bit, all set bits of the policy under it.
    keys : float64, shape (size,)
        Smallest first. With random keys every chain is possible, but not equally probable.

    Returns
    -------
    int64, shape (bits set,)
    """
    keys = np.where(bits, keys, -np.inf)
    for children in reversed(space.generations):
        np.maximum.at(keys, space.parents[children], np.nextafter(keys[children], np.inf))
    chosen = np.flatnonzero(bits)
    return chosen[np.argsort(keys[chosen], kind="stable")]


def random_chain(space: PolicySpace, bits: Bits, random: np.random.Generator) -> NDArray[np.int64]:
    """Order bits at random so that each comes after those under it."""
    return upward(space, bits, random.random(space.size))
