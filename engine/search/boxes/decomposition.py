"""A lower bound from smaller problems: the cost of each attribute is shared among groups of attributes.

In: the boxes of a problem with many quasi-identifiers, in whole numbers. Out: a proven lower bound that rises while
boxes are opened. Each group is a problem of its own in which all other attributes are at their highest levels. A class
of a transformation lies within a class of its projection on a group, so a solution is a solution of each group and
suppresses at least as much; if the shares of each attribute sum up to no more than its cost, the least costs of the
groups sum up to no more than that of any solution (Lagrangean decomposition: Guignard, Kim, Lagrangean decomposition:
a model yielding stronger Lagrangean bounds. Math. Programming 39, 1987; here with equal multipliers).

A group of three quarters of the attributes is solved in a small part of the time that the whole needs, and what it
loses per attribute is not much less. The groups become larger step by step, as far as the time is likely to last.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from engine.search.boxes.packed_opener import PackedOpener

_WHOLE = 1 << 10
"""The cost of an attribute has so many equal parts."""
_COVERED = 1.5
"""Groups that an attribute is in, on average and about."""
_SMALLEST = 8
"""Attributes of the first groups."""
_STEP = 4
"""Attributes more in the next groups, at most: how long these take is not known from much smaller ones."""
_LARGEST = 0.8
"""Share of the attributes in a group: larger groups take nearly as long as the whole."""
_GROWTH = 1.9
"""Times as long a group of one attribute more takes: measured with 20, 25 and 30 attributes, 1.7 to 2."""
_EVERYTHING = 1 << 62
_OVER = object()


class Decomposition:
    """The bound of one problem.

    Parameters
    ----------
    opener : PackedOpener
        Of the whole problem.
    free : list of int
        Attributes with more than one level.
    attributes : int
        Number of all, m.

    Attributes
    ----------
    bound : float
        No solution loses less; -inf before the first groups are solved.
    seconds : float
        Spent in `advance`.
    """

    def __init__(self, opener: PackedOpener, free: list[int], attributes: int) -> None:
        self.bound = -math.inf
        self.seconds = 0.0
        self._opener = opener
        self._free = free
        self._attributes = attributes
        self._size = 0
        self._last = 0.0
        self._steps: Generator[None, None, None] | None = None

    def fits(self, seconds: float) -> bool:
        """Whether groups are in work, or larger ones are likely to be solved when so many seconds were spent in all."""
        return self._steps is not None or self._next(seconds) is not None

    def advance(self, seconds: float) -> None:
        """Open one box of one group, of the largest ones that fit unless there are some in work."""
        started = time.monotonic()
        if self._steps is None:
            self._size = self._next(seconds) or _SMALLEST
            self._last = 0.0
            self._steps = self._solve()
        over = next(self._steps, _OVER) is _OVER
        spent = time.monotonic() - started
        self.seconds += spent
        self._last += spent
        if over:
            self._steps = None

    def _next(self, seconds: float) -> int | None:
        """Return the attributes of the groups to be solved next; None if there is no time for any."""
        most, free = math.floor(_LARGEST * len(self._free)), len(self._free)
        if not self._size:
            return _SMALLEST if most >= _SMALLEST and seconds > 0 else None
        one = self._last / _number(free, self._size)
        for size in range(min(self._size + _STEP, most), self._size, -1):
            if self.seconds + one * _GROWTH ** (size - self._size) * _number(free, size) <= seconds:
                return size
        return None

    def _solve(self) -> Generator[None, None, None]:
        """Solve all groups of one size, box by box."""
        least = [self._opener.base]
        for shares in cost_shares(self._free, self._attributes, self._size):
            found = yield from _least_loss(self._opener.with_shares(shares, _WHOLE))
            least.append(found)
        # a correctly rounded sum may be above the sum
        self.bound = max(self.bound, math.nextafter(math.fsum(least), -math.inf))


def _number(free: int, size: int) -> int:
    """Return how many groups of a size there are."""
    return max(round(_COVERED * free / size), math.ceil(free / size))


def cost_shares(free: list[int], attributes: int, size: int) -> NDArray[np.int64]:
    """Share the costs of attributes among groups of one size, shape (groups, attributes).

    Each group takes the attributes that are in the fewest groups so far. The shares of an attribute sum up to the
    whole, those of attributes that are not free to nothing.
    """
    # always the same groups of the same problem: a search can be repeated
    number = _number(len(free), size)
    random = np.random.default_rng(number)
    member = np.zeros((number, attributes), np.int64)
    for group in member:
        order = random.permutation(free)
        group[order[np.argsort(member.sum(axis=0)[order], kind="stable")[:size]]] = 1
    shares: NDArray[np.int64] = member * (_WHOLE // np.maximum(member.sum(axis=0), 1))
    for a in free:
        shares[int(member[:, a].argmax()), a] += _WHOLE - shares[:, a].sum()
    return shares


def _least_loss(opener: PackedOpener) -> Generator[None, None, float]:
    """Open box after box, depth first; return a loss that is not above that of any solution."""
    least, waiting = _EVERYTHING, [opener.root()]
    while waiting:
        box = waiting.pop()
        left, rest, _, _ = opener.opened_piece(box, least - 1)
        if rest is not None:
            waiting.append(rest)
        if left is not None and left.is_one:
            least = left.piece.below
        elif left is not None:
            waiting.append(left)
        yield
    return opener.loss(least)[0]
