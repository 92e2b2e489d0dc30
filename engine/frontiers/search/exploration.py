"""One search for a frontier: policies measured, the remaining budget, and the frontier so far.

Every policy whose measures are computed counts, whether or not it joins the frontier.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.along_paths import Measures, Point
from engine.frontiers.search.archive import Archive
from engine.frontiers.space.domain import Bits
from engine.search.problem import Progress

_RECORDED = 20


class Exploration:
    """A search under way.

    Parameters
    ----------
    measures : Measures
    policies : int
        Number of policies that may be measured.
    seconds : float or None
        Time limit.
    seed : int
    threshold : float
        See `engine.frontiers.search.sublattice`.
    progress : Progress, optional
        Called about once per second: `policies` measured, policies on the `frontier`, `area`.

    Attributes
    ----------
    archive : Archive
        The frontier so far.
    random : numpy Generator
    visited : int
        Policies measured.
    area_after : list of [policies, area]
    """

    def __init__(
        self,
        measures: Measures,
        *,
        policies: int,
        seconds: float | None = None,
        seed: int = 1,
        threshold: float = 0.05,
        progress: Progress | None = None,
    ) -> None:
        self.measures = measures
        self.space = measures.space
        self.threshold = threshold
        self.archive = Archive(self.space.size, measures.highest_risk, measures.highest_loss)
        self.random = np.random.default_rng(seed)
        self.visited = 0
        self.policies = policies
        self.area_after: list[tuple[int, float]] = []
        self._started = time.monotonic()
        self._seconds = seconds
        self._progress = progress
        self._told = self._started
        self._next_record = self._interval = max(1, policies // _RECORDED)
        self._seen: set[bytes] | None = set() if 2 * self.space.count <= policies else None

    @property
    def remaining(self) -> int:
        """Policies that may still be measured."""
        return 0 if self._late() else self.policies - self.visited

    @property
    def remembers(self) -> bool:
        """Whether the budget covers the lattice twice; then the measured policies are remembered."""
        return self._seen is not None

    @property
    def unseen(self) -> int:
        """Number of policies that have not been measured, if these are remembered; else of all."""
        return self.space.count - (0 if self._seen is None else len(self._seen))

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._started

    def measure(self, bits: Bits) -> Point:
        """Measure one policy and offer it to the frontier."""
        point = self.measures.at(bits)
        self.take(np.array([point]), lambda _: bits[np.newaxis])
        return point

    def walk(
        self, bits: Bits, cleared: NDArray[np.int64], ends: NDArray[np.int64] | None = None, *, known: bool = False
    ) -> NDArray[np.float64]:
        """Measure a path, as far as policies may still be measured, and offer it to the frontier.

        Parameters
        ----------
        bits, cleared, ends
            As of `Measures.along`.
        known : bool
            Whether the first policy has been measured before; then it does not count again.

        Returns
        -------
        float64, shape (policies, 2)
            Risk and utility loss along the path.
        """
        ends = np.arange(1, cleared.size + 1) if ends is None else ends
        ends = ends[: max(self.remaining - (not known), 0)]
        figures = self.measures.along(bits, cleared[: ends[-1]] if ends.size else cleared[:0], ends)
        when = np.full(self.space.size, cleared.size + 1)
        when[cleared] = np.arange(1, cleared.size + 1)
        gone = np.append(0, ends)[int(known) :]
        self.take(figures[int(known) :], lambda indexes: bits & (when > gone[indexes, np.newaxis]))
        return figures

    def take(self, figures: NDArray[np.float64], bits_of: Callable[[NDArray[np.int64]], Bits]) -> None:
        """Count policies whose risk and utility loss, shape (k, 2), were computed, and offer them to the frontier."""
        if not len(figures):
            return
        self.visited += len(figures)
        self.archive.offer(figures, bits_of)
        if self._seen is not None:
            self._seen.update(row.tobytes() for row in np.packbits(bits_of(np.arange(len(figures))), axis=1))
        if self.visited >= self._next_record:
            self.record()
        self._tell()

    def spend(self) -> None:
        """Count a policy of which another measure was computed, to choose where to search."""
        self.visited += 1
        self._tell()

    def unmeasured(self) -> Iterator[Bits]:
        """Enumerate the policies that have not been measured, if these are remembered."""
        assert self._seen is not None  # noqa: S101 (see `remembers`)
        for bits in policies(self.space.parents):
            if np.packbits(bits).tobytes() not in self._seen:
                yield bits

    def record(self) -> None:
        """Record the area."""
        if not self.area_after or self.area_after[-1][0] < self.visited:
            self.area_after.append((self.visited, self.archive.area()))
        self._next_record = self.visited - self.visited % self._interval + self._interval

    def _late(self) -> bool:
        return self._seconds is not None and self.elapsed >= self._seconds

    def _tell(self) -> None:
        if self._progress is not None and time.monotonic() - self._told >= 1.0:
            self._told = time.monotonic()
            self._progress({"policies": self.visited, "frontier": len(self.archive), "area": self.archive.area()})


def policies(parents: NDArray[np.int64]) -> Iterator[Bits]:
    """Enumerate all policies, bool, shape (bits,): the bit strings in which no bit under an unset one is set."""
    bits = np.zeros(parents.size, np.bool_)
    yield bits.copy()
    while True:
        # count up in binary, the first bit first, over those that may be set
        free = (parents < 0) | bits[parents]
        clear = np.flatnonzero(free & ~bits)
        if not clear.size:
            return
        position = clear[-1]
        bits[position] = True
        bits[position + 1 :] = False
        yield bits.copy()
