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

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from engine.errors import InvalidData
from engine.privacy.models.k_anonymity import KAnonymity
from engine.search.problem import Problem, Solution
from engine.search.recoding.apart import searched_apart
from engine.search.recoding.begin import as_pieces, classes_at
from engine.search.recoding.beside import by_records, with_people, without_people
from engine.search.recoding.blocks import blocks_of
from engine.search.recoding.candidate import (
    Candidate,
    as_recoding,
    asked_of,
    best_of,
    holds,
    holds_together,
    if_it_holds,
    with_suppressed,
)
from engine.search.recoding.clustering import clustered
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.joining import joined
from engine.search.recoding.local_search import improved
from engine.search.recoding.lower_bound import lower_bound
from engine.search.recoding.pieces import shape_of
from engine.search.recoding.settings import Settings
from engine.search.recoding.splitting import Splitting
from engine.tables.counting.frequency import FrequencyTable
from engine.utility.information_loss import leading
from engine.utility.measure import Evaluator

_ROUNDING = 1e-12
"""By which share two sums of the same terms in another order may differ."""
_SEARCH = 0.75
"""Share of a time limit after which the search for a recoding ends, so that its bound has the rest."""
_NEAR = 8
"""No class size is looked for between one that holds and one that does not, a share of 1 / 8 below it."""


_Search = Callable[[Problem, Settings, Deadline], Iterator[Candidate]]


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


def _found_for(problem: Problem, start: Solution, settings: Settings, deadline: Deadline) -> Candidate:
    """Return the best that is found for a problem whose models judge the records of each class."""
    found = [as_recoding(problem, start)]
    with deadline.interruptible():
        found.extend(_holding_together(problem, settings, deadline, _searched))
    best = best_of(found)
    if settings.algorithm == "clustering":
        with deadline.interruptible():
            best = best_of([best, *_improved(_of_at_least(best.asked, problem), best, settings.block, deadline)])
    return best


def _found_beside_people(problem: Problem, start: Solution, settings: Settings, deadline: Deadline) -> Candidate:
    """Return the best that is found for a table with a population.

    Raises
    ------
    InvalidData
        Nothing that was found holds by its labels alone, by which the people of its cells are counted.
    """
    first = as_recoding(problem, start)
    found = [first] if holds(problem, first) else []
    if any(model.reads_population for model in problem.models):
        with deadline.interruptible():
            found.extend(_holding_together(problem, settings, deadline, partial(searched_apart, start)))
    of_records = by_records(problem)
    if of_records is not None:
        inner, own_start, rows = without_people(of_records, start)
        best = _found_for(inner, own_start, settings, deadline)
        pieces = with_people(problem, rows, best.pieces)
        found.extend(if_it_holds(problem, (pieces, best.solution.suppressed_tuples)))
    if not found:
        raise InvalidData(
            "transformation: local-recoding: a label has several meanings, such as * for a single value, by which the "
            "classes of no recoding have the people of the population that the models demand; give each group of "
            "values a label of its own, set unseen: error or suppress, or set transformation: full-domain"
        )
    return best_of(found)


def _with_bound(found: Solution, bound: float) -> Solution:
    loss = leading(found.loss)
    assert bound <= loss * (1.0 + _ROUNDING)  # noqa: S101 (a bound is proven)
    return replace(found, lower_bound=min(bound, loss), optimal=loss == 0.0)


def _is_no_worse(found: Solution, start: Solution) -> bool:
    return leading(found.loss) <= leading(start.loss) * (1.0 + _ROUNDING)


def _of_at_least(records: int, problem: Problem) -> Problem:
    """Ask for classes of at least so many records as well."""
    if records <= asked_of(problem):
        return problem
    return replace(problem, models=(*problem.models, KAnonymity(k=records)))


def _holding_together(problem: Problem, settings: Settings, deadline: Deadline, search: _Search) -> Iterator[Candidate]:
    """Yield what the algorithms find and no model of the table as a whole refuses, of larger classes where need be."""
    refused, held = asked_of(problem), None
    asked = refused
    while True:
        found = list(search(_of_at_least(asked, problem), settings, deadline))
        holding = [one for one in found if holds_together(problem, one)]
        yield from holding
        if not found or deadline.over():
            return
        if best_of(found) in holding:
            held = asked
        else:
            refused = asked
        if held == asked_of(problem) or (held is not None and held - refused <= max(1, held // _NEAR)):
            return
        asked = 2 * refused if held is None else (refused + held) // 2


def _searched(problem: Problem, settings: Settings, deadline: Deadline) -> Iterator[Candidate]:
    """Yield what the algorithms find; nothing if more records fail at the highest levels than may be suppressed."""
    highest = classes_at(problem, problem.lattice.high)
    if highest is None:
        return
    gone, gid, levels = highest
    shape = shape_of(problem)
    split = Splitting(problem, shape, settings.block).run(gid, levels, deadline)
    kept = np.flatnonzero(split.gid >= 0)
    yield from if_it_holds(problem, with_suppressed(problem, gone, as_pieces(problem, split)))
    if settings.algorithm == "clustering" and all(model.sensitive_attribute is None for model in problem.models):
        pieces = clustered(problem, shape, split, settings.block, deadline)
        yield from if_it_holds(problem, with_suppressed(problem, gone, pieces))
    elif settings.algorithm == "clustering":
        whole = joined(problem, shape, kept, settings.block, deadline)
        if whole is not None:
            yield from if_it_holds(problem, with_suppressed(problem, gone, whole))


def _improved(problem: Problem, found: Candidate, block: int, deadline: Deadline) -> Iterator[Candidate]:
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
    moved = if_it_holds(problem, (pieces._replace(levels=levels), found.solution.suppressed_tuples))
    yield from (one for one in moved if holds_together(problem, one))
