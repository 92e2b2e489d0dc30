"""Perturbed columns of a run: the records that were counted, with the draws of this run in single columns.

In: what was counted and found, and the key of the run. Out: the same records; how wide noise is and which categories
there are is read in those that are released.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from engine.arrow_arrays import of_flags
from engine.job.counting import Counted
from engine.job.job import Job
from engine.pipeline.output import transformation_of
from engine.search.suppressed_class import Outcome
from engine.tables.altered.perturbed import NoiseOf, PerturbedTable, PramOf
from engine.tables.altered.pram import refuse_other_than_categories
from engine.tables.release.transform import Transformation
from engine.tables.sources.column_types import plain_type
from engine.tables.sources.table import Table


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


def with_perturbed_columns(job: Job, counted: Counted, outcome: Outcome, key: bytes) -> Table:
    """Return records with noise or after randomization; the records themselves of a job without such columns.

    Raises
    ------
    InvalidData
        A column has, in the records that are released, no numbers that differ, or no categories, or too many.
    """
    columns: dict[str, NoiseOf | PramOf] = {}
    for name in job.perturbed:
        attribute = job.attributes[name]
        if attribute.noise is not None:
            columns[name] = NoiseOf(attribute.noise.percent)
        elif attribute.pram is not None:
            columns[name] = PramOf(attribute.pram.pd, attribute.pram.alpha, frozenset(attribute.missing))
    if not columns:
        return counted.records
    if outcome.form != "drop":
        return PerturbedTable(counted.records, columns, key)
    released = _Released(counted.records, transformation_of(job, counted, outcome, columns=job.perturbed))
    return PerturbedTable(counted.records, columns, key, released)


class _Released:
    """The records that an output does not leave out, as they were read."""

    def __init__(self, records: Table, transformation: Transformation) -> None:
        self._records = records
        self._transformation = transformation
        self.schema = transformation.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        for part in self._transformation.in_source_order(self._records):
            yield part.others.select(list(columns)).filter(of_flags(~part.suppressed))
