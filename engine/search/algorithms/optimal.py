"""Exact search by branch and bound over boxes of the lattice: the default algorithm.

A box [low, high] is the set of all transformations between two level vectors. Two facts about it are cheap to find:

- No transformation in it loses less than generalizing everything to `low` while suppressing what is already suppressed
  at `high`: a class of `high` is a union of classes of any of its specializations, so what must fail there fails
  everywhere in the box (predictive properties: Prasser, Kohlmayer, Kuhn, BMC Med Inform Decis Mak 16:49, 2016).
- If fixing one attribute at its lowest level and leaving the others at `high` already suppresses too much, or cannot
  beat the best solution, the attribute's lowest level can be raised.

A box is tightened by both until nothing changes (`tighten`), then split at the lowest level of one attribute. Depth
first, so that the open boxes stay few; the least bound among them is a proven lower bound at any moment. Once an eighth
of a time limit has passed, the box of least bound is taken instead: depth first leaves those for the end. Before that,
groups of attributes give a lower bound of their own (`Decomposition`), where there are many attributes.

The first solution is a greedy one; a search that is not over soon improves it by local search.
"""

from __future__ import annotations

import threading
from typing import Generic, Protocol, TypeVar

from engine.lattice.space import Levels
from engine.search.boxes.course import Course, Stand
from engine.search.boxes.decomposition import Decomposition
from engine.search.boxes.incumbent import Incumbent
from engine.search.boxes.node_opener import NodeOpener
from engine.search.boxes.open_boxes import Pool
from engine.search.boxes.packed_opener import PackedOpener
from engine.search.check import Checker
from engine.search.greedy import greedy
from engine.search.local_search import LocalSearch
from engine.search.problem import Problem, Progress, Solution
from engine.utility.bounds.box_costs import Bound
from engine.utility.bounds.label_costs import LabelCosts

_BOXES_BETWEEN_MEMORY_CHECKS = 64
_ROWS_OF_THREADS = 20_000
"""Distinct tuples from which several threads open boxes of every kind: of fewer the Python code between the kernels,
for which threads wait for each other, takes longer than the kernels."""
_DEPTH_FIRST = 0.125
"""Share of the time limit in which boxes are opened depth first."""
_GROUPS = 0.9
"""Share of the rest in which groups of attributes are to be solved, for a lower bound."""
_FIRST_IMPROVEMENT = 256
"""Boxes before the first local search; then one whenever their number has doubled."""
_CHECKS_PER_BOX = 8
"""Checks of a local search per box that was opened before: a share of the work, whatever a check costs."""


def optimal(problem: Problem, progress: Progress | None = None) -> Solution | None:
    """See `Algorithm`. Exact for every privacy model and every measure, unless the problem accepts a gap.

    It stops at the time limit or an interrupt with the best solution so far and a proven lower bound.
    """
    checker, costs, incumbent = Checker(problem), problem.evaluator.box_costs(), Incumbent(problem.gap)
    is_packed = PackedOpener.serves(problem, checker, costs)
    threads = problem.threads if is_packed or problem.table.counts.size >= _ROWS_OF_THREADS else 1
    checkers = [checker, *(checker.fork() for _ in range(1, threads))]
    if is_packed:
        assert isinstance(costs, LabelCosts)  # noqa: S101 (see `serves`)
        packed = PackedOpener(problem, checkers, costs, incumbent)
        free = [a for a, (x, y) in enumerate(zip(problem.lattice.low, problem.lattice.high, strict=True)) if x < y]
        groups = Decomposition(packed, free, len(problem.lattice.low))
        return _Search(problem, progress, checkers, incumbent, packed, groups).run()
    nodes = NodeOpener(problem, checkers, costs, incumbent)
    return _Search(problem, progress, checkers, incumbent, nodes).run()


class Box(Protocol):
    """A box of the lattice.

    Attributes
    ----------
    bound : Bound
        Lower bound of all transformations in it.
    low : Levels
        Its lowest levels, or lower ones.
    rows : object or None
        None if they were released to save memory.
    """

    bound: Bound
    low: Levels

    @property
    def rows(self) -> object | None:
        """Facts about the records."""

    @property
    def bytes(self) -> int:
        """Memory of the rows."""

    def forget(self) -> None:
        """Release the rows."""


AnyBox = TypeVar("AnyBox", bound=Box)


