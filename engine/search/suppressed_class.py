"""What becomes of the suppressed records: whoever holds the file sees them as one more equivalence class.

In: a problem, its solution, and the form that the job prefers. Out: an `Outcome`: the solution as it is released, and
the form. The records stay with `*` everywhere (`star`) only if their class satisfies every model; or they are left out
of the file (`drop`) if the classes that are kept satisfy every model beside the sensitive values of the table without
them as well. Where neither holds, further classes are suppressed within the limit, and the form that loses less is
chosen (definitions: what is released); unless only small classes may be suppressed. Persons who are suppressed because
of what m of their rows tell are left out: the search chose them so that the others satisfy every model among
themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.builder import SUPPRESSED
from engine.hierarchy.hierarchy import Hierarchy
from engine.search.loss import loss_of
from engine.search.problem import Problem, Solution, preference
from engine.search.whole_persons import judged_classes
from engine.tables.counting.frequency import Classes, FrequencyTable
from engine.tables.counting.present_classes import PresentClasses

Form = Literal["none", "star", "drop", "refused"]

REFUSED = (
    "the suppressed records can neither stay nor be left out: as a class of their own they fail a privacy model, and "
    "without them the distribution of a sensitive attribute is another, from which classes are too far; raise "
    "suppression_limit, so that further classes can join them, or choose a weaker model"
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What is released.

    Attributes
    ----------
    solution : Solution
        The solution of the search.
    suppressed_tuples : int64, shape (S,)
        Rows of the frequency table that are suppressed: those of the solution, and those of classes that joined.
    suppressed : int
        Records in them.
    form : {"none", "star", "drop", "refused"}
        What became of the suppressed records: there are none, they stay with `*` everywhere, or they are left out; or
        neither satisfies every model within the limit, and nothing may be released.
    joined : int
        Classes that satisfy every model and were suppressed nevertheless.
    """

    solution: Solution
    suppressed_tuples: NDArray[np.int64]
    suppressed: int
    form: Form
    joined: int = 0


def released(problem: Problem, solution: Solution, prefers: Literal["star", "drop"]) -> Outcome:
    """Decide what becomes of the suppressed records."""
    if not solution.suppressed:
        return Outcome(solution, solution.suppressed_tuples, 0, "none")
    if isinstance(problem.known, int):
        # whole persons are left out, and of the others the parts of pictures are judged, not classes
        return Outcome(solution, solution.suppressed_tuples, solution.suppressed, "drop")
    classes = judged_classes(problem.table, problem.known, solution, solution.suppressed_tuples)
    suppressed = classes.holding(solution.suppressed_tuples)
    stays = prefers == "star" and not _few_among_others(problem, solution, classes, suppressed)
    forms: tuple[Form, ...] = ("star", "drop") if stays else ("drop",)
    for form in forms:
        if _holds(problem, solution, classes, suppressed, form):
            return Outcome(solution, solution.suppressed_tuples, solution.suppressed, form)
    if problem.small_only:
        # which further classes would have to join follows from sensitive values
        return Outcome(solution, solution.suppressed_tuples, solution.suppressed, "refused")
    found = [
        (loss_of(problem.evaluator, problem.table, solution, one.suppressed_tuples), one)
        for one in _with_joined(problem, solution, classes, suppressed, forms)
    ]
    if not found:
        return Outcome(solution, solution.suppressed_tuples, solution.suppressed, "refused")
    return min(found, key=lambda one: preference(one[0], solution.levels))[1]


def _few_among_others(problem: Problem, solution: Solution, classes: Classes, suppressed: NDArray[np.bool_]) -> bool:
    """Tell whether fewer records are suppressed than a class must have, and a class that is kept is `*` throughout.

    The file would not tell them from that class, so their number, which is no class of the file, would have to be told.
    """
    least = max(model.minimum_class_size for model in problem.models)
    kept = ~suppressed & (classes.counts > 0)
    return solution.suppressed < least and bool((kept & _starred(problem.table, classes, solution)).any())


def is_uninformative(table: FrequencyTable, outcome: Outcome, but: Collection[str] = ()) -> bool:
    """Tell whether a release shows nothing: every record is suppressed, or at the root in every quasi-identifier.

    Those in `but` are not looked at.
    """
    shown = table.counts > 0
    shown[outcome.suppressed_tuples] = False
    return not shown.any() or all(
        _all_root(hierarchy, outcome.solution.levels_of(a), leaves, shown)
        for a, (hierarchy, leaves) in enumerate(zip(table.hierarchies, table.codes, strict=True))
        if hierarchy.attribute not in but
    )


