"""A walk towards the top of the lattice over the occupied cells, if an array of all combinations is too large.

Each group has a list of its cells. Joining two groups moves the cells of the shorter list, so on a whole path a cell
moves at most log2(groups) times per attribute; if there is a cell with the same groups, the two become one. Cells are
found by a sum of one random number per group (Zobrist 1970), which a move changes by a difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.frontier_state import WalkState, figures, fuse, join_groups
from engine.kernels.jit import inlined, kernel


@inlined
def _mixed(number: np.int64) -> np.uint64:
    """Return the random number of a group (the finalizer of SplitMix64, Steele et al. 2014)."""
    state = np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@inlined
def _unlink(buckets: NDArray[np.int64], chain: NDArray[np.int64], bucket: np.int64, cell: np.int64) -> None:
    if buckets[bucket] == cell:
        buckets[bucket] = chain[cell]
        return
    before = buckets[bucket]
    while chain[before] != cell:
        before = chain[before]
    chain[before] = chain[cell]


@inlined
def _twin(
    codes: NDArray[np.int32],
    keys: NDArray[np.uint64],
    buckets: NDArray[np.int64],
    chain: NDArray[np.int64],
    bucket: np.int64,
    cell: np.int64,
) -> np.int64:
    """Return another cell with the same groups, -1 for none."""
    other: np.int64 = buckets[bucket]
    while other >= 0:
        if keys[other] == keys[cell]:
            same = True
            for a in range(codes.shape[1]):
                if codes[other, a] != codes[cell, a]:
                    same = False
            if same:
                break
        other = chain[other]
    return other


@kernel
def walk_hashed(
    state: WalkState,
    risk: int,
    codes: NDArray[np.int32],
    attributes: NDArray[np.int64],
    lefts: NDArray[np.int64],
    steps: NDArray[np.int64],
    places: float,
    found: NDArray[np.float64],
) -> np.int64:
    """Join groups step by step until an array of all combinations has at most `places` cells.

    Parameters
    ----------
    state : WalkState
        Changed in place.
    codes : int32, shape (cells, m)
        Groups of each cell, changed in place: a joined group has the code of one of its parts.
    attributes, lefts, steps, found
        As of `walk_dense`.
    places : float
        The walk ends when there are at most this many combinations of groups.

    Returns
    -------
    int64
        Policies measured; the rest of `found` is left alone.
    """
    cells, m = codes.shape
    groups = state.offsets[m]
    head, tail = np.full(groups, np.int64(-1)), np.full(groups, np.int64(-1))
    length = np.zeros(groups, np.int64)
    following = np.full((m, cells), np.int64(-1))
    names = np.empty(groups, np.int64)
    widths = state.widths.copy()
    for a in range(m):
        for group in range(state.widths[a]):
            names[state.offsets[a] + group] = group
    size = 16
    while size < 2 * cells:
        size *= 2
    mask = np.uint64(size - 1)
    buckets, chain = np.full(size, np.int64(-1)), np.full(cells, np.int64(-1))
    keys = np.zeros(cells, np.uint64)
    for cell in range(cells):
        for a in range(m):
            group = state.offsets[a] + codes[cell, a]
            keys[cell] += _mixed(group)
            following[a, cell] = head[group]
            if head[group] < 0:
                tail[group] = cell
            head[group] = cell
            length[group] += 1
        bucket = np.int64(keys[cell] & mask)
        chain[cell] = buckets[bucket]
        buckets[bucket] = cell
    for policy in range(steps.shape[0] - 1):
        for join in range(steps[policy], steps[policy + 1]):
            a = attributes[join]
            at = state.offsets[a]
            begin, middle = join_groups(state, a, lefts[join])
            widths[a] -= 1
            into, source = names[at + begin], names[at + middle]
            if length[at + into] < length[at + source]:
                into, source = source, into
            names[at + begin] = into
            shift = _mixed(at + into) - _mixed(at + source)
            cell = head[at + source]
            while cell >= 0:
                after = following[a, cell]
                if state.records[cell] > 0 or state.people[cell] > 0:
                    _unlink(buckets, chain, np.int64(keys[cell] & mask), cell)
                    keys[cell] += shift
                    codes[cell, a] = into
                    bucket = np.int64(keys[cell] & mask)
                    twin = _twin(codes, keys, buckets, chain, bucket, cell)
                    if twin >= 0:
                        fuse(state, risk, twin, cell)
                    else:
                        chain[cell] = buckets[bucket]
                        buckets[bucket] = cell
                        following[a, cell] = -1
                        if head[at + into] < 0:
                            head[at + into] = cell
                        else:
                            following[a, tail[at + into]] = cell
                        tail[at + into] = cell
                        length[at + into] += 1
                cell = after
        found[policy, 0], found[policy, 1] = figures(state, risk)
        combinations = 1.0
        for a in range(m):
            combinations *= widths[a]
        if combinations <= places:
            return np.int64(policy + 1)
    return np.int64(steps.shape[0] - 1)
