"""The tasks that stage a job's table and, if it is in a database, its population.

In: a job whose source is a connection. Out: the tasks, and the arguments of the tasks after them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_anon.operators import (
    ExtractLinkedTablesOperator,
    ExtractTableOperator,
    PrepareStagingOperator,
    RemoveStagingOperator,
)
from airflow_anon.transport.person_keys import places_of
from airflow_anon.transport.release_files import POPULATION
from engine import TABLE_COLUMN, Job, counted_columns, why_counted_in_full

PERSONS = "persons"
"""The population's column with the number of persons per row."""


@dataclass(frozen=True)
class Extracts:
    """The extraction tasks of one job.

    Attributes
    ----------
    table : ExtractTableOperator
        Stages ``source.parquet``.
    population : ExtractTableOperator or None
        Stages ``population.parquet``; None if the job has no population in a database.
    """

    table: ExtractTableOperator
    population: ExtractTableOperator | None

    @property
    def tasks(self) -> list[ExtractTableOperator]:
        """The tasks, the table's first."""
        return [self.table] if self.population is None else [self.table, self.population]

    @property
    def paths(self) -> dict[str, Any]:
        """Arguments `source` and `population` of the operators that read the staged files."""
        population = self.population and self.population.output["path"]
        return {"source": self.table.output["path"], "population": population}

    @property
    def what_was_read(self) -> dict[str, Any]:
        """Arguments `extracted` and `population_extracted` of the operators that say what was read."""
        population = None if self.population is None else self.population.output
        return {"extracted": self.table.output, "population_extracted": population}

    def all_before(self, remove: RemoveStagingOperator) -> None:
        """Let the removal of staging wait for both tasks: one may still be writing when the other has failed."""
        if self.population is not None:
            [self.table, self.population] >> remove


def extract_tasks(job: Job, prepare: PrepareStagingOperator) -> Extracts:
    """Make the tasks of a job whose source is a connection's table or query; call it inside a DAG."""
    return Extracts(_table(job, prepare), _population(job, prepare))


def _table(job: Job, prepare: PrepareStagingOperator) -> ExtractTableOperator:
    if job.tables is not None:
        return _tables(job, prepare)
    assert job.source is not None  # noqa: S101 (checked by the caller)
    assert job.source.conn_id is not None  # noqa: S101 (checked by the caller)
    return ExtractTableOperator(
        task_id="extract",
        conn_id=job.source.conn_id,
        table=job.source.table,
        query=job.source.query,
        attributes={name: attribute.role for name, attribute in job.attributes.items()},
        subset=job.subset,
        unit=job.unit,
        subject=job.subject,
        pseudonymized=job.pseudonymized,
        keys=places_of(job),
        delimiter=job.source.delimiter,
        encoding=job.source.encoding,
        incremental=None if job.incremental is None else job.incremental.model_dump(),
        counted=() if job.incremental is None or why_counted_in_full(job) is not None else counted_columns(job),
        staging=prepare.output,
        prepared=True,
    )


def _tables(job: Job, prepare: PrepareStagingOperator) -> ExtractLinkedTablesOperator:
    """Make the task that stages linked tables, which the job's own validation has over one connection."""
    sources = {name: table.source for name, table in (job.tables or {}).items()}
    return ExtractLinkedTablesOperator(
        task_id="extract",
        conn_id=job.sources[0].conn_id,
        tables={
            name: {
                "table": source and source.table,
                "query": source and source.query,
                "columns": list(job.columns_of_tables[name]),
            }
            for name, source in sources.items()
        },
        attributes={name: one.role for name, one in job.attributes.items() if name != TABLE_COLUMN},
        subject=job.subject,
        pseudonymized=job.pseudonymized,
        keys=places_of(job),
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
        filename=POPULATION,
        population=True,
    )
