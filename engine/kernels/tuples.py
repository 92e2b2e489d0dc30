"""Distinct tuples of codes, by open addressing over whole rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel

EMPTY = np.int64(-1)


@inlined
def _hash(codes: NDArray[np.int32], row: int, mask: np.uint64) -> np.int64:
    state = np.uint64(0x9E3779B97F4A7C15)
    for a in range(codes.shape[1]):
        state = (state ^ np.uint64(np.uint32(codes[row, a]))) * np.uint64(0xFF51AFD7ED558CCD)
        state ^= state >> np.uint64(32)
    return np.int64(state & mask)


@inlined
def _same(left: NDArray[np.int32], i: int, right: NDArray[np.int32], j: int) -> bool:
    for a in range(left.shape[1]):  # noqa: SIM110 (compiled)
        if left[i, a] != right[j, a]:
            return False
    return True


@kernel
def index_tuples(codes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Enumerate the distinct tuples of `codes`, shape (rows, m), in order of first appearance.

    Returns
    -------
    group : int64, shape (rows,)
        Number of each row's tuple.
    first : int64, shape (groups,)
        Row where each tuple appears first.
    slots : int64, a power of two
        Hash table: numbers of tuples, -1 where empty. `find_tuples` reads it.
    """
    rows = codes.shape[0]
    size = 16
    while size < 2 * rows:
        size *= 2
    mask = np.uint64(size - 1)
    slots = np.full(size, EMPTY)
    group = np.empty(rows, np.int64)
    first = np.empty(rows, np.int64)
    groups = 0
    for row in range(rows):
        slot = _hash(codes, row, mask)
        while slots[slot] != EMPTY and not _same(codes, row, codes, first[slots[slot]]):
            slot = (slot + 1) & (size - 1)
        if slots[slot] == EMPTY:
            slots[slot] = groups
            first[groups] = row
            groups += 1
        group[row] = slots[slot]
    return group, first[:groups].copy(), slots


@kernel
def find_tuples(codes: NDArray[np.int32], known: NDArray[np.int32], slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """Look rows up among distinct tuples.

    Parameters
    ----------
    codes : int32, shape (rows, m)
    known : int32, shape (groups, m)
        The distinct tuples, in the order of `index_tuples`.
    slots : int64
        The hash table of `index_tuples`.

    Returns
    -------
    int64, shape (rows,)
        Number of each row's tuple, -1 if it is unknown.
    """
    rows = codes.shape[0]
    size = slots.shape[0]
    mask = np.uint64(size - 1)
    group = np.empty(rows, np.int64)
    for row in range(rows):
        slot = _hash(codes, row, mask)
        while slots[slot] != EMPTY and not _same(codes, row, known, slots[slot]):
            slot = (slot + 1) & (size - 1)
        group[row] = slots[slot]
    return group


@kernel
def take_listed(found: NDArray[np.int64], rest: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Select the first records of each kind, as many as are wanted.

    Parameters
    ----------
    found : int64, shape (records,)
        Kind of each record, -1 for none.
    rest : int64, shape (kinds,)
        Records still wanted; counted down in place.

    Returns
    -------
    bool, shape (records,)
    """
    taken = np.zeros(found.shape[0], np.bool_)
    for r in range(found.shape[0]):
        kind = found[r]
        if kind >= 0 and rest[kind] > 0:
            rest[kind] -= 1
            taken[r] = True
    return taken
