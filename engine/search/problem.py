"""The input and output of a search.

In: a `Problem`. Out: a `Solution`, or None if no transformation satisfies it. All algorithms decide between equal
losses in the same way (`preference`), so a result depends on the problem alone. A `Method` is what the registry lists:
an algorithm, and the problems for which it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.lattice.space import Lattice, Levels
from engine.privacy.model import PrivacyModel
from engine.tables.counting.frequency import Classes, FrequencyTable
from engine.tables.known import Known
from engine.tables.recoding.recoding import Recoding
from engine.utility.bounds.box_costs import Bound
from engine.utility.information_loss import InformationLoss, ranked
from engine.utility.measure import Evaluator

Progress = Callable[[Mapping[str, Any]], None]
"""Receives plain figures of a running search from time to time: of a lattice, or of a risk-utility plane."""
PROGRESS_SECONDS = 1.0
"""Seconds between two reports of a search."""

Preference = tuple[tuple[float, ...], int, Levels]


@dataclass(frozen=True, eq=False)
class Problem:
    """What is searched for: the transformation of least loss that satisfies all models within the limit.

    Attributes
    ----------
    limit : int
        Records that may be suppressed.
    time_limit : float or None
        Seconds after which the best solution so far is returned.
    gap : float
        A solution may miss the optimum by this share of its loss.
    start : Levels or None
        A transformation that is checked first.
    threads : int
    memory : int
        Bytes for the data of waiting boxes.
    small_only : bool
        Whether only classes may be suppressed that have fewer records than the models' `minimum_class_size`, the
        refused records aside: a transformation in which a larger class fails is no solution. Which classes are
        suppressed then follows from their sizes alone, and not from sensitive values.
    known : "any-row", "all-rows" or int
        What an attacker knows of a person. Beyond one row, persons are suppressed with all of their records, and the
        rows of the table are of one person each.
    """

    table: FrequencyTable
    lattice: Lattice
    models: tuple[PrivacyModel, ...]
    evaluator: Evaluator
    limit: int
    time_limit: float | None = None
    gap: float = 0.0
    start: Levels | None = None
    threads: int = 1
    memory: int = 1 << 30
    small_only: bool = False
    known: Known = "any-row"


@dataclass(frozen=True, eq=False)
class Solution:
    """The transformation that was found.

    Attributes
    ----------
    levels : Levels
        One per quasi-identifier; none of a local recoding.
    suppressed_tuples : int64, shape (S,)
        Rows of the frequency table in classes that fail.
    suppressed : int
        Records in them.
    lower_bound : float
        No solution has a smaller loss.
    optimal : bool
        Whether the loss is proven to be the least.
    checked : int
        Number of partitions of the table: the work of the search.
    exhaustive : bool
        Whether nothing could be pruned: every transformation was checked separately.
    recoding : Recoding or None
        Of a local recoding, the levels and the cell of each row.
    """

    levels: Levels
    suppressed_tuples: NDArray[np.int64]
    suppressed: int
    loss: InformationLoss
    lower_bound: InformationLoss
    optimal: bool
    checked: int
    exhaustive: bool = False
    recoding: Recoding | None = None

    def partition(self, table: FrequencyTable) -> Classes:
        """Group the rows of the table that it transforms into equivalence classes."""
        if self.recoding is None:
            return table.partition(self.levels)
        return self.recoding.partition(table, self.suppressed_tuples)

    def levels_of(self, a: int) -> int | NDArray[np.int8]:
        """Return the level of quasi-identifier `a`, or of each row of a local recoding, shape (P,)."""
        return self.levels[a] if self.recoding is None else self.recoding.levels[:, a]


class Algorithm(Protocol):
    """A search algorithm."""

    def __call__(self, problem: Problem, progress: Progress | None = None) -> Solution | None:
        """Search; None if no transformation satisfies the problem (or none was found in time)."""


def exact(problem: Problem) -> bool:
    """Declare an algorithm exact for every problem."""
    del problem
    return True


def heuristic(problem: Problem) -> bool:
    """Declare an algorithm exact for no problem."""
    del problem
    return False


@dataclass(frozen=True)
class Method:
    """A search algorithm a job can name.

    Attributes
    ----------
    run : Algorithm
    is_exact : callable
        Whether `run`, with enough time, always finds the preferred solution of a problem, or that there is none.
    """

    run: Algorithm
    is_exact: Callable[[Problem], bool] = exact


_SLACK = 1.0 - 1e-11
"""A bound and a loss are sums of the same terms in another order. This is far above their rounding and far below the 12
digits at which losses count as equal, so that rounding never rules out the preferred solution."""


def preference(loss: InformationLoss, levels: Levels) -> Preference:
    """Order solutions: by loss at 12 significant digits, then the lower sum of levels, then the smaller vector."""
    return (tuple(float(f"{figure:.12g}") for figure in ranked(loss)), sum(levels), levels)


def preference_from(bound: Bound, levels: Levels) -> Preference:
    """Return what no solution of at least this loss comes before, at these levels or above them."""
    return preference(tuple(figure * _SLACK for figure in bound), levels)
