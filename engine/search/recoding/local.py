"""Local recoding by the algorithms of this room, and never worse than the full-domain solution it starts from.

In: a problem, its full-domain solution, and which algorithm. Out: the problem of the table in pieces, and its solution.
The classes at the highest levels are split as long as every part satisfies every model. Where the models demand nothing
but a size, the blocks of that splitting are clustered as well; where they read sensitive values, tuples are joined
until they satisfy them. A local search improves the best of these. Of all that was found, the full-domain solution
included, the one that loses least is returned.

Beside a population the same is done by records alone, and cells are searched for that do not overlap
(`engine.search.recoding.beside`).

Models of the table as a whole judge what was found. Where they refuse it, classes of more records are asked for, twice
as many each time, and then the fewest between the last two sizes with which they hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.kernels.cells import Shape
from engine.lattice.space import Levels
from engine.privacy.models.k_anonymity import KAnonymity
from engine.privacy.table_wide import TableWideModel
from engine.search.loss import loss_of
from engine.search.problem import Problem, Solution
from engine.search.recoding.beside import by_records, with_people, without_people
from engine.search.recoding.blocks import blocks_of
from engine.search.recoding.clustering import clustered
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.joining import joined
from engine.search.recoding.local_search import improved
from engine.search.recoding.lower_bound import lower_bound
from engine.search.recoding.pieces import Pieces, additive, shape_of
from engine.search.recoding.splitting import Split, Splitting, failing_of
from engine.tables.frequency import Classes, FrequencyTable
from engine.tables.present_classes import PresentClasses
from engine.tables.recoding import in_pieces, recoding_of
from engine.utility.information_loss import leading
from engine.utility.measure import Evaluator

RecodingAlgorithm = Literal["clustering", "splitting"]

_ROUNDING = 1e-12
"""By which share two sums of the same terms in another order may differ."""
_LITTLE = 1e-3
"""The share of the loss that classes one level higher must save for those above them to be tried."""
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


_Search = Callable[[Problem, Settings, Deadline], Iterator[_Candidate]]


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
    if problem.table.population is None:
        best = _found_for(problem, start, settings, searching)
        assert _is_no_worse(best.solution, start)  # noqa: S101 (the start is among them)
    else:
        best = _found_beside_people(problem, start, settings, searching)
    bound = 0.0
    with deadline.interruptible():
        enough = leading(best.solution.loss) * (1.0 - settings.gap)
        bound = lower_bound(problem, settings.passes, settings.visits, deadline, enough)
    solution = replace(_with_bound(best.solution, bound), checked=start.checked)
    return replace(problem, table=best.table, evaluator=evaluator(best.table)), solution


def _found_for(problem: Problem, start: Solution, settings: Settings, deadline: Deadline) -> _Candidate:
    """Return the best that is found for a problem whose models judge the records of each class."""
    found = [_as_recoding(problem, start)]
    with deadline.interruptible():
        found.extend(_holding_together(problem, settings, deadline, _searched))
    best = _best(found)
    if settings.algorithm == "clustering":
        with deadline.interruptible():
            best = _best([best, *_improved(_of_at_least(best.asked, problem), best, settings.block, deadline)])
    return best


def _found_beside_people(problem: Problem, start: Solution, settings: Settings, deadline: Deadline) -> _Candidate:
    """Return the best that is found for a table with a population.

    Raises
    ------
    InvalidData
        Nothing that was found holds by its labels alone, by which the people of its cells are counted.
    """
    first = _as_recoding(problem, start)
    found = [first] if _holds(problem, first) else []
    if any(model.reads_population for model in problem.models):
        with deadline.interruptible():
            found.extend(_holding_together(problem, settings, deadline, partial(_searched_apart, start)))
    of_records = by_records(problem)
    if of_records is not None:
        inner, own_start, rows = without_people(of_records, start)
        best = _found_for(inner, own_start, settings, deadline)
        pieces = with_people(problem, rows, best.pieces)
        found.extend(_holding(problem, (pieces, best.solution.suppressed_tuples)))
    if not found:
        raise InvalidData(
            "transformation: local-recoding: a label has several meanings, such as * for a single value, by which the "
            "classes of no recoding have the people of the population that the models demand; give each group of "
            "values a label of its own, set unseen: error or suppress, or set transformation: full-domain"
        )
    return _best(found)


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


def _holding_together(
    problem: Problem, settings: Settings, deadline: Deadline, search: _Search
) -> Iterator[_Candidate]:
    """Yield what the algorithms find and no model of the table as a whole refuses, of larger classes where need be."""
    refused, held = _asked(problem), None
    asked = refused
    while True:
        found = list(search(_of_at_least(asked, problem), settings, deadline))
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
    highest = _at(problem, problem.lattice.high)
    if highest is None:
        return
    gone, gid, levels = highest
    shape = shape_of(problem)
    split = Splitting(problem, shape, settings.block).run(gid, levels, deadline)
    kept = np.flatnonzero(split.gid >= 0)
    yield from _holding(problem, _with_suppressed(problem, gone, _as_pieces(problem, split)))
    if settings.algorithm == "clustering" and all(model.sensitive_attribute is None for model in problem.models):
        pieces = clustered(problem, shape, split, settings.block, deadline)
        yield from _holding(problem, _with_suppressed(problem, gone, pieces))
    elif settings.algorithm == "clustering":
        whole = joined(problem, shape, kept, settings.block, deadline)
        if whole is not None:
            yield from _holding(problem, _with_suppressed(problem, gone, whole))


def _searched_apart(start: Solution, problem: Problem, settings: Settings, deadline: Deadline) -> Iterator[_Candidate]:
    """Yield recodings whose cells cover nobody in common, and the same with smaller cells inside of those with records.

    The classes at the highest levels are split, those of the full-domain solution, and from there on those one level
    above in each attribute, as long as the best of these loses less. Models judge the people of a class by its rows,
    which are all rows that have its labels.
    """
    yield from _split_apart(problem, problem.lattice.high, settings, deadline)
    near, least = [start.levels], math.inf
    while near and not deadline.over():
        found = {levels: list(_split_apart(problem, levels, settings, deadline)) for levels in near}
        for candidates in found.values():
            yield from candidates
        losses = {levels: leading(_best(some).solution.loss) for levels, some in found.items() if some}
        best = min(losses, key=lambda levels: losses[levels], default=start.levels)
        if not losses or losses[best] >= least * (1.0 - _LITTLE):
            return
        least, near = losses[best], list(_above(problem, best))


def _above(problem: Problem, levels: Levels) -> Iterator[Levels]:
    """Yield the levels one above some in each attribute."""
    for a, high in enumerate(problem.lattice.high):
        if levels[a] < high:
            yield (*levels[:a], levels[a] + 1, *levels[a + 1 :])


def _split_apart(problem: Problem, levels: Levels, settings: Settings, deadline: Deadline) -> Iterator[_Candidate]:
    """Yield what becomes of the classes at some levels: the best that holds; all, where models judge them together."""
    begin = _at(problem, levels)
    if begin is None:
        return
    shape = shape_of(problem)
    apart = Splitting(problem, shape, settings.block, apart=True).run(begin.gid, begin.levels, deadline)
    found = [_as_pieces(problem, apart), *_inside(problem, shape, apart, settings, deadline)]
    together = any(isinstance(model, TableWideModel) for model in problem.models)
    for pieces in reversed(found):
        holding = list(_holding(problem, _with_suppressed(problem, begin.gone, pieces)))
        yield from holding
        if holding and not together:
            return


def _inside(problem: Problem, shape: Shape, apart: Split, settings: Settings, deadline: Deadline) -> Iterator[Pieces]:
    """Yield the same classes with smaller ones inside of those that have records enough, each better than before."""
    of_records = by_records(problem)
    if of_records is None:
        return
    inside = Splitting(of_records, shape, settings.block).run(apart.gid, apart.levels, deadline)
    pieces = _as_pieces(problem, inside)
    yield pieces
    if settings.algorithm != "clustering" or deadline.over():
        return
    # rows that only the population has need not be shown
    table = problem.table
    fails = failing_of(of_records, PresentClasses.of(Classes(table, inside.gid + 1, inside.levels.shape[0] + 1)))[1:]
    moving = (inside.gid >= 0) & (table.counts > 0)
    moving[moving] = ~fails[inside.gid[moving]]
    if moving.any():
        gid, blocks = np.where(moving, inside.gid, -1), apart.gid.astype(np.int64)
        moved = improved(of_records, shape, table, gid, blocks, deadline)
        yield pieces._replace(levels=np.where(moving[pieces.tuples, None], moved[pieces.tuples], pieces.levels))


class _Begin(NamedTuple):
    """Classes that are split.

    Attributes
    ----------
    gone : int64, shape (S,)
        Rows that are suppressed.
    gid : int32, shape (R,)
        Class of each row, -1 for those.
    levels : int64, shape (C, m)
    """

    gone: NDArray[np.int64]
    gid: NDArray[np.int32]
    levels: NDArray[np.int64]


def _at(problem: Problem, levels: Levels) -> _Begin | None:
    """Return the classes at some levels that satisfy the models; None if too many records are in others."""
    table = problem.table
    classes = table.partition(levels)
    fails = failing_of(problem, PresentClasses.of(classes)) | classes.refused
    gone = np.flatnonzero(fails[classes.gid])
    if table.counts[gone].sum() > problem.limit or fails.all():
        return None
    place = np.where(fails, -1, np.cumsum(~fails) - 1)
    of_class = np.repeat(np.array([levels], np.int64), int((~fails).sum()), axis=0)
    return _Begin(gone, place[classes.gid].astype(np.int32), of_class)


def _as_pieces(problem: Problem, split: Split) -> Pieces:
    """Return the classes of a splitting, whole tuples."""
    kept = np.flatnonzero(split.gid >= 0)
    return Pieces(kept, problem.table.counts[kept], split.levels[split.gid[kept]].astype(np.int8))


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
    if _holds(problem, one):
        yield one


def _holds(problem: Problem, one: _Candidate) -> bool:
    classes = one.solution.partition(one.table)
    kept = ~classes.holding(one.solution.suppressed_tuples)
    fails = failing_of(problem, PresentClasses.of(classes))
    refuses = any(model.refuses_empty_classes for model in problem.models) and _asked(problem) <= 1
    return not (fails & kept).any() and not (refuses and classes.leaves_out)


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
        recoding=recoding_of(table, pieces.levels, problem.lattice.low, suppressed, problem.lattice.high),
    )
    loss = loss_of(additive(problem), table, solution, suppressed)
    return _Candidate(pieces, table, replace(solution, loss=loss), _asked(problem))
