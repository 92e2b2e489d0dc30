"""The last step before the search: a job and its frequency table become the `Problem` of a lattice."""

from __future__ import annotations

import math

import numpy as np

from engine.errors import InvalidData, InvalidJob
from engine.job.job import Job
from engine.lattice.space import Lattice, Levels
from engine.privacy.model import PrivacyModel
from engine.search.problem import Problem
from engine.tables.frequency import FrequencyTable

MOST_PARTS = 500_000_000
"""Combinations of rows of one person, over all persons: as many as both judges count in some minutes."""


def problem_of(job: Job, table: FrequencyTable) -> Problem:
    """Return what a job's search is given.

    Raises
    ------
    InvalidJob
        A level is beyond the last of its hierarchy.
    InvalidData
        Persons have too many combinations of the rows that attackers know.
    """
    _check_parts(job, table)
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
        job.known,
    )


def _check_parts(job: Job, table: FrequencyTable) -> None:
    """Refuse a table in which persons have too many combinations of the rows that attackers know."""
    if not isinstance(job.known, int):
        return
    assert table.persons is not None  # noqa: S101 (only a subject has known rows)
    assert table.persons.apart is not None  # noqa: S101 (then persons are suppressed)
    rows = np.diff(table.persons.apart.offsets).astype(np.float64)
    ascending = np.prod([rows + more for more in range(job.known)], axis=0)
    if ascending.sum() / math.factorial(job.known) > MOST_PARTS:
        raise InvalidData(
            f"knows: {job.knows}: persons have more than {MOST_PARTS:,} combinations of {job.known} of their rows, "
            "each of which must be counted; set max_rows, which leaves out further rows of a person, or a smaller "
            "number of rows that are known"
        )


def _models(job: Job, table: FrequencyTable) -> tuple[PrivacyModel, ...]:
    """Return what judges the classes; where nobody has two records, persons and records are the same."""
    alike = table.persons is None or (table.persons.number == table.records and not job.suppresses_persons)
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
