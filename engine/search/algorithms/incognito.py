"""Incognito: subsets of the quasi-identifiers by increasing size; what fails in a subset fails in every larger one.

LeFevre, DeWitt, Ramakrishnan, Incognito: efficient full-domain k-anonymity. SIGMOD 2005, section 3. The candidates of a
subset are joined from the generalizations that hold for two subsets with one attribute less, and pruned by the other
such subsets. They are checked from the lowest upwards; generalizations of one that holds are accepted without a check.
The result for all attributes is every anonymous full-domain generalization, and the one with the least loss is chosen.

- The classes of a subset are unions of those of any larger one. A combination is dropped if so many records certainly
  fail, however its classes are split, that nothing finer is a solution. For monotone models these are all failing
  records; for others only those below a minimum class size, and all remaining combinations are checked at the end.
- The paper leaves the choice among the solutions open. They are checked from the lowest sum of levels upwards, unless
  their loss by generalization alone is no better than the best of them (see `flash_two_phase`).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

from engine.lattice.space import Lattice, Levels
from engine.search.nodes.node_search import NOTHING_LEFT, NodeSearch, successors
from engine.search.nodes.roll_up import RollUpChecker
from engine.search.problem import Method, Problem, Progress, Solution

Subset = tuple[int, ...]
"""Numbers of quasi-identifiers, ascending; levels of a subset are in the same order."""


def incognito(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`."""
    checker = RollUpChecker(problem)
    search = NodeSearch(problem, progress, checker)
    search.check(problem.lattice.high)
    remaining = _Subsets(problem, checker, search).remaining()
    if remaining is None:
        return search.solution()
    for number, levels in enumerate(remaining):
        if not search.goes_on(len(remaining) - number):
            return search.solution()
        if not search.is_hopeless(search.bound(levels), levels):
            search.check(levels)
    return search.solution(NOTHING_LEFT)


METHOD = Method(incognito)


def incognito_solutions(problem: Problem) -> list[Levels]:
    """Return every transformation that is a solution, by the sum of its levels, then by the levels."""
    checker = RollUpChecker(problem)
    remaining = _Subsets(problem, checker, None).remaining() or []
    if checker.inherited:
        return remaining
    return [levels for levels in remaining if checker.check(levels).loss is not None]


class _Subsets:
    """The combinations of levels that may hold, subset by subset."""

    def __init__(self, problem: Problem, checker: RollUpChecker, search: NodeSearch | None) -> None:
        self._problem = problem
        self._checker = checker
        self._search = search

    def remaining(self) -> list[Levels] | None:
        """Return the combinations of all attributes that are not dropped; None if the time ended before.

        For monotone models these are the solutions; for others some of them may fail.
        """
        attributes = range(len(self._problem.lattice.low))
        found: dict[Subset, set[Levels]] = {(): {()}}
        for size in range(1, len(attributes) + 1):
            smaller, found = found, {}
            for subset in itertools.combinations(attributes, size):
                holding = self._holding(subset, sorted(self._candidates(subset, smaller), key=_order))
                if holding is None:
                    return None
                found[subset] = holding
        return sorted(found[tuple(attributes)], key=_order)

    def _candidates(self, subset: Subset, smaller: dict[Subset, set[Levels]]) -> Iterator[Levels]:
        """Join two subsets that differ in their last attribute; prune by the others that have one attribute less."""
        if len(subset) == 1:
            part = self._part(subset)
            yield from ((level,) for level in range(part.low[0], part.high[0] + 1))
            return
        endings = defaultdict(list)
        for levels in smaller[subset[:-2] + subset[-1:]]:
            endings[levels[:-1]].append(levels[-1])
        others = [(i, smaller[subset[:i] + subset[i + 1 :]]) for i in range(len(subset) - 2)]
        for levels in smaller[subset[:-1]]:
            for ending in endings[levels[:-1]]:
                joined = (*levels, ending)
                if all(joined[:i] + joined[i + 1 :] in holding for i, holding in others):
                    yield joined

    def _holding(self, subset: Subset, candidates: list[Levels]) -> set[Levels] | None:
        """Return the candidates that may hold, from the lowest upwards."""
        part = self._part(subset)
        marked: set[Levels] = set()
        holding: set[Levels] = set()
        for levels in candidates:
            if self._search is not None and not self._search.goes_on(len(candidates)):
                return None
            if levels in marked or self._may_hold(subset, levels):
                holding.add(levels)
                marked.update(generalization for _, generalization in successors(part, levels))
        return holding

    def _may_hold(self, subset: Subset, levels: Levels) -> bool:
        classes = self._problem.table.undivided()
        for a, level in zip(subset, levels, strict=True):
            classes = classes.refined(a, level)
        fails, ended = self._checker.surely_fails(classes)
        return not ended and int(classes.counts[fails].sum()) <= self._problem.limit

    def _part(self, subset: Subset) -> Lattice:
        lattice = self._problem.lattice
        return Lattice(tuple(lattice.low[a] for a in subset), tuple(lattice.high[a] for a in subset))


def _order(levels: Levels) -> tuple[int, Levels]:
    return sum(levels), levels
