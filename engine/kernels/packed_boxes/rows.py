"""Rows of a box, packed into words, and what is known of the box.

In: the codes of a table, and its labels. Out: its `Tuples`, from which the `PackedRows` of a box are made, one row per
distinct tuple at the lowest levels of the box; or `Waiting`, which only names tuples.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel

Array = TypeVar("Array", bound=NDArray[Any])

WORD = 64
"""Bits of a word; a row has two of them."""


class PackedRows(NamedTuple):
    """R rows in C classes.

    Attributes
    ----------
    keys : uint64, shape (R,)
        First words: label codes at the lowest levels; codes of attributes with one remaining level may be 0.
    tails : uint64, shape (R,)
        Second words; shape (0,) if one word per row is enough.
    counts : int32, shape (R,)
        Records.
    weights : int64, shape (R,)
        Additional cost if they are suppressed.
    marks : uint64, shape (R,)
        Bit a: the row fails if attribute a is at its lowest level, and all others at their highest; 0 where this is not
        known. Rows that look alike in a class have the same marks. A probe changes them in place.
    starts : int32, shape (C + 1,)
        Class c holds the rows from `starts[c]` to `starts[c + 1] - 1`.
    """

    keys: NDArray[np.uint64]
    tails: NDArray[np.uint64]
    counts: NDArray[np.int32]
    weights: NDArray[np.int64]
    marks: NDArray[np.uint64]
    starts: NDArray[np.int32]


class Tuples(NamedTuple):
    """The distinct tuples of a table at the lowest levels of the lattice.

    Attributes
    ----------
    keys, tails : uint64, shape (T,)
        Words, as those of `PackedRows`.
    counts : int32, shape (T,)
        Records.
    """

    keys: NDArray[np.uint64]
    tails: NDArray[np.uint64]
    counts: NDArray[np.int32]


class Waiting(NamedTuple):
    """Tuples of large classes, as the classes were when a box had some highest levels.

    They have few of the failing records, so most boxes are ruled out without them.

    Attributes
    ----------
    places : uint32, shape (R,)
        Which tuples of the table.
    starts : int32, shape (C + 1,)
        Class c holds those from `starts[c]` to `starts[c + 1] - 1`.
    high : int64, shape (m,)
        The highest levels.
    """

    places: NDArray[np.uint32]
    starts: NDArray[np.int32]
    high: NDArray[np.int64]


def no_rows(tuples: Tuples) -> PackedRows:
    """Return rows of the same kind, none of them."""
    none = np.empty(0, np.int64)
    return PackedRows(
        tuples.keys[:0], tuples.tails[:0], tuples.counts[:0], none, none.astype(np.uint64), np.zeros(1, np.int32)
    )


def all_waiting(tuples: Tuples, high: NDArray[np.int64]) -> Waiting:
    """Let all tuples wait, as one class above the highest levels."""
    tuples_there = tuples.counts.size
    return Waiting(np.arange(tuples_there, dtype=np.uint32), np.array([0, tuples_there], np.int32), high.copy())


def size_of(rows: PackedRows | Waiting) -> int:
    """Return the bytes of rows."""
    return sum(array.nbytes for array in rows)


class Bounds(NamedTuple):
    """What is known of a box of m attributes; kernels change it in place.

    Attributes
    ----------
    low, high : int64, shape (m,)
        Its levels.
    sums : int64, shape (2,)
        The least cost of any of its transformations, and the records that all of them suppress.
    rises : int64, shape (m, levels)
        Additional cost of an attribute at a level, compared with its lowest level.
    probes : int64, shape (m, 3)
        For the part in which an attribute is at its lowest level: this level, or -1 if nothing is known; the records
        that the whole part suppresses; its least cost.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    sums: NDArray[np.int64]
    rises: NDArray[np.int64]
    probes: NDArray[np.int64]


class Labels(NamedTuple):
    """The labels of m attributes: the bits of their codes, their costs, and their codes at higher levels.

    Attributes
    ----------
    places : int64, shape (m, 2)
        Word (0 or 1) and lowest bit of the code.
    masks : uint64, shape (m,)
        Its bits, shifted to the lowest place.
    widths : int64, shape (m, levels)
        Labels of each level.
    more : int64, shape (sum of labels,)
        Additional cost of a record if it is suppressed; the labels of level l of attribute a begin at `more_at[a, l]`.
    more_at : int64, shape (m, levels)
    ups : int32
        The code at level h of each label of level l begins at `ups_at[a, l, h]`.
    ups_at : int64, shape (m, levels, levels)
    savings : int64, shape (m, levels, levels)
        What raising attribute a from level l to level h takes off the additional cost of a record at most, 0 or more.
    """

    places: NDArray[np.int64]
    masks: NDArray[np.uint64]
    widths: NDArray[np.int64]
    more: NDArray[np.int64]
    more_at: NDArray[np.int64]
    ups: NDArray[np.int32]
    ups_at: NDArray[np.int64]
    savings: NDArray[np.int64]


@kernel
def packed_tuples(
    codes: NDArray[np.int32], counts: NDArray[np.int64], firsts: NDArray[np.int32], labels: Labels, words: int
) -> Tuples:
    """Pack the rows of a table.

    Parameters
    ----------
    codes : int32, shape (m, rows)
        Leaf codes.
    counts : int64, shape (rows,)
        Records, fewer than 2**31 in all; rows without any are left out.
    firsts : int32, shape (m, leaves)
        Label code of each leaf at the lowest level.
    words : int
        Words of a row, 1 or 2.
    """
    there = np.flatnonzero(counts)
    keys = np.zeros(there.size, np.uint64)
    tails = np.zeros(there.size if words > 1 else 0, np.uint64)
    for a in range(codes.shape[0]):
        word = keys if labels.places[a, 0] == 0 else tails
        place = np.uint64(labels.places[a, 1])
        leaves = codes[a] if there.size == codes.shape[1] else codes[a][there]
        first = firsts[a]
        for r in range(leaves.shape[0]):
            word[r] |= np.uint64(first[np.uint32(leaves[r])]) << place
    return Tuples(keys, tails, counts[there].astype(np.int32))


@inlined
def shrunk(part: Array, room: Array) -> Array:
    """Return a part of an array, copied if it is small: else it would keep the whole array in memory."""
    return part.copy() if 2 * part.size < room.size else part


@kernel
def longest_of(starts: NDArray[np.int32]) -> int:
    """Return the rows of the longest class."""
    longest = 0
    for c in range(starts.shape[0] - 1):
        longest = max(longest, int(starts[c + 1] - starts[c]))
    return longest