def _all_root(
    hierarchy: Hierarchy, levels: int | NDArray[np.int8], leaves: NDArray[np.int32], shown: NDArray[np.bool_]
) -> bool:
    """Whether all rows that are shown have, at their levels, the one label in which the hierarchy ends."""
    if len(hierarchy.labels[-1]) > 1:
        return False
    return bool(hierarchy.shows(hierarchy.labels[-1][0])[levels, leaves][shown].all())


def as_file(classes: Classes, solution: Solution, suppressed: NDArray[np.bool_], form: Form) -> PresentClasses:
    """Return the equivalence classes as the released file shows them.

    Parameters
    ----------
    classes : Classes
        The C classes of the transformation.
    suppressed : bool, shape (C,)
    form : {"none", "star", "drop", "refused"}
        With `star`, one class holds all suppressed records, and the people of every class that is not released: nobody
        can tell these apart.
    """
    table = classes.table
    if form == "none":
        return PresentClasses.of(classes)
    if form in {"drop", "refused"}:
        return PresentClasses.of(classes.of(table.without(np.flatnonzero(suppressed[classes.gid]))))
    starred = suppressed | (classes.counts == 0) | _starred(table, classes, solution)
    return PresentClasses.of(classes.of(_without_refused_people(table)).merged(starred))


def _with_joined(
    problem: Problem, solution: Solution, classes: Classes, suppressed: NDArray[np.bool_], forms: tuple[Form, ...]
) -> Iterator[Outcome]:
    """Yield what can be released in each form if further classes join."""
    for form in forms:
        further = _further_dropped if form == "drop" else _further_starred
        joined = further(problem, solution, classes, suppressed)
        if joined is not None:
            tuples = np.flatnonzero(joined[classes.gid])
            records = int(problem.table.counts[tuples].sum())
            yield Outcome(solution, tuples, records, form, int((joined & ~suppressed).sum()))


def _further_dropped(
    problem: Problem, solution: Solution, classes: Classes, suppressed: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """Leave out the classes that fail beside the table without those left out before, until none does."""
    suppressed = suppressed.copy()
    while True:
        present = as_file(classes, solution, suppressed, "drop")
        failing = np.zeros(present.counts.size, np.bool_)
        for model in problem.models if failing.size else ():
            failing |= model.violated(present)
        if not failing.any():
            return suppressed if _holds(problem, solution, classes, suppressed, "drop") else None
        suppressed[np.flatnonzero(present.there)[failing]] = True
        if classes.counts[suppressed].sum() > problem.limit:
            return None


def _further_starred(
    problem: Problem, solution: Solution, classes: Classes, suppressed: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """Let 1, 2, 4, ... of the smallest classes join, until the class of suppressed records satisfies every model."""
    kept = np.flatnonzero(~suppressed & (classes.counts > 0))
    smallest = kept[np.argsort(classes.counts[kept], kind="stable")]
    number = 1
    while number <= smallest.size:
        more = suppressed.copy()
        more[smallest[:number]] = True
        if classes.counts[more].sum() > problem.limit:
            return None
        if _holds(problem, solution, classes, more, "star"):
            return more
        number *= 2
    return None


def _holds(problem: Problem, solution: Solution, classes: Classes, suppressed: NDArray[np.bool_], form: Form) -> bool:
    present = as_file(classes, solution, suppressed, form)
    everything = np.ones(present.counts.size, np.bool_)
    return not everything.size or all(model.holds(present, everything) for model in problem.models)


def _without_refused_people(table: FrequencyTable) -> FrequencyTable:
    """Count nobody whose values have no entry in a hierarchy: verification does not know where they belong."""
    if table.population is None or table.refused is None:
        return table
    return replace(table, population=np.where(table.refused, 0, table.population))


def _starred(table: FrequencyTable, classes: Classes, solution: Solution) -> NDArray[np.bool_]:
    """Return which classes are `*` throughout, as suppressed records are, shape (C,)."""
    rows = np.ones(classes.gid.size, np.bool_)
    for a, (hierarchy, leaves) in enumerate(zip(table.hierarchies, table.codes, strict=True)):
        rows &= hierarchy.shows(SUPPRESSED)[solution.levels_of(a), leaves]
    return classes.holding(rows)
