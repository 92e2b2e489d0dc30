"""The output of a run: written to a file, kept in memory, or made inside a warehouse; and the classes of what is there.

In: what was counted and found. Out: a table, where the output is neither in a file nor in a warehouse; its class table,
which is counted from the output itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from engine.backends.warehouse import ReleaseRules, ValueLabels, Warehouse
from engine.codebook.annotated import Annotations
from engine.errors import InvalidData
from engine.job.counting import Counted
from engine.job.job import Job
from engine.pipeline.document import TablesStated
from engine.pipeline.transformed import aggregates_of
from engine.search.suppressed_class import Outcome
from engine.tables.class_table import ClassTable, count_classes
from engine.tables.persons.rows_apart import persons_of_suppressed, records_of_suppressed
from engine.tables.release.local_transform import LocalTransformation
from engine.tables.release.transform import Places, Transformation
from engine.tables.sources.linked import unlinked, unlinked_table
from engine.tables.sources.linked_name import TABLE
from engine.tables.sources.table import Table
from engine.verification import class_table, release_of


def transformation_of(
    job: Job,
    counted: Counted,
    outcome: Outcome,
    places: Places | None = None,
    columns: Sequence[str] | None = None,
) -> Transformation:
    """Return what makes the output of a solution.

    Parameters
    ----------
    places : Places, optional
        See `Transformation`.
    columns : sequence of str, optional
        Instead of all that are released.
    """
    columns = job.released if columns is None else columns
    recoding = outcome.solution.recoding
    aggregates = aggregates_of(job)
    if recoding is not None:
        return LocalTransformation(
            counted.records.schema,
            columns,
            counted.encoding,
            counted.table,
            recoding,
            outcome.suppressed_tuples,
            drop=outcome.form == "drop",
            pseudonyms=job.pseudonymized,
            aggregates=aggregates,
        )
    return Transformation(
        counted.records.schema,
        columns,
        counted.encoding,
        counted.table,
        outcome.solution.levels,
        outcome.suppressed_tuples,
        drop=outcome.form == "drop",
        pseudonyms=job.pseudonymized,
        left_out=records_of_suppressed(counted.table, outcome.suppressed_tuples),
        places=places,
        aggregates=aggregates,
    )


def written(
    job: Job,
    records: Table,
    transformation: Transformation,
    data: Path | None,
    annotations: Annotations,
) -> pa.Table | dict[str, pa.Table] | None:
    """Write the output to the file `data`, or that of linked tables to a file of each beside it.

    Without a file return it, by name if the job has several tables.
    """
    if data is None:
        table = pa.Table.from_batches(transformation.apply(records), transformation.schema)
        return table if job.tables is None else unlinked_table(table, job.released_of_tables)
    transformation.write(records, data, annotations.on)
    if job.tables is not None:
        unlinked(data, job.released_of_tables, data.parent)
        data.unlink()
    return None


def release_inside(job: Job, counted: Counted, outcome: Outcome, warehouse: Warehouse) -> None:
    """Let the warehouse write the output."""
    transformation = transformation_of(job, counted, outcome)

    def labels_of(attribute: int, values: pa.Array) -> ValueLabels:
        return ValueLabels(*transformation.coded(attribute, values))

    warehouse.release(
        ReleaseRules(
            job.released,
            {name: partial(labels_of, a) for a, name in enumerate(counted.table.attributes)},
            transformation.suppressed_classes,
            outcome.form == "drop",
            transformation.records,
            [] if job.subject is None else [*counted.table.attributes, *counted.table.sensitive],
            persons_of_suppressed(counted.table, outcome.suppressed_tuples),
        )
    )


def classes_of_output(job: Job, source: Table, output: pa.Table | Mapping[str, pa.Table] | Path | None) -> ClassTable:
    """Count the classes of an output: of a table or file, or, if the source is a warehouse, of what it wrote.

    Raises
    ------
    InvalidData
        It lacks columns, or cannot be read.
    """
    if not isinstance(source, Warehouse):
        folder = output.parent if isinstance(output, Path) and job.tables is not None else output
        return class_table(release_of(job, folder), job)
    names = [*job.quasi_identifiers, *job.sensitive]
    lacking = [name for name in names if name not in source.released.names]
    if lacking:
        raise InvalidData(f"release: lacks the columns {', '.join(lacking)}; somebody changed its table; run again")
    count = f"records of {'+'.join(names)}"
    return count_classes(
        source.released, source.classes(names, count), job.quasi_identifiers, job.sensitive, counts=count
    )


def tables_stated(job: Job, classes: ClassTable) -> TablesStated:
    """Return what a report says of each linked table; nothing of a job without."""
    if job.tables is None:
        return {}
    names = classes.labels[TABLE].column().to_pylist()
    records = dict.fromkeys(job.tables, 0)
    for name, number in zip(names, classes.records.tolist(), strict=True):
        records[name] += number
    columns = job.released_of_tables
    return {"tables": {name: {"released": records[name], "columns": list(columns[name])} for name in job.tables}}
