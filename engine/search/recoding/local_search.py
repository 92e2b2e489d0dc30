"""Local search: rows move between classes, and classes are dissolved into others, as long as the loss falls.

In: a problem of a table in pieces, and classes that satisfy every model. Out: the same with classes that lose less.
In rounds, each class proposes the best of two moves: of one row to another class, or of all its rows, each to the class
that it costs least (`engine.kernels.moves`). The best proposals that touch no class in common are carried out; then the
models judge the classes that were touched, and what fails, or gained nothing, is taken back. So every model of a class
can be searched with, whatever it reads. A round looks at the classes of a block each; threads share the blocks.

After the records that are moved and the groups that are dissolved by Laszlo, Mukherjee, Minimum spanning tree
partitioning algorithm for microaggregation. IEEE TKDE 17(7), 2005, and by Domingo-Ferrer et al., Efficient multivariate
data-oriented microaggregation. VLDB Journal 15, 2006.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.cells import Shape
from engine.kernels.joining import Cells
from engine.kernels.moves import ALL_ROWS, ONE_ROW, best_moves, tight_cells
from engine.search.problem import Problem
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.splitting import failing_of
from engine.tables.counting.frequency import Classes, FrequencyTable
from engine.tables.counting.present_classes import PresentClasses

ROUNDS = 100
"""At most."""
_LITTLE = 1e-4
"""The share of the loss that a round must save for another one to follow."""
_TINY = 1e-9
"""What a move saves at least, in records: sums of the same costs in another order differ by less."""


def improved(
    problem: Problem,
    shape: Shape,
    table: FrequencyTable,
    gid: NDArray[np.int32],
    blocks: NDArray[np.int64],
    deadline: Deadline,
) -> NDArray[np.int8]:
    """Improve classes that satisfy every model; return the levels of each row.

    Parameters
    ----------
    table : FrequencyTable
        With a row per piece.
    gid : int32, shape (P,)
        Class of each row; -1 for one that is suppressed, which stays at the highest levels.
    blocks : int64, shape (P,)
        Block of each row; a class belongs to that of its first one.
    deadline : Deadline
    """
    search = _Search(problem, shape, table, gid, blocks)
    # an interrupt leaves the classes of the round before
    with deadline.interruptible():
        for _ in range(ROUNDS):
            if deadline.over() or not search.run(deadline):
                break
    return search.levels()


class _Search:
    def __init__(
        self,
        problem: Problem,
        shape: Shape,
        table: FrequencyTable,
        gid: NDArray[np.int32],
        blocks: NDArray[np.int64],
    ) -> None:
        self._problem, self._shape, self._table = problem, shape, table
        self._rows = np.flatnonzero(gid >= 0)
        self._leaves = np.ascontiguousarray(table.codes.T[self._rows])
        self._records = table.counts[self._rows]
        self._least = max(model.minimum_class_size for model in problem.models)
        # classes of a block follow each other
        _, first, place = np.unique(gid[self._rows], return_index=True, return_inverse=True)
        order = np.argsort(blocks[self._rows[first]], kind="stable")
        number = np.empty_like(order)
        number[order] = np.arange(order.size)
        self._class = number[place]
        of_class = blocks[self._rows[first]][order]
        self._edges = np.append(np.flatnonzero(np.diff(of_class, prepend=-1)), order.size)
        self._asks = np.full(order.size, ONE_ROW | ALL_ROWS, np.int8)
        self._holding = self._class.copy()
        self._measure()

    def _measure(self) -> None:
        self._order = np.argsort(self._class, kind="stable")
        sizes = np.bincount(self._class, minlength=self._asks.size)
        self._offsets = np.concatenate([[0], np.cumsum(sizes)])
        self._cells: Cells = tight_cells(self._shape, self._leaves, self._records, self._order, self._offsets)

    def run(self, deadline: Deadline) -> bool:
        """Carry out a round of moves; tell whether another one is worth it."""
        number = self._asks.size
        gains, movers = np.zeros(number), np.full(number, -1, np.int64)
        targets = np.full(self._class.size, -1, np.int64)

        def look(block: int) -> None:
            if deadline.over():
                return
            best_moves(
                self._shape,
                self._leaves,
                self._records,
                self._order,
                self._offsets,
                self._cells,
                self._edges[block],
                self._edges[block + 1],
                self._least,
                self._asks,
                gains,
                movers,
                targets,
            )

        deadline.share(look, range(self._edges.size - 1), self._problem.threads)
        chosen = self._apart(gains, movers, targets)
        if not chosen:
            return False
        before, costs = self._class.copy(), self._cells.sizes * self._cells.costs
        for _, rows in chosen:
            self._class[rows] = targets[rows]
        self._measure()
        fails = self._failing()
        saved = costs - self._cells.sizes * self._cells.costs
        gained = 0.0
        undone = False
        for one, rows in chosen:
            touched = np.append(np.unique(targets[rows]), one)
            gain = float(saved[touched].sum())
            if gain <= _TINY or fails[touched].any():
                self._class[rows] = before[rows]
                # not again before something else has changed one of them
                self._asks[one] &= ~(ONE_ROW if movers[one] >= 0 else ALL_ROWS)
                undone = True
            else:
                gained += gain
                self._asks[touched] = ONE_ROW | ALL_ROWS
        self._holding = self._class.copy()
        if undone:
            self._measure()
        return undone or gained > _LITTLE * float(costs.sum())

    def _apart(
        self, gains: NDArray[np.float64], movers: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> list[tuple[int, NDArray[np.int64]]]:
        """Return the best proposals that touch no class in common: the class, and its rows that move."""
        found: list[tuple[int, NDArray[np.int64]]] = []
        taken = np.zeros(gains.size, np.bool_)
        worth = np.flatnonzero(gains > _TINY)
        for one in worth[np.argsort(-gains[worth], kind="stable")].tolist():
            rows = self._order[self._offsets[one] : self._offsets[one + 1]]
            if movers[one] >= 0:
                rows = movers[one : one + 1]
            if taken[one] or taken[targets[rows]].any():
                continue
            taken[one] = True
            taken[targets[rows]] = True
            found.append((one, rows))
        return found

    def _failing(self) -> NDArray[np.bool_]:
        # rows that are suppressed are one class more
        size = self._asks.size
        whole = np.full(self._table.counts.size, size, np.int32)
        whole[self._rows] = self._class
        classes = PresentClasses.of(Classes(self._table, whole, size + 1))
        return failing_of(self._problem, classes)[:size]

    def levels(self) -> NDArray[np.int8]:
        """Return the levels of each row of the table after the last complete round, shape (P, m)."""
        self._class = self._holding
        self._measure()
        found = np.repeat(np.array([self._problem.lattice.high], np.int8), self._table.counts.size, axis=0)
        found[self._rows] = self._cells.levels[self._class]
        return found
