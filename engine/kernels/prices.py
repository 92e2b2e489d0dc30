"""Prices of records: what each is sure to cost in every local recoding, by a pass over all cells of all level vectors.

Of a cell to which at least k records may be given, the prices are such that the k largest sum to at most k times what a
record costs there. Every class of at least k records in the cell then has prices that sum to at most its cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel
from engine.kernels.recoding import Shape


@kernel
def lowered_prices(
    shape: Shape,
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    weights: NDArray[np.float64],
    keys: NDArray[np.uint64],
    k: int,
    begin: int,
    end: int,
    prices: NDArray[np.float64],
) -> None:
    """Lower prices, in place, to what the cells of some level vectors allow.

    For a record r of a cell with cost c the price is at most `k c weight(r)` over the sum of the k largest weights of
    the cell's records: so the k largest prices of the cell sum to at most `k c`, whatever the weights are.

    Parameters
    ----------
    codes : int32, shape (m, R)
        Leaf codes of tuples, in the order of descending weights.
    counts : int64, shape (R,)
        Records of each.
    weights : float64, shape (R,)
        At least 0, descending.
    keys : uint64, shape as of the labels of `shape`
        A random number per label. Cells are told apart by the sum of theirs; two that are not are one larger cell,
        which only lowers prices.
    begin, end : int
        The level vectors of these numbers; the level of the last attribute changes first.
    prices : float64, shape (R,)
    """
    m, rows = codes.shape
    size = 16
    while size < 2 * rows:
        size *= 2
    slots = np.empty(size, np.uint64)
    stamp = np.full(size, -1, np.int64)
    have = np.empty(size, np.int64)
    total = np.empty(size, np.float64)
    place = np.empty(rows, np.int64)
    # sums over the attributes before the last one, by how many they are
    key = np.zeros((m, rows), np.uint64)
    cost = np.zeros((m, rows), np.float64)
    levels = np.empty(m, np.int64)
    number = begin
    for a in range(m - 1, -1, -1):
        width = shape.high[a] - shape.low[a] + 1
        levels[a] = shape.low[a] + number % width
        number //= width
    changed = 0
    for vector in range(begin, end):
        for a in range(changed, m - 1):
            at = shape.offsets[a] + levels[a] * shape.leaves[a]
            for r in range(rows):
                key[a + 1, r] = key[a, r] + keys[at + codes[a, r]]
                cost[a + 1, r] = cost[a, r] + shape.costs[at + codes[a, r]]
        last = m - 1
        at = shape.offsets[last] + levels[last] * shape.leaves[last]
        for r in range(rows):
            own = key[last, r] + keys[at + codes[last, r]]
            slot = np.int64((own ^ (own >> np.uint64(29))) & np.uint64(size - 1))
            while stamp[slot] == vector and slots[slot] != own:
                slot = (slot + 1) & (size - 1)
            if stamp[slot] != vector:
                stamp[slot] = vector
                slots[slot] = own
                have[slot] = 0
                total[slot] = 0.0
            place[r] = slot
            if have[slot] < k:
                more = min(counts[r], k - have[slot])
                have[slot] += more
                total[slot] += more * weights[r]
        for r in range(rows):
            slot = place[r]
            if have[slot] >= k and total[slot] > 0.0:
                price = k * (cost[last, r] + shape.costs[at + codes[last, r]]) * (weights[r] / total[slot])
                prices[r] = min(prices[r], price)
        changed = m - 1
        while changed >= 0 and levels[changed] == shape.high[changed]:
            levels[changed] = shape.low[changed]
            changed -= 1
        if changed >= 0:
            levels[changed] += 1
        else:
            changed = 0
