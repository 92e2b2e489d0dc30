"""The last step before the search: a job and its frequency table become the `Problem` of a lattice."""

from __future__ import annotations

import math

import numpy as np

from engine.errors import InvalidData, InvalidJob
from engine.job.job import Job
from engine.lattice.space import Lattice, Levels
from engine.privacy.model import PrivacyModel
from engine.search.problem import Problem, Solution
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.lacking import with_lacking_cells

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
        job.utility.evaluator(with_lacking_cells(table, job.columns_of_tables), job.weights(table.attributes)),
        math.floor(job.suppression_limit * table.records),
        job.search_seconds,
        job.search.gap,
        _start(job, table, lattice),
        job.search.threads,
        job.search.memory_megabytes << 20,
        job.suppress == "small-classes",
        job.known,
    )


def recoded_for(job: Job, problem: Problem, start: Solution) -> tuple[Problem, Solution]:
    """Search for a local recoding, as a job asks, from a full-domain solution of its problem.

    Returns
    -------
    problem : Problem
        Of the table in pieces, each with levels of its own.
    solution : Solution
        Of this problem, never worse than `start`.
    """
    from engine.search.recoding.local import recoded  # noqa: PLC0415 (only these jobs compile its kernels)
    from engine.search.recoding.settings import Settings  # noqa: PLC0415 (only these jobs compile its kernels)

    settings = job.recoding
    chosen = Settings(
        settings.algorithm,
        settings.block_tuples,
        settings.time_limit_seconds,
        settings.bound_passes,
        settings.bound_visits,
        settings.bound_gap,
    )
    return recoded(problem, start, chosen, lambda table: job.utility.evaluator(table, job.weights(table.attributes)))


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
    return job.privacy if alike and not job.partial_sensitive else job.counted_privacy


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
