"""Perturbed columns of a run: the records that were counted, with the draws of this run in single columns."""

from __future__ import annotations

import pyarrow as pa

from engine.job.job import Job
from engine.tables.perturbed import NoiseOf, PerturbedTable, PramOf
from engine.tables.pram import refuse_other_than_categories
from engine.tables.source import Table, plain_type


def refuse_unperturbable(job: Job, schema: pa.Schema) -> None:
    """Refuse a source whose columns cannot be randomized, before anything is read.

    Raises
    ------
    InvalidData
        Names the column, its type and the fix.
    """
    for name in job.perturbed:
        if job.attributes[name].pram is not None:
            refuse_other_than_categories(name, plain_type(schema.field(name).type))


def with_perturbed_columns(job: Job, records: Table, key: bytes) -> Table:
    """Return records with noise or after randomization; the records themselves of a job without such columns.

    Raises
    ------
    InvalidData
        A column has no numbers that differ, or no categories, or too many.
    """
    columns: dict[str, NoiseOf | PramOf] = {}
    for name in job.perturbed:
        attribute = job.attributes[name]
        if attribute.noise is not None:
            columns[name] = NoiseOf(attribute.noise.percent)
        elif attribute.pram is not None:
            columns[name] = PramOf(attribute.pram.pd, attribute.pram.alpha, frozenset(attribute.missing))
    return PerturbedTable(records, columns, key) if columns else records
