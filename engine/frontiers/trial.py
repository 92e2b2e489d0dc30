"""One policy of a frontier, tried on the table at hand: what a release by it would be.

In: a job, the plane of its table, the bits of a policy. Out: a `Trial`: what its release suppresses, with risk and
utility loss of it, the suppressed records included; or why there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.plane import Plane
from engine.frontiers.space.domain import Bits
from engine.frontiers.tonight import executed_tonight
from engine.hierarchy.builder import Row
from engine.hierarchy.hierarchy import Hierarchy
from engine.job.job import Job
from engine.job.problem import problem_of
from engine.risk.figures import risks
from engine.search.registry import POLICY, method
from engine.search.suppressed_class import as_file, is_uninformative, released
from engine.tables.counting.frequency import FrequencyTable

Hindrance = Literal["levels", "privacy", "nothing-left", "risk", "dominates"]
"""Why a policy is not released: it does not fit the job's levels or values; it fails the privacy models within the
suppression limit; nothing would be left to tell apart; its release has a higher risk than the rule allows, or does not
dominate the reference."""


@dataclass(frozen=True)
class Trial:
    """A policy as it would be released.

    Attributes
    ----------
    suppressed : int64, shape (S,)
        Rows of the plane's table that the release suppresses.
    risk : float
        Over all records of the file, the class of suppressed records included, by the job's `frontier.risk`.
    utility_loss : float
        By `frontier.utility`; suppressed records count as generalized to everything.
    """

    suppressed: NDArray[np.int64]
    risk: float
    utility_loss: float


def tried(job: Job, plane: Plane, bits: Bits) -> Trial | Hindrance:
    """Make the release of a policy as far as its figures need it."""
    executed = executed_tonight(job, plane, bits)
    if executed is None:
        return "levels"
    problem = problem_of(executed.job, _grouped(executed.rows, plane.table))
    solution = method(POLICY).run(problem)
    if solution is None:
        return "privacy"
    outcome = released(problem, solution, executed.job.prefers)
    if outcome.form == "refused":
        return "privacy"
    if not job.allow_empty_information and is_uninformative(problem.table, outcome):
        return "nothing-left"
    classes = problem.table.partition(solution.levels)
    file = as_file(classes, solution, classes.holding(outcome.suppressed_tuples), outcome.form)
    figures = risks(file.counts, None if problem.table.population is None else file.population)
    loss = plane.utility_loss_with(bits, outcome.suppressed_tuples)
    return Trial(outcome.suppressed_tuples, figures[job.frontier_settings.risk], loss)


def _grouped(rows: list[dict[str, Row]], table: FrequencyTable) -> FrequencyTable:
    """Return a table with the groups of a policy as its hierarchies, as counting the source again would give it."""
    hierarchies, codes = [], []
    for own, leaves, grouped in zip(table.hierarchies, table.codes, rows, strict=True):
        known = [label for code, label in enumerate(own.labels[0]) if code != own.unseen_code]
        hierarchy = Hierarchy(
            own.attribute,
            [grouped[label] for label in known if label in grouped],
            with_null=None in known,
            with_unseen=own.unseen_code >= 0,
        )
        place = [hierarchy.leaf_code(label) for label in known]
        # the leaf of all values without an entry comes last
        place += [hierarchy.unseen_code] if own.unseen_code >= 0 else []
        hierarchies.append(hierarchy)
        codes.append(np.array(place, np.int32)[leaves])
    return replace(table, hierarchies=tuple(hierarchies), codes=np.ascontiguousarray(codes, np.int32))
