"""Local recoding by the algorithms of this room, and never worse than the full-domain solution it starts from.

In: a problem, its full-domain solution, and which algorithm. Out: the problem of the table in pieces, and its solution.
The classes at the highest levels are split as long as every part satisfies every model. Where the models demand nothing
but a size, the blocks of that splitting are clustered as well; where they read sensitive values, tuples are joined
until they satisfy them. A local search improves the best of these. Of all that was found, the full-domain solution
included, the one that loses least is returned.

Models of the table as a whole judge what was found. Where they refuse it, classes of more records are asked for, twice
as many each time, and then the fewest between the last two sizes with which they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.privacy.models.k_anonymity import KAnonymity
from engine.privacy.table_wide import TableWideModel
from engine.search.loss import loss_of
from engine.search.problem import Problem, Solution
from engine.search.recoding.blocks import blocks_of
from engine.search.recoding.clustering import clustered
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.joining import joined
from engine.search.recoding.local_search import improved
from engine.search.recoding.lower_bound import lower_bound
from engine.search.recoding.pieces import Pieces, additive, shape_of
from engine.search.recoding.splitting import Splitting, failing_of
from engine.tables.frequency import FrequencyTable, PresentClasses
from engine.tables.recoding import in_pieces, recoding_of
from engine.utility.information_loss import leading
from engine.utility.measure import Evaluator

RecodingAlgorithm = Literal["clustering", "splitting"]

_ROUNDING = 1e-12
"""By which share two sums of the same terms in another order may differ."""
_SEARCH = 0.75
"""Share of a time limit after which the search for a recoding ends, so that its bound has the rest."""
_NEAR = 8
"""No class size is looked for between one that holds and one that does not, a share of 1 / 8 below it."""


@dataclass(frozen=True)
class Settings:
    """How a local recoding is searched for.

    Attributes
    ----------
    algorithm : {"clustering", "splitting"}
        Splitting, clustering and a local search; or splitting alone.
    block : int
        Tuples of a block.
    seconds : float or None
        After so many the best so far is returned; the last quarter is for its bound.
    passes, visits : int
        Of the lower bound (`lower_bound`).
    gap : float
        The share that a better recoding could save at most, with which the bound is good enough.
    """

    algorithm: RecodingAlgorithm
    block: int
    seconds: float | None
    passes: int
    visits: int
    gap: float


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A recoding, and how many records each class of it was asked to have at least."""

    pieces: Pieces
    table: FrequencyTable
    solution: Solution
    asked: int


def recoded(
    problem: Problem, start: Solution, settings: Settings, evaluator: Callable[[FrequencyTable], Evaluator]
) -> tuple[Problem, Solution]:
    """Search for a local recoding.

    Parameters
    ----------
    start : Solution
        Of full-domain generalization.
    evaluator : callable
        Binds the job's measure to a table.

    Returns
    -------
    problem : Problem
        Of the table in pieces.
    solution : Solution
        Where the time ended, or at an interrupt, the best so far, with the bound that is proven by then.
    """
    deadline = Deadline(settings.seconds)
    searching = deadline.first(_SEARCH if settings.passes else 1.0)
    found = [_as_recoding(problem, start)]
    with searching.interruptible():
        found.extend(_holding_together(problem, settings, searching))
    best = _best(found)
    if settings.algorithm == "clustering":
        with searching.interruptible():
            best = _best([best, *_improved(_of_at_least(best.asked, problem), best, settings.block, searching)])
    assert _is_no_worse(best.solution, start)  # noqa: S101 (the start is among them)
    bound = 0.0
    with deadline.interruptible():
        enough = leading(best.solution.loss) * (1.0 - settings.gap)
        bound = lower_bound(problem, settings.passes, settings.visits, deadline, enough)
    solution = replace(_with_bound(best.solution, bound), checked=start.checked)
    return replace(problem, table=best.table, evaluator=evaluator(best.table)), solution


def _best(found: list[_Candidate]) -> _Candidate:
    return min(found, key=lambda one: leading(one.solution.loss))


def _with_bound(found: Solution, bound: float) -> Solution:
    loss = leading(found.loss)
    assert bound <= loss * (1.0 + _ROUNDING)  # noqa: S101 (a bound is proven)
    return replace(found, lower_bound=min(bound, loss), optimal=loss == 0.0)


def _is_no_worse(found: Solution, start: Solution) -> bool:
    return leading(found.loss) <= leading(start.loss) * (1.0 + _ROUNDING)


def _asked(problem: Problem) -> int:
    return max(1, *(model.minimum_class_size for model in problem.models))


def _of_at_least(records: int, problem: Problem) -> Problem:
    """Ask for classes of at least so many records as well."""
    if records <= _asked(problem):
        return problem
    return replace(problem, models=(*problem.models, KAnonymity(k=records)))


