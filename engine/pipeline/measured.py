"""The utility of a release: of all its records, or of those in the file as if there had been no others.

In: the job, the frequency table, the outcome. Out: plain figures for the report.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy
from engine.job.job import Job
from engine.search.loss import loss_if_defined, loss_of
from engine.search.problem import Solution
from engine.search.suppressed_class import Outcome
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.lacking import with_lacking_cells
from engine.utility.information_loss import InformationLoss, leading
from engine.utility.registry import MEASURES


class Measured(NamedTuple):
    """Loss by the job's measure, and every measure; None where a figure is infinite or of no record."""

    information_loss: InformationLoss
    utility: dict[str, float | None]


class PersonsOut(NamedTuple):
    """Distinct persons of whom records are left out.

    Attributes
    ----------
    suppressed : int
        Of those that the search suppressed.
    in_all : int
        Of those, and of classes that joined them.
    further : int
        With rows beyond `max_rows`.
    gone : int
        In a series whose departures are covered, of remembered releases and not in the source any more.
    """

    suppressed: int
    in_all: int
    further: int
    gone: int = 0


def utility_figures(
    job: Job, table: FrequencyTable, solution: Solution, suppressed: NDArray[np.int64]
) -> dict[str, float | None]:
    """Return every measure, with the job's aggregate, factor and weights.

    Some have none: see `without_figure`. Of a local recoding there are those that are sums of what labels cost, or that
    read class sizes alone.
    """
    common = {
        "aggregate": job.utility.aggregate,
        "generalization_suppression_factor": job.utility.generalization_suppression_factor,
    }
    measures = [kind.model_validate(common) for kind in MEASURES]
    table = with_lacking_cells(table, job.columns_of_tables)
    weights = job.weights(table.attributes)
    if solution.recoding is not None:
        found = {
            measure.measure: loss_if_defined(measure.evaluator(table, weights), table, solution, suppressed)
            for measure in measures
        }
        return {name: None if loss is None else finite(loss) for name, loss in found.items()}
    classes = solution.partition(table)
    classes = classes.divided(suppressed) if job.suppresses_persons else classes
    none = without_figure(job)
    return {
        measure.measure: None
        if measure.measure in none
        else finite(measure.evaluator(table, weights).loss(solution.levels, classes, suppressed))
        for measure in measures
    }


def without_figure(job: Job) -> set[str]:
    """Return the measures that have no figure for the releases of a job with one level per column.

    Of one that compares tuples where persons are suppressed: a tuple may be kept in part. Of linked tables only the
    loss has one, which knows of cells that are not there.
    """
    return {
        kind.model_fields["measure"].default
        for kind in MEASURES
        if (kind.compares_tuples and job.suppresses_persons) or (job.tables is not None and not kind.knows_lacking)
    }


def measured_on_file(job: Job, table: FrequencyTable, outcome: Outcome) -> Measured:
    """Measure the records in the file alone: those that were left out add no value to a domain either."""
    solution, suppressed = outcome.solution, outcome.suppressed_tuples
    if outcome.form == "drop" or job.series is not None:
        table, known = _without(job, table, suppressed)
        suppressed = np.empty(0, np.int64)
        if solution.recoding is not None:
            solution = replace(solution, recoding=solution.recoding.of_rows(known))
    if not table.records:
        return Measured(math.inf, dict.fromkeys((kind.model_fields["measure"].default for kind in MEASURES), None))
    counted = with_lacking_cells(table, job.columns_of_tables)
    evaluator = job.utility.evaluator(counted, job.weights(table.attributes))
    loss = loss_of(evaluator, table, solution, suppressed)
    return Measured(loss, utility_figures(job, table, solution, suppressed))


def persons_out(table: FrequencyTable, outcome: Outcome, further: int) -> PersonsOut | None:
    """Count the distinct persons with suppressed records, beside those with further rows; None if none are counted."""
    if table.persons is None:
        return None
    of_search = table.persons.runs.selected(outcome.solution.suppressed_tuples)
    in_all = table.persons.runs.selected(outcome.suppressed_tuples)
    return PersonsOut(np.unique(of_search.members).size, np.unique(in_all.members).size, further)


def finite(loss: InformationLoss) -> float | None:
    """Return a loss as JSON can hold it: None if it is infinite.

    Of losses ranked by attribute, return the largest.
    """
    figure = float(leading(loss))
    return figure if math.isfinite(figure) else None


def _without(job: Job, table: FrequencyTable, left_out: NDArray[np.int64]) -> tuple[FrequencyTable, NDArray[np.bool_]]:
    """Return the table as it would have been counted without some rows, and which rows of this one it has.

    Values of the population stay known.
    """
    table = table.without(left_out)
    known = table.counts > 0 if table.population is None else (table.counts > 0) | (table.population > 0)
    rebuilt = [_rebuilt(job, one, codes[known]) for one, codes in zip(table.hierarchies, table.codes, strict=True)]
    counted = replace(
        table,
        codes=np.array([codes for _, codes in rebuilt], np.int32).reshape(len(rebuilt), -1),
        counts=table.counts[known],
        first=table.first[known],
        hierarchies=tuple(hierarchy for hierarchy, _ in rebuilt),
        sensitive={},
        population=None,
        refused=None,
        persons=None,
    )
    return counted, known


def _rebuilt(job: Job, hierarchy: Hierarchy, codes: NDArray[np.int32]) -> tuple[Hierarchy, NDArray[np.int32]]:
    """Return a hierarchy of the values that are left, and their codes in it."""
    builder = job.attributes[hierarchy.attribute].hierarchy
    present = dict.fromkeys(codes.tolist())
    unseen = hierarchy.unseen_code in present
    leaves = {code: hierarchy.labels[0][code] for code in present if code != hierarchy.unseen_code}
    values = [label for label in leaves.values() if label is not None]
    rows = [] if builder is None else builder.rows(values)
    if not rows:
        return hierarchy, codes
    new = Hierarchy(hierarchy.attribute, rows, with_null=None in leaves.values(), with_unseen=unseen)
    place = {code: new.leaf_code(label) for code, label in leaves.items()} | {hierarchy.unseen_code: new.unseen_code}
    return new, np.array([place[code] for code in codes.tolist()], np.int32)
