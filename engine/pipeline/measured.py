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
from engine.lattice.space import Levels
from engine.search.suppressed_class import Outcome
from engine.tables.frequency import FrequencyTable
from engine.utility.information_loss import InformationLoss, leading
from engine.utility.registry import MEASURES


class Measured(NamedTuple):
    """Loss by the job's measure, and every measure; None where a figure is infinite or of no record."""

    information_loss: InformationLoss
    utility: dict[str, float | None]


def utility_figures(
    job: Job, table: FrequencyTable, levels: Levels, suppressed: NDArray[np.int64]
) -> dict[str, float | None]:
    """Return every measure, with the job's aggregate, factor and weights.

    A measure that compares tuples has no figure where persons are suppressed: a tuple may be kept in part.
    """
    common = {
        "aggregate": job.utility.aggregate,
        "generalization_suppression_factor": job.utility.generalization_suppression_factor,
    }
    measures = [kind.model_validate(common) for kind in MEASURES]
    weights, classes = job.weights(table.attributes), table.partition(levels)
    classes = classes.divided(suppressed) if job.suppresses_persons else classes
    return {
        measure.measure: None
        if measure.compares_tuples and job.suppresses_persons
        else finite(measure.evaluator(table, weights).loss(levels, classes, suppressed))
        for measure in measures
    }


def measured_on_file(job: Job, table: FrequencyTable, outcome: Outcome) -> Measured:
    """Measure the records in the file alone: those that were left out add no value to a domain either."""
    levels, suppressed = outcome.solution.levels, outcome.suppressed_tuples
    if outcome.form == "drop":
        table, suppressed = _without(job, table, suppressed), np.empty(0, np.int64)
    if not table.records:
        return Measured(math.inf, dict.fromkeys((kind.model_fields["measure"].default for kind in MEASURES), None))
    evaluator = job.utility.evaluator(table, job.weights(table.attributes))
    loss = evaluator.loss(levels, table.partition(levels), suppressed)
    return Measured(loss, utility_figures(job, table, levels, suppressed))


def finite(loss: InformationLoss) -> float | None:
    """Return a loss as JSON can hold it: None if it is infinite.

    Of losses ranked by attribute, return the largest.
    """
    figure = float(leading(loss))
    return figure if math.isfinite(figure) else None


def _without(job: Job, table: FrequencyTable, left_out: NDArray[np.int64]) -> FrequencyTable:
    """Return the table as it would have been counted without some rows; values of the population stay known."""
    table = table.without(left_out)
    known = table.counts > 0 if table.population is None else (table.counts > 0) | (table.population > 0)
    rebuilt = [_rebuilt(job, one, codes[known]) for one, codes in zip(table.hierarchies, table.codes, strict=True)]
    return replace(
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
