"""A recoding that was found, and whether the models hold of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.privacy.table_wide import TableWideModel
from engine.search.loss import loss_of
from engine.search.problem import Problem, Solution
from engine.search.recoding.pieces import Pieces, additive
from engine.search.recoding.splitting import failing_of
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.present_classes import PresentClasses
from engine.tables.recoding.recoding import in_pieces, recoding_of
from engine.utility.information_loss import leading


@dataclass(frozen=True, eq=False)
class Candidate:
    """A recoding, and how many records each class of it was asked to have at least."""

    pieces: Pieces
    table: FrequencyTable
    solution: Solution
    asked: int


def best_of(found: list[Candidate]) -> Candidate:
    """Return the candidate that loses least."""
    return min(found, key=lambda one: leading(one.solution.loss))


def asked_of(problem: Problem) -> int:
    """Return the records that the models demand of a class."""
    return max(1, *(model.minimum_class_size for model in problem.models))


def holds_together(problem: Problem, found: Candidate) -> bool:
    """Tell whether the models of the table as a whole hold of what is kept."""
    classes = found.solution.partition(found.table)
    kept = ~classes.holding(found.solution.suppressed_tuples) & (classes.counts > 0)
    models = (model for model in problem.models if isinstance(model, TableWideModel))
    return all(model.holds(classes, kept) for model in models)


def as_recoding(problem: Problem, start: Solution) -> Candidate:
    """Return a full-domain solution in the form of a recoding, in which all rows have its levels."""
    rows = np.arange(problem.table.counts.size)
    levels = np.repeat(np.array([start.levels], np.int8), rows.size, axis=0)
    return candidate_of(problem, Pieces(rows, problem.table.counts, levels), start.suppressed_tuples)


def with_suppressed(problem: Problem, gone: NDArray[np.int64], pieces: Pieces) -> tuple[Pieces, NDArray[np.int64]]:
    """Add the rows that are suppressed, at the highest levels, and tell which pieces they are."""
    highest = np.repeat(np.array([problem.lattice.high], np.int8), gone.size, axis=0)
    whole = Pieces(
        np.concatenate([pieces.tuples, gone]),
        np.concatenate([pieces.records, problem.table.counts[gone]]),
        np.concatenate([pieces.levels.astype(np.int8), highest]),
    )
    return whole, np.arange(pieces.tuples.size, whole.tuples.size)


def if_it_holds(problem: Problem, found: tuple[Pieces, NDArray[np.int64]]) -> Iterator[Candidate]:
    """Yield a candidate unless a class fails: cells are classes where their texts are equal, at whatever levels."""
    one = candidate_of(problem, *found)
    if holds(problem, one):
        yield one


def holds(problem: Problem, one: Candidate) -> bool:
    """Tell whether each class that is kept satisfies the models."""
    classes = one.solution.partition(one.table)
    kept = ~classes.holding(one.solution.suppressed_tuples)
    fails = failing_of(problem, PresentClasses.of(classes))
    refuses = any(model.refuses_empty_classes for model in problem.models) and asked_of(problem) <= 1
    return not (fails & kept).any() and not (refuses and classes.leaves_out)


def candidate_of(problem: Problem, pieces: Pieces, suppressed: NDArray[np.int64]) -> Candidate:
    """Return a recoding with its loss.

    Parameters
    ----------
    suppressed : int64, shape (S,)
        Pieces that are suppressed.
    """
    table = in_pieces(problem.table, pieces.tuples, pieces.records)
    solution = Solution(
        levels=(),
        suppressed_tuples=suppressed,
        suppressed=int(table.counts[suppressed].sum()),
        loss=0.0,
        lower_bound=0.0,
        optimal=False,
        checked=1,
        recoding=recoding_of(table, pieces.levels, problem.lattice.low, suppressed, problem.lattice.high),
    )
    loss = loss_of(additive(problem), table, solution, suppressed)
    return Candidate(pieces, table, replace(solution, loss=loss), asked_of(problem))