class Opener(Protocol[AnyBox]):
    """How boxes of one kind are opened.

    Attributes
    ----------
    settled : int
        Transformations that were checked one by one.
    opened : list of int
        Boxes that each thread opened.
    """

    settled: int
    opened: list[int]

    def root(self) -> AnyBox:
        """Return the box of the whole lattice."""

    def open(self, thread: int, box: AnyBox) -> list[AnyBox]:
        """Return what is still to be opened of a box that is not ruled out; the one to continue with is the last."""


class _Search(Generic[AnyBox]):
    def __init__(
        self,
        problem: Problem,
        progress: Progress | None,
        checkers: list[Checker],
        incumbent: Incumbent,
        opener: Opener[AnyBox],
        groups: Decomposition | None = None,
    ) -> None:
        self._problem = problem
        self._checkers = checkers
        self._incumbent = incumbent
        self._opener = opener
        self._groups = groups
        self._course = Course(problem, progress, incumbent, self._stand)
        self._pool: Pool[AnyBox] = Pool(
            len(checkers), self._open, self._course.pause, order=lambda box: box.bound, urgent=self._is_urgent
        )
        self._saving = threading.Lock()
        self._save_at = _BOXES_BETWEEN_MEMORY_CHECKS
        self._improve_at = _FIRST_IMPROVEMENT

    def run(self) -> Solution | None:
        try:
            self._begin()
        except KeyboardInterrupt:
            if self._incumbent.best is None:
                raise
            # the box of the whole lattice is not opened then, so nothing is claimed but its bound
            self._course.end()
        self._pool.run(self._opener.root())
        return self._course.solution(exhaustive=self._opener.settled >= self._problem.lattice.size)

    def _begin(self) -> None:
        """Find a first solution."""
        start = None if self._problem.start is None else self._checkers[0].check(self._problem.start)
        if start is not None:
            self._incumbent.offer(start)
        # levels that held last night are close enough to what holds tonight to bound the search
        if start is None or start.loss is None:
            for found in greedy(self._checkers[0], self._problem, self._course.pause):
                self._incumbent.offer(found)

    def _open(self, thread: int, box: AnyBox) -> list[AnyBox]:
        self._do_what_is_due(thread)
        if thread == 0:
            self._bound_by_groups()
        if self._incumbent.rules_out(max(box.bound, self._course.proven), box.low):
            return []
        return self._opener.open(thread, box)

    @property
    def _opened(self) -> int:
        return sum(self._opener.opened)

    def _do_what_is_due(self, thread: int) -> None:
        """Do what is done from time to time, by the number of boxes that were opened."""
        # the rows of a taken box are not released: a thread that saves memory begins before this lock, or does not see
        # it
        with self._saving:
            opened = self._opened
            if opened >= self._save_at:
                self._save_at = opened + _BOXES_BETWEEN_MEMORY_CHECKS
                self._save_memory()
            improve = opened >= self._improve_at
            if improve:
                self._improve_at *= 2
        if improve:
            self._improve(thread)

    def _improve(self, thread: int) -> None:
        """Improve the best solution by local search: first itself, later solutions near it."""
        best, most = self._incumbent.best, _CHECKS_PER_BOX * self._opened
        search = LocalSearch(self._checkers[thread], self._problem, self._is_over, seed=self._opened)
        if best is not None and self._opened >= 2 * _FIRST_IMPROVEMENT:
            best = search.perturbed(best, most)
        if best is not None:
            self._incumbent.offer(search.improved(best, most))

    def _bound_by_groups(self) -> None:
        """Bound all transformations by groups of attributes, in a share of the time since it became short."""
        groups = self._groups
        if groups is None or not self._is_urgent():
            return
        seconds = _GROUPS * self._course.seconds_beyond(_DEPTH_FIRST)
        while groups.fits(seconds) and not self._course.pause():
            self._do_what_is_due(0)
            groups.advance(seconds)
            self._course.prove(groups.bound)

    def _is_urgent(self) -> bool:
        return self._course.is_beyond(_DEPTH_FIRST)

    def _is_over(self) -> bool:
        return self._course.is_beyond(1.0)

    def _save_memory(self) -> None:
        """Release the rows of the boxes that come last; they are made again when the box is processed."""
        waiting = [box for box in self._pool.waiting() if box.rows is not None]
        if self._is_urgent():
            waiting.sort(key=lambda box: box.bound, reverse=True)
        sizes = {id(box.rows): box.bytes for box in waiting}
        total = sum(sizes.values())
        for box in waiting:
            if total <= self._problem.memory:
                return
            total -= sizes.pop(id(box.rows), 0)
            box.forget()

    def _stand(self) -> Stand:
        waiting = [box.bound for box in self._pool.items()]
        return Stand(waiting, self._opened, sum(checker.checked for checker in self._checkers))
