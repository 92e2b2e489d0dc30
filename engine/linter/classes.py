"""Homogeneous classes: all records of a class have the same sensitive value, so whoever is in it has that value.

Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam: l-diversity, ICDE 2006 (the homogeneity attack). In: the table that
is released, so that everybody who has the file can count the same. Out: per sensitive column how many classes are
homogeneous, and the records in them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from engine.job.job import Job
from engine.linter.document import LintedClasses
from engine.linter.values import hashes


def homogeneous_classes(job: Job, released: pa.Table) -> list[LintedClasses]:
    """Count the homogeneous classes per sensitive column, in the job's order."""
    return [_of_column(job, released, name) for name in job.sensitive]


def _of_column(job: Job, released: pa.Table, name: str) -> LintedClasses:
    keys = [f"key {place}" for place in range(len(job.quasi_identifiers))]
    columns = [released.column(key) for key in job.quasi_identifiers]
    table = pa.table([*columns, _hashed(released.column(name), name, job)], names=[*keys, "value"])
    classes = table.group_by(keys).aggregate(
        [("value", "min"), ("value", "max"), ("value", "count"), ([], "count_all")]
    )
    records = classes.column("count_all").to_numpy()
    alike = classes.column("value_min").fill_null(0).to_numpy() == classes.column("value_max").fill_null(0).to_numpy()
    alike &= classes.column("value_count").to_numpy() == records
    share = float(records[alike].sum() / released.num_rows) if released.num_rows else 0.0
    return {"column": name, "homogeneous": int(np.count_nonzero(alike)), "records_share": share}


def _hashed(column: pa.ChunkedArray, name: str, job: Job) -> pa.ChunkedArray:
    """Replace values by their hashes; missing ones are null."""
    missing = frozenset(job.attributes[name].missing)
    chunks = [hashes(chunk, name, missing) for chunk in column.chunks]
    return pa.chunked_array([pa.array(values, mask=~there) for values, there in chunks], pa.uint64())
