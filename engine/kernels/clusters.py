"""Clusters of tuples under the lowest labels that they share: agglomeration, and once more among neighbours.

Cells and their costs are those of `cells`. Tuples are whole: only `_give` splits the records of equal tuples.

Aggarwal et al., Achieving anonymity via clustering. PODS 2006. Byun et al., Efficient k-anonymization using clustering
techniques. DASFAA 2007: here with a rise per record still needed, over all classes that are too small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.cells import Shape, cell_cost, met_cost, shared
from engine.kernels.jit import inlined, kernel


class Clusters(NamedTuple):
    """Classes of a block of N tuples, of which some are split; there are at most as many classes as tuples.

    Attributes
    ----------
    head : int64, shape (N,)
        First entry of each class; -1 for one that is empty.
    tail : int64, shape (N,)
    after : int64, shape (E,)
        Entry behind each entry in its class; -1 for the last.
    tuples : int64, shape (E,)
        Tuple of each entry.
    records : int64, shape (E,)
        Its records in this class.
    size : int64, shape (N,)
        Records of each class.
    levels : int64, shape (N, m)
        Of each class; its labels are those of its first entry's tuple.
    cost : float64, shape (N,)
        Of one record of each class.
    used : int64, shape (1,)
        Entries in use.
    """

    head: NDArray[np.int64]
    tail: NDArray[np.int64]
    after: NDArray[np.int64]
    tuples: NDArray[np.int64]
    records: NDArray[np.int64]
    size: NDArray[np.int64]
    levels: NDArray[np.int64]
    cost: NDArray[np.float64]
    used: NDArray[np.int64]


@kernel
def singletons(shape: Shape, codes: NDArray[np.int32], counts: NDArray[np.int64], room: int) -> Clusters:
    """Make a class of each tuple, codes int32, shape (N, m), with `room` entries for those that are split."""
    number, m = codes.shape
    after = np.full(number + room, -1, np.int64)
    tuples = np.zeros(number + room, np.int64)
    records = np.zeros(number + room, np.int64)
    levels = np.empty((number, m), np.int64)
    cost = np.empty(number, np.float64)
    head = np.arange(number)
    for t in range(number):
        tuples[t] = t
        records[t] = counts[t]
        levels[t] = shape.low
        cost[t] = cell_cost(shape, codes[t], levels[t])
    return Clusters(
        head, head.copy(), after, tuples, records, counts.copy(), levels, cost, np.array([number], np.int64)
    )


@inlined
def _rise(k: int, one: int, own: float, other: int, others: float, met: float) -> float:
    """Return the rise in cost per record still needed, if two classes of these sizes and costs come together.

    A class that keeps k records gives no more than the other one lacks.
    """
    given = other
    if other >= k:
        given = min(other, max(k - one, 1))
        if other - given < k:
            given = other
    needed = max(k - one, 0) + max(k - other, 0)
    left = max(k - one - other, 0)
    return (one * (met - own) + given * (met - others)) / (needed - left)


@kernel
def nearest(
    shape: Shape, codes: NDArray[np.int32], found: Clusters, alive: NDArray[np.int64], number: int, one: int, k: int
) -> tuple[float, int]:
    """Return the least rise of a class that is too small with any of `alive[:number]`, and that class, or -1."""
    best, partner = np.inf, -1
    size, own = found.size[one], found.cost[one]
    mine, levels = codes[found.tuples[found.head[one]]], found.levels[one]
    for place in range(number):
        other = alive[place]
        if other == one:
            continue
        # at the best, the other class rises as little as it can
        most = np.inf
        if partner >= 0:
            most = own + best * (max(k - size, 0) + max(k - found.size[other], 0)) / size
        met = met_cost(shape, mine, levels, codes[found.tuples[found.head[other]]], found.levels[other], most)
        if met == np.inf:
            continue
        rise = _rise(k, size, own, found.size[other], found.cost[other], met)
        if rise < best or (rise == best and found.size[other] < found.size[partner]):
            best, partner = rise, other
    return best, partner


@inlined
def _push(heap: NDArray[np.float64], what: NDArray[np.int64], number: int, key: float, a: int, b: int, c: int) -> int:
    at = number
    while at > 0:
        above = (at - 1) >> 1
        if heap[above] <= key:
            break
        heap[at] = heap[above]
        what[at] = what[above]
        at = above
    heap[at] = key
    what[at, 0], what[at, 1], what[at, 2] = a, b, c
    return number + 1


@inlined
def _pop(heap: NDArray[np.float64], what: NDArray[np.int64], number: int) -> int:
    """Remove the first entry, which the caller has read."""
    number -= 1
    key, a, b, c = heap[number], what[number, 0], what[number, 1], what[number, 2]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= number:
            break
        if below + 1 < number and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= key:
            break
        heap[at] = heap[below]
        what[at] = what[below]
        at = below
    heap[at] = key
    what[at, 0], what[at, 1], what[at, 2] = a, b, c
    return number


@kernel
def _tighten(shape: Shape, codes: NDArray[np.int32], found: Clusters, one: int) -> None:
    """Lower the levels of a class to the meet of its tuples."""
    levels = found.levels[one]
    first = codes[found.tuples[found.head[one]]]
    for a in range(levels.shape[0]):
        level = shape.low[a]
        entry = found.after[found.head[one]]
        while entry >= 0:
            level = shared(shape, a, first[a], codes[found.tuples[entry]][a], level)
            entry = found.after[entry]
        levels[a] = level
    found.cost[one] = cell_cost(shape, first, levels)


@kernel
def _give(shape: Shape, codes: NDArray[np.int32], found: Clusters, giver: int, taker: int, wanted: int) -> None:
    """Move records of a class, of the tuples that cost the taker least, to another one."""
    while wanted > 0:
        best, chosen, before, last = np.inf, -1, -1, -1
        entry = found.head[giver]
        mine, levels = codes[found.tuples[found.head[taker]]], found.levels[taker]
        while entry >= 0:
            met = met_cost(shape, mine, levels, codes[found.tuples[entry]], shape.low, np.inf)
            if met < best:
                best, chosen, before = met, entry, last
            last = entry
            entry = found.after[entry]
        moved = min(wanted, found.records[chosen])
        if moved < found.records[chosen]:
            found.records[chosen] -= moved
            fresh = found.used[0]
            found.used[0] += 1
            found.tuples[fresh] = found.tuples[chosen]
            found.records[fresh] = moved
            moving = fresh
        else:
            if before < 0:
                found.head[giver] = found.after[chosen]
            else:
                found.after[before] = found.after[chosen]
            if found.tail[giver] == chosen:
                found.tail[giver] = before
            moving = chosen
        found.after[moving] = -1
        found.after[found.tail[taker]] = moving
        found.tail[taker] = moving
        found.size[giver] -= moved
        found.size[taker] += moved
        wanted -= moved
        other = codes[found.tuples[moving]]
        for a in range(levels.shape[0]):
            levels[a] = shared(shape, a, mine[a], other[a], levels[a])
    _tighten(shape, codes, found, giver)
    _tighten(shape, codes, found, taker)


@kernel
def _merge(shape: Shape, codes: NDArray[np.int32], found: Clusters, one: int, other: int) -> None:
    """Put all records of the second class into the first."""
    mine, theirs = codes[found.tuples[found.head[one]]], codes[found.tuples[found.head[other]]]
    for a in range(found.levels.shape[1]):
        found.levels[one, a] = shared(shape, a, mine[a], theirs[a], max(found.levels[one, a], found.levels[other, a]))
    found.cost[one] = cell_cost(shape, mine, found.levels[one])
    found.after[found.tail[one]] = found.head[other]
    found.tail[one] = found.tail[other]
    found.size[one] += found.size[other]
    found.size[other] = 0
    found.head[other] = -1


@kernel
def agglomerate(shape: Shape, codes: NDArray[np.int32], counts: NDArray[np.int64], k: int) -> Clusters:
    """Join the tuples of a block to classes of at least k records, always where the rise per record needed is least.

    Parameters
    ----------
    codes : int32, shape (N, m)
        Leaf codes of the tuples, which all have one label at the highest levels.
    counts : int64, shape (N,)
        Records of each; at least k in all.
    """
    number = codes.shape[0]
    # a class that takes records of another is large enough then, and one tuple is split for it at most
    found = singletons(shape, codes, counts, number)
    alive = np.arange(number)
    place = np.arange(number)
    count = number
    version = np.zeros(number, np.int64)
    heap = np.empty(4 * number + 4, np.float64)
    what = np.empty((4 * number + 4, 3), np.int64)
    waiting = 0
    for one in range(number):
        if found.size[one] < k:
            rise, other = nearest(shape, codes, found, alive, count, one, k)
            if other >= 0:
                # the versions of both, in one number each: of the other one in the low half
                waiting = _push(heap, what, waiting, rise, one, other, 0)
    while waiting > 0:
        one, other, stamp = what[0, 0], what[0, 1], what[0, 2]
        waiting = _pop(heap, what, waiting)
        if found.head[one] < 0 or found.size[one] >= k or (stamp >> 32) != version[one]:
            continue
        if found.head[other] < 0 or (stamp & 0xFFFFFFFF) != version[other]:
            rise, other = nearest(shape, codes, found, alive, count, one, k)
            if other >= 0:
                waiting = _push(heap, what, waiting, rise, one, other, (version[one] << 32) | version[other])
            continue
        wanted = k - found.size[one]
        if found.size[other] >= k and found.size[other] - wanted >= k:
            _give(shape, codes, found, other, one, wanted)
            version[other] += 1
            version[one] += 1
            continue
        _merge(shape, codes, found, one, other)
        version[one] += 1
        version[other] += 1
        count -= 1
        last = alive[count]
        alive[place[other]] = last
        place[last] = place[other]
        if found.size[one] < k:
            rise, other = nearest(shape, codes, found, alive, count, one, k)
            if other >= 0:
                waiting = _push(heap, what, waiting, rise, one, other, (version[one] << 32) | version[other])
    for one in range(number):
        if found.head[one] >= 0:
            _tighten(shape, codes, found, one)
    return found


@kernel
def as_pairs(found: Clusters) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the tuple, class and records of each entry, int64, shape (E,)."""
    number = 0
    for one in range(found.head.shape[0]):
        entry = found.head[one]
        while entry >= 0:
            number += 1
            entry = found.after[entry]
    tuples, classes, records = np.empty(number, np.int64), np.empty(number, np.int64), np.empty(number, np.int64)
    number = 0
    for one in range(found.head.shape[0]):
        entry = found.head[one]
        while entry >= 0:
            tuples[number], classes[number], records[number] = found.tuples[entry], one, found.records[entry]
            number += 1
            entry = found.after[entry]
    return tuples, classes, records
