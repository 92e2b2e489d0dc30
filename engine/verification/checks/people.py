"""The population of an output: counted at the output's levels and compared with its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from engine.errors import EngineError
from engine.message import Count, Message
from engine.tables.class_table import ClassTable
from engine.verification.checks.labels import allowed_levels, combinations, possible_levels
from engine.verification.finding import Finding
from engine.verification.records.cells import people_of_cells
from engine.verification.records.classes import classes_of
from engine.verification.records.population import Population, read_population
from engine.verification.records.records import Records

if TYPE_CHECKING:
    from engine.job.job import Job

_MOST_TRANSFORMATIONS = 16
"""Most choices of levels tried without a report: each is a count of the whole population."""


@dataclass(frozen=True, eq=False)
class People:
    """The population of a job at the levels of its output.

    Attributes
    ----------
    population : Population or None
        None where it cannot be read.
    tables : tuple of pyarrow Table
        `Population.at` the levels of the report; without one, at all levels that the output can have.
    problem : Message
        Why nothing is known, and what to do; empty if something is.
    allowed : mapping of quasi-identifier to levels, optional
        Of a job whose records have levels of their own: those that it allows. There are no tables then, but people of
        cells.
    """

    population: Population | None
    tables: tuple[pa.Table, ...] = ()
    problem: Message = Message()  # noqa: RUF009 (it does not change)
    allowed: Mapping[str, Sequence[int]] | None = None
    _of_cells: dict[bool, pa.Table] = field(default_factory=dict)

    def beside(self, records: Records) -> tuple[pa.Table, ...]:
        """Return the people of the classes of an output, once for each choice of levels; nothing if they are unknown.

        Parameters
        ----------
        records : Records
            The kept ones of the output, or all that it shows.
        """
        if self.allowed is None or self.population is None:
            return self.tables
        if records.as_file not in self._of_cells:
            self._of_cells[records.as_file] = people_of_cells(self.population, self.allowed, records)
        return (self._of_cells[records.as_file],)


def find_people(
    job: Job, kept: ClassTable, levels: Mapping[str, int] | None, source: Any, *, levels_hold: bool
) -> People | None:
    """Read the population that a job names, and count it at the levels of its output.

    Parameters
    ----------
    kept : ClassTable
        The kept records of the output.
    levels : mapping of quasi-identifier to int, optional
        Of the report.
    source : table, optional
        See `read_population`.
    levels_hold : bool
        Whether the levels are among those the job allows.

    Returns
    -------
    People or None
        None for a job without a population.
    """
    try:
        population = read_population(job, source)
        if population is None:
            return None
        if job.mixes_levels:
            return People(population, allowed={name: allowed_levels(job, name) for name in job.quasi_identifiers})
        if levels is not None and not levels_hold:
            outside = Message("the population is not counted: the levels are outside the job's limits")
            return People(population, problem=outside)
        chosen = [levels] if levels is not None else _possible(population, kept, job)
        tables = tuple(population.at(choice) for choice in chosen)
    except EngineError as problem:
        return People(None, problem=Message("there is no population to compare with: ", problem.message))
    unknown = "" if tables else "the levels do not follow from the output; give the report"
    return People(population, tables, Message(unknown))


def _possible(population: Population, kept: ClassTable, job: Job) -> list[dict[str, int]]:
    levels = {name: population.distinct_levels(name, found) for name, found in possible_levels(kept, job).items()}
    return combinations(levels, _MOST_TRANSFORMATIONS)


def check_people(people: People, records: Records, report: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Compare the population with the report, and the classes of a research subset with the records that it lists."""
    population = people.population
    if population is None:
        yield Finding("population", False, None, None, None, people.problem, is_told=False)
        return
    stated = population.rows if report is None else report.get("population_rows")
    agrees = type(stated) is int and stated == population.rows
    contradiction = "" if agrees else "; the report gives another number"
    message = Message.of("records of the population: {rows}", rows=Count(population.rows))
    yield Finding("population", agrees, population.rows, None, None, Message(message, contradiction))
    if population.listed is not None:
        yield _subset(people, population, records)


def _subset(people: People, population: Population, records: Records) -> Finding:
    listed = population.listed
    assert listed is not None  # noqa: S101 (the caller looked)
    tables = people.beside(records)
    if not tables:
        return Finding("subset", holds=False, observed=None, required=0, column=None, message=people.problem)
    if people.allowed is None:
        wrong = max(_differing(records, table) for table in tables)
    else:
        wrong = _beyond(records, tables[0], listed.rows)
    return Finding(
        "subset",
        holds=wrong == 0 and listed.unmatched == 0,
        observed=wrong,
        required=0,
        column=None,
        message=Message.of(
            "equivalence classes with another number of records than the subset lists: {wrong}; rows of it that are "
            "no records of the source: {unmatched} of {rows}",
            wrong=Count(wrong),
            unmatched=Count(listed.unmatched),
            rows=Count(listed.rows),
        ),
    )


def _beyond(records: Records, people: pa.Table, listed: int) -> int:
    """Count the cells with more records than the subset lists people who may have them.

    One more counts if more of those listed may have no cell than are suppressed.
    """
    classes = classes_of(records.beside(people))
    without = people["released"][-1].as_py()
    return int((classes.sizes > classes.released).sum()) + int(without > listed - records.kept_rows)


def _differing(records: Records, population: pa.Table) -> int:
    classes = classes_of(records.beside(population))
    return int((classes.sizes != classes.released).sum())
