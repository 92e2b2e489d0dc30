"""Which records of linked tables have a column: the others are of a table that lacks it, and have no value at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.tables.sources.linked_name import TABLE

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.tables.class_table import ClassTable, SensitiveValues


def having(of_table: pa.Array, job: Job, name: str) -> NDArray[np.bool_]:
    """Tell of which records the table has a column, bool, shape (n,).

    Parameters
    ----------
    of_table : pyarrow string Array, shape (n,)
        The table of each record.
    """
    tables = [table for table, columns in job.columns_of_tables.items() if name in columns]
    found: NDArray[np.bool_] = pc.is_in(of_table, value_set=pa.array(tables, pa.string())).to_numpy(
        zero_copy_only=False
    )
    return found


def values_there(table: ClassTable, job: Job, name: str) -> SensitiveValues:
    """Return the values of a column in the classes of the tables that have it."""
    found = table.sensitive[name]
    if job.tables is None:
        return found
    kept = having(table.labels[TABLE].column(), job, name)[found.classes]
    return replace(found, classes=found.classes[kept], values=found.values.at(kept), records=found.records[kept])
