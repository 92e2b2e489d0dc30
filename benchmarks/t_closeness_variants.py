"""Checks of ordered t-closeness to compare with the engine's: those of the literature, and one that goes further.

In: the class of each row, histograms of rows, what is computed once for the table. Out: the distance of each class, and
whether it fails; a class that is settled without its distance has NaN. All decide by the same whole numbers and the
same division as `engine.kernels.closeness`, so that their verdicts are equal to the last bit.

Source: Bild, Eicher, Prasser, Efficient protection of health data from sensitive attribute disclosure. MIE 2020,
section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from engine.kernels.histograms import by_class

Verdict = tuple[NDArray[np.float64], NDArray[np.bool_]]
Check = Callable[..., Verdict]

NO_PRUNING, CHECK_PRUNING, SUMMAND_PRUNING = range(3)


@numba.njit(nogil=True)
def _modulo(key: int, capacity: int, _bits: int) -> int:
    return key % capacity


@numba.njit(nogil=True)
def _fibonacci(key: int, _capacity: int, bits: int) -> int:
    """Multiply by 2**64 divided by the golden ratio and keep the highest bits."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))


@numba.njit(nogil=True)
def _bits(offsets: Any, rows: Any) -> int:
    """Return the binary logarithm of a capacity at least twice the entries of rows."""
    entries = 0
    for r in rows:
        entries += offsets[r + 1] - offsets[r]
    bits = 1
    while 1 << bits < 2 * entries:
        bits += 1
    return bits


def _hash_table(slot_of: Callable[[int, int, int], int]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Compile a hash table of the counts of a class: how a value is looked up, and how the table is filled."""

    @numba.njit(nogil=True)
    def slot(keys: Any, value: int, bits: int) -> int:
        """Return where a value is in the table, or would be: open addressing, linear probing."""
        capacity = keys.shape[0]
        place = slot_of(value, capacity, bits)
        while keys[place] >= 0 and keys[place] != value:
            place += 1
            if place == capacity:
                place = 0
        return place

    @numba.njit(nogil=True)
    def count(keys: Any, found: Any, bits: int, rows: Any, offsets: Any, values: Any, counts: Any) -> Any:
        """Fill the table with the values of rows; return their records and the smallest value."""
        keys[:] = -1
        size = np.int64(0)
        smallest = values[offsets[rows[0]]]
        for r in rows:
            for i in range(offsets[r], offsets[r + 1]):
                place = slot(keys, values[i], bits)
                if keys[place] < 0:
                    keys[place] = values[i]
                    found[place] = 0
                found[place] += counts[i]
                size += counts[i]
                smallest = min(smallest, values[i])
        return size, smallest

    return slot, count


def _check(slot_of: Callable[[int, int, int], int], pruning: int) -> Check:
    """Compile the check that sums over all values of the table, with a hash table of counts for each class."""
    slot, count = _hash_table(slot_of)

    @numba.njit(nogil=True)
    def judge(
        gid: Any, classes: int, offsets: Any, values: Any, counts: Any, cumulative: Any, prefix: Any, t: float
    ) -> Any:
        order, starts = by_class(gid, classes)
        number = cumulative.shape[0]
        records = cumulative[number - 1]
        all_keys = np.empty(4 * values.shape[0] + 4, np.int32)
        found = np.empty(all_keys.shape[0], np.int64)
        distances = np.full(classes, np.nan)
        fails = np.zeros(classes, np.bool_)
        for c in range(classes):
            rows = order[starts[c] : starts[c + 1]]
            bits = _bits(offsets, rows)
            keys = all_keys[: 1 << bits]
            size, smallest = count(keys, found, bits, rows, offsets, values, counts)
            if pruning >= CHECK_PRUNING and not prefix[smallest] / (records * (number - 1)) <= t:
                fails[c] = True
                continue
            first = smallest if pruning >= SUMMAND_PRUNING else 0
            total = prefix[first] * size
            below = np.int64(0)
            for value in range(first, number):
                place = slot(keys, value, bits)
                if keys[place] >= 0:
                    below += found[place]
                total += abs(below * records - cumulative[value] * size)
            distances[c] = total / (size * records * (number - 1))
            fails[c] = not distances[c] <= t
        return distances, fails

    return judge


PAPER: dict[str, Check] = {
    "straightforward": _check(_modulo, NO_PRUNING),
    "+ Fibonacci hashing": _check(_fibonacci, NO_PRUNING),
    "+ check pruning": _check(_fibonacci, CHECK_PRUNING),
    "+ summand pruning": _check(_fibonacci, SUMMAND_PRUNING),
}
"""Each adds one idea to those before it."""


class ByValue(NamedTuple):
    """The histograms of rows, sorted by value once for the table: value v has the entries ends[v]..ends[v + 1] - 1.

    Attributes
    ----------
    ends : int64, shape (V + 1,)
    rows : int32, shape (entries,)
    counts : int64, shape (entries,)
    """

    ends: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: NDArray[np.int64]


def by_value(offsets: NDArray[np.int64], values: NDArray[np.int32], counts: NDArray[np.int64], number: int) -> ByValue:
    """Sort the entries of rows by value."""
    order = np.argsort(values, kind="stable")
    rows = np.repeat(np.arange(offsets.size - 1, dtype=np.int32), np.diff(offsets))
    ends = np.zeros(number + 1, np.int64)
    np.cumsum(np.bincount(values, minlength=number), out=ends[1:])
    return ByValue(ends, rows[order], counts[order])


@numba.njit(nogil=True)
def _terms(cumulative: Any, prefix: Any, size: int, share: float, start: int, stop: int) -> float:
    """Sum `abs(share - size * cumulative)` over the values start..stop-1, between which the class has none."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] * size < share:
            low = middle + 1
        else:
            high = middle
    below = share * (low - start) - size * (prefix[low] - prefix[start])
    return below + size * (prefix[stop] - prefix[low]) - share * (stop - low)


@numba.njit(nogil=True)
def without_histograms(
    gid: Any, sizes: Any, ends: Any, rows: Any, counts: Any, cumulative: Any, prefix: Any, least: int, t: float
) -> Any:
    """Judge all classes in one pass over the values of the table, in their order; no class has a histogram.

    A class keeps the value it was last seen at, its records up to there and the terms added so far. It is settled at
    once if it has fewer than `least` records, and as soon as its terms, which only grow, exceed what `t` allows.
    """
    number = cumulative.shape[0]
    records = cumulative[number - 1]
    last = np.zeros(sizes.shape[0], np.int64)
    below = np.zeros(sizes.shape[0], np.int64)
    total = np.zeros(sizes.shape[0], np.float64)
    distances = np.full(sizes.shape[0], np.nan)
    fails = sizes < least
    # rounding never settles a class that a division would let pass
    allowed = t * records * (number - 1) * (1 + 1e-12)
    for value in range(number):
        for entry in range(ends[value], ends[value + 1]):
            c = gid[rows[entry]]
            if fails[c]:
                continue
            if last[c] < value:
                total[c] += _terms(cumulative, prefix, sizes[c], below[c] * records, last[c], value)
                last[c] = value
                fails[c] = total[c] > allowed * sizes[c]
            below[c] += counts[entry]
    for c in range(sizes.shape[0]):
        if not fails[c]:
            total[c] += _terms(cumulative, prefix, sizes[c], below[c] * records, last[c], number)
            distances[c] = total[c] / (sizes[c] * records * (number - 1))
            fails[c] = not distances[c] <= t
    return distances, fails
