"""Record batches that follow each other, as one."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa


def one_batch(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return batches of one schema as one; a single one is returned as it is, and not copied."""
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches)
    columns = [pa.concat_arrays(column.chunks) for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)