def _holding_together(problem: Problem, settings: Settings, deadline: Deadline) -> Iterator[_Candidate]:
    """Yield what the algorithms find and no model of the table as a whole refuses, of larger classes where need be."""
    refused, held = _asked(problem), None
    asked = refused
    while True:
        found = list(_searched(_of_at_least(asked, problem), settings, deadline))
        holding = [one for one in found if _holds_together(problem, one)]
        yield from holding
        if not found or deadline.over():
            return
        if _best(found) in holding:
            held = asked
        else:
            refused = asked
        if held == _asked(problem) or (held is not None and held - refused <= max(1, held // _NEAR)):
            return
        asked = 2 * refused if held is None else (refused + held) // 2


def _holds_together(problem: Problem, found: _Candidate) -> bool:
    classes = found.solution.partition(found.table)
    kept = ~classes.holding(found.solution.suppressed_tuples) & (classes.counts > 0)
    models = (model for model in problem.models if isinstance(model, TableWideModel))
    return all(model.holds(classes, kept) for model in models)


def _as_recoding(problem: Problem, start: Solution) -> _Candidate:
    """Return a full-domain solution in the form of a recoding, in which all rows have its levels."""
    rows = np.arange(problem.table.counts.size)
    levels = np.repeat(np.array([start.levels], np.int8), rows.size, axis=0)
    return _candidate(problem, Pieces(rows, problem.table.counts, levels), start.suppressed_tuples)


def _searched(problem: Problem, settings: Settings, deadline: Deadline) -> Iterator[_Candidate]:
    """Yield what the algorithms find; nothing if more records fail at the highest levels than may be suppressed."""
    table, high = problem.table, problem.lattice.high
    classes = table.partition(high)
    fails = failing_of(problem, PresentClasses.of(classes)) | classes.refused
    gone = np.flatnonzero(fails[classes.gid])
    if table.counts[gone].sum() > problem.limit or fails.all():
        return
    place = np.where(fails, -1, np.cumsum(~fails) - 1)
    levels = np.repeat(np.array([high], np.int64), int((~fails).sum()), axis=0)
    shape = shape_of(problem)
    split = Splitting(problem, shape, settings.block).run(place[classes.gid].astype(np.int32), levels, deadline)
    kept = np.flatnonzero(split.gid >= 0)
    yield from _holding(
        problem,
        _with_suppressed(
            problem, gone, Pieces(kept, table.counts[kept], split.levels[split.gid[kept]].astype(np.int8))
        ),
    )
    if settings.algorithm == "clustering" and all(model.sensitive_attribute is None for model in problem.models):
        pieces = clustered(problem, shape, split, settings.block, deadline)
        yield from _holding(problem, _with_suppressed(problem, gone, pieces))
    elif settings.algorithm == "clustering":
        whole = joined(problem, shape, kept, settings.block, deadline)
        if whole is not None:
            yield from _holding(problem, _with_suppressed(problem, gone, whole))


def _improved(problem: Problem, found: _Candidate, block: int, deadline: Deadline) -> Iterator[_Candidate]:
    """Yield what a local search makes of a candidate, in larger blocks than it was made in."""
    recoding, pieces = found.solution.recoding, found.pieces
    assert recoding is not None  # noqa: S101 (every candidate has one)
    gid = recoding.gid.copy()
    gid[found.solution.suppressed_tuples] = -1
    kept = gid >= 0
    if deadline.over() or not kept.any():
        return
    shape = shape_of(problem)
    looked, place = np.unique(pieces.tuples[kept], return_inverse=True)
    blocks = np.zeros(gid.size, np.int64)
    blocks[kept] = blocks_of(problem, shape, looked, 2 * block, deadline)[place]
    levels = improved(problem, shape, found.table, gid, blocks, deadline)
    moved = _holding(problem, (pieces._replace(levels=levels), found.solution.suppressed_tuples))
    yield from (one for one in moved if _holds_together(problem, one))


def _with_suppressed(problem: Problem, gone: NDArray[np.int64], pieces: Pieces) -> tuple[Pieces, NDArray[np.int64]]:
    """Add the rows that are suppressed, at the highest levels, and tell which pieces they are."""
    highest = np.repeat(np.array([problem.lattice.high], np.int8), gone.size, axis=0)
    whole = Pieces(
        np.concatenate([pieces.tuples, gone]),
        np.concatenate([pieces.records, problem.table.counts[gone]]),
        np.concatenate([pieces.levels.astype(np.int8), highest]),
    )
    return whole, np.arange(pieces.tuples.size, whole.tuples.size)


def _holding(problem: Problem, found: tuple[Pieces, NDArray[np.int64]]) -> Iterator[_Candidate]:
    """Yield a candidate unless a class fails: cells are classes where their texts are equal, at whatever levels."""
    one = _candidate(problem, *found)
    classes = one.solution.partition(one.table)
    kept = ~classes.holding(one.solution.suppressed_tuples)
    if not (failing_of(problem, PresentClasses.of(classes)) & kept).any():
        yield one


def _candidate(problem: Problem, pieces: Pieces, suppressed: NDArray[np.int64]) -> _Candidate:
    table = in_pieces(problem.table, pieces.tuples, pieces.records)
    solution = Solution(
        levels=(),
        suppressed_tuples=suppressed,
        suppressed=int(table.counts[suppressed].sum()),
        loss=0.0,
        lower_bound=0.0,
        optimal=False,
        checked=1,
        recoding=recoding_of(table, pieces.levels, problem.lattice.low, suppressed),
    )
    loss = loss_of(additive(problem), table, solution, suppressed)
    return _Candidate(pieces, table, replace(solution, loss=loss), _asked(problem))
