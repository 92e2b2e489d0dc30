"""OLA: binary search in ever smaller parts of the lattice; it assumes that everything is monotone.

El Emam, Dankar, Issa, Jonker, Amyot, Cogo, Corriveau, Walker, Chowdhury, Vaillancourt, Roffey, Bottomley, A globally
optimal k-anonymity method for the de-identification of health data. JAMIA 16(5):670-682, 2009. The transformations
halfway up a sublattice are checked one after the other. The search continues below a solution, and above any other
transformation, in the sublattice between it and the end, down to two neighbours. Every answer is tagged to all
generalizations or to all specializations; sublattices with only tagged transformations are skipped, which changes no
answer. All minimal solutions are checked, and the one with the least loss is chosen.

If generalization can make a solution fail, or lose less, tags may be wrong, and the best solution may be missed (see
`flash`). The result has been checked and is a solution.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.errors import InvalidJob
from engine.lattice.space import Lattice, Levels, at_sum
from engine.search.nodes.monotone import is_monotone
from engine.search.nodes.node_search import NOTHING_LEFT, NodeSearch
from engine.search.nodes.roll_up import RollUpChecker
from engine.search.problem import Method, Problem, Progress, Solution

_MOST = 1 << 28
_READ = 10**15
_UNKNOWN, _SOLUTION, _FAILURE = 0, 1, 2


def ola(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`; None also if no transformation that it checked is a solution.

    Raises
    ------
    InvalidJob
        The lattice has more transformations than tags are allowed.
    """
    tags = _Tags(problem.lattice)
    search = NodeSearch(problem, progress, RollUpChecker(problem))
    if _Halving(search, tags).settle(problem.lattice) and is_monotone(problem):
        return search.solution(NOTHING_LEFT)
    return search.solution()


METHOD = Method(ola, is_monotone)


def _in_words(size: int) -> str:
    """Write a number; where it has more digits than anybody reads, the nearest power of ten."""
    return f"{size:,}" if size < _READ else f"about 10^{round(math.log10(size))}"


class _Tags:
    """The tag of each transformation: one byte, at its levels minus the lowest ones."""

    def __init__(self, lattice: Lattice) -> None:
        if lattice.size > _MOST:
            raise InvalidJob(
                f"search.algorithm ola keeps a tag of each transformation, of {_MOST:,} at most; this job has "
                f"{_in_words(lattice.size)}: narrow minimum_level and maximum_level of attributes, or use the "
                "algorithm optimal"
            )
        self._lattice = lattice
        # attributes with one level need no axis, of which an array has 64 at most
        self._free = [a for a, (low, high) in enumerate(zip(lattice.low, lattice.high, strict=True)) if low < high]
        self._tags = np.full([lattice.high[a] - lattice.low[a] + 1 for a in self._free], _UNKNOWN, np.uint8)

    def __getitem__(self, levels: Levels) -> int:
        return int(self._part(Lattice(levels, levels)).max())

    def are_set(self, part: Lattice) -> bool:
        """Whether all transformations of a sublattice are tagged."""
        return bool(self._part(part).all())

    def set(self, levels: Levels, *, solution: bool) -> None:
        """Tag a transformation, and all untagged ones for which its answer holds too."""
        lattice = self._lattice
        implied = self._part(Lattice(levels, lattice.high) if solution else Lattice(lattice.low, levels))
        implied[implied == _UNKNOWN] = _SOLUTION if solution else _FAILURE

    def _part(self, part: Lattice) -> Any:
        low = self._lattice.low
        axes: list[Any] = [slice(part.low[a] - low[a], part.high[a] - low[a] + 1) for a in self._free]
        return self._tags[(*axes, ...)]


class _Halving:
    def __init__(self, search: NodeSearch, tags: _Tags) -> None:
        self._search = search
        self._tags = tags

    def settle(self, part: Lattice) -> bool:
        """Tag all transformations of a sublattice; False if the time ended before."""
        bottom, top = sum(part.low), sum(part.high)
        if top - bottom <= 1:
            return all(self._look(levels) for levels in (part.low, part.high))
        for levels in at_sum(part, (bottom + top) // 2):
            if self._tags.are_set(part):
                break
            if not self._look(levels):
                return False
            half = Lattice(part.low, levels) if self._tags[levels] == _SOLUTION else Lattice(levels, part.high)
            if not self._tags.are_set(half) and not self.settle(half):
                return False
        return True

    def _look(self, levels: Levels) -> bool:
        """Check and tag a transformation that has no tag; False if the time is over."""
        if self._tags[levels] == _UNKNOWN:
            if not self._search.goes_on():
                return False
            self._tags.set(levels, solution=self._search.check(levels).loss is not None)
        return True
