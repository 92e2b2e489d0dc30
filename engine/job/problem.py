"""The last step before the search: a job and its frequency table become the `Problem` of a lattice."""

from __future__ import annotations

import math

from engine.errors import InvalidJob
from engine.job.job import Job
from engine.lattice.space import Lattice, Levels
from engine.privacy.model import PrivacyModel
from engine.search.problem import Problem
from engine.tables.frequency import FrequencyTable


def problem_of(job: Job, table: FrequencyTable) -> Problem:
    """Return what a job's search is given.

    Raises
    ------
    InvalidJob
        A level is beyond the last of its hierarchy.
    """
    lattice = _lattice(job, table)
    return Problem(
        table,
        lattice,
        _models(job, table),
        job.utility.evaluator(table, job.weights(table.attributes)),
        math.floor(job.suppression_limit * table.records),
        job.search.time_limit_seconds,
        job.search.gap,
        _start(job, table, lattice),
        job.search.threads,
        job.search.memory_megabytes << 20,
        job.suppress == "small-classes",
    )


def _models(job: Job, table: FrequencyTable) -> tuple[PrivacyModel, ...]:
    """Return what judges the classes; where nobody has two records, persons and records are the same."""
    alike = table.persons is None or table.persons.number == table.records
    return job.privacy if alike else job.counted_privacy


def _start(job: Job, table: FrequencyTable, lattice: Lattice) -> Levels | None:
    if job.search.start is None:
        return None
    start = tuple(job.search.start[name] for name in table.attributes)
    for name, level, low, high in zip(table.attributes, start, lattice.low, lattice.high, strict=True):
        if not low <= level <= high:
            raise InvalidJob(f"search.start.{name}: is {level}, allowed are levels {low} to {high}")
    return start


def _lattice(job: Job, table: FrequencyTable) -> Lattice:
    low, high = [], []
    for hierarchy in table.hierarchies:
        attribute = job.attributes[hierarchy.attribute]
        highest = hierarchy.level_count - 1
        for key in ("minimum_level", "maximum_level"):
            level = getattr(attribute, key)
            if level is not None and level > highest:
                raise InvalidJob(f"attributes.{hierarchy.attribute}.{key}: is {level}, the hierarchy ends at {highest}")
        low.append(attribute.minimum_level)
        high.append(highest if attribute.maximum_level is None else attribute.maximum_level)
    return Lattice(tuple(low), tuple(high))
