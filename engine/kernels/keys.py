"""Distinct integer keys with their counts, by open addressing; they are numbered in order of first appearance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel


@inlined
def _slot(key: np.int64, mask: np.uint64) -> np.int64:
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & mask)


@kernel
def count_keys(
    keys: NDArray[np.int64],
    records: NDArray[np.int64],
    known: NDArray[np.int64],
    counts: NDArray[np.int64],
    slots: NDArray[np.int32],
    size: int,
) -> int:
    """Add keys to a table of keys, in place; return how many it then has.

    Parameters
    ----------
    keys, records : int64, shape (rows,)
        What is added; shape (1,) of `records` means as many of each key.
    known, counts : int64, shape (capacity,)
        The first `size` are in use; there is room for `rows` more.
    slots : int32, a power of two, at least twice the keys
        Numbers of keys, -1 where empty.
    """
    mask = np.uint64(slots.shape[0] - 1)
    each = records.shape[0] > 1
    for row in range(keys.shape[0]):
        key = keys[row]
        slot = _slot(key, mask)
        while slots[slot] >= 0 and known[slots[slot]] != key:
            slot = (slot + 1) & np.int64(mask)
        number = slots[slot]
        if number < 0:
            number = size
            slots[slot] = size
            known[size] = key
            counts[size] = 0
            size += 1
        counts[number] += records[row] if each else records[0]
    return size


@kernel
def index_keys(known: NDArray[np.int64], slots: NDArray[np.int32]) -> None:
    """Enter distinct keys, shape (size,), into `slots`, in place; they are all -1 before."""
    mask = np.uint64(slots.shape[0] - 1)
    for number in range(known.shape[0]):
        slot = _slot(known[number], mask)
        while slots[slot] >= 0:
            slot = (slot + 1) & np.int64(mask)
        slots[slot] = number


@kernel
def find_keys(keys: NDArray[np.int64], known: NDArray[np.int64], slots: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the number of each key among `known`, -1 for one that is not there, shape (rows,)."""
    mask = np.uint64(slots.shape[0] - 1)
    found = np.empty(keys.shape[0], np.int64)
    for row in range(keys.shape[0]):
        slot = _slot(keys[row], mask)
        while slots[slot] >= 0 and known[slots[slot]] != keys[row]:
            slot = (slot + 1) & np.int64(mask)
        found[row] = slots[slot]
    return found
