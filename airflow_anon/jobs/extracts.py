"""The tasks that stage what a job reads from databases: its table, and its population where that is in one.

In: a job whose source is a connection's. Out: the tasks, and what the tasks after them are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_anon.operators import ExtractTableOperator, PrepareStagingOperator, RemoveStagingOperator
from engine import Job

PERSONS = "persons"
"""The column of a population that says how many persons a row stands for."""


@dataclass(frozen=True)
class Extracts:
    """The tasks of one job.

    Attributes
    ----------
    table : ExtractTableOperator
        Stages ``source.parquet``.
    population : ExtractTableOperator or None
        Stages ``population.parquet``; None where the job has no population in a database.
    """

    table: ExtractTableOperator
    population: ExtractTableOperator | None

    @property
    def tasks(self) -> list[ExtractTableOperator]:
        """The tasks, that of the table first."""
        return [self.table] if self.population is None else [self.table, self.population]

    @property
    def paths(self) -> dict[str, Any]:
        """Arguments `source` and `population` of the operators that read what was staged."""
        population = self.population and self.population.output["path"]
        return {"source": self.table.output["path"], "population": population}

    def all_before(self, remove: RemoveStagingOperator) -> None:
        """Let the removal of staging wait for both: one may still be writing when the other has failed."""
        if self.population is not None:
            [self.table, self.population] >> remove


def extract_tasks(job: Job, prepare: PrepareStagingOperator) -> Extracts:
    """Make the tasks of a job whose source is a connection's table or query; call it inside a DAG."""
    return Extracts(_table(job, prepare), _population(job, prepare))


def _table(job: Job, prepare: PrepareStagingOperator) -> ExtractTableOperator:
    assert job.source is not None  # noqa: S101 (checked by the caller)
    assert job.source.conn_id is not None  # noqa: S101 (checked by the caller)
    return ExtractTableOperator(
        task_id="extract",
        conn_id=job.source.conn_id,
        table=job.source.table,
        query=job.source.query,
        attributes={name: attribute.role for name, attribute in job.attributes.items()},
        subset=job.subset,
        delimiter=job.source.delimiter,
        staging=prepare.output,
        prepared=True,
    )


def _population(job: Job, prepare: PrepareStagingOperator) -> ExtractTableOperator | None:
    named = job.population_query
    if named is None:
        return None
    quasi_identifiers = dict.fromkeys(job.quasi_identifiers, "quasi-identifying")
    return ExtractTableOperator(
        task_id="extract_population",
        conn_id=named.conn_id,
        table=named.table,
        query=named.query,
        attributes={PERSONS: "insensitive", **quasi_identifiers},
        staging=prepare.output,
        prepared=True,
        filename="population.parquet",
        population=True,
    )
