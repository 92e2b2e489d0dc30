"""Columns of a source as the texts that hierarchies and codes know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from engine.tables.sources.column_text import as_text


def source_texts(source: Any, names: Sequence[str]) -> pa.Table:
    """Read columns that a source has, each named once, into a table of texts.

    Raises
    ------
    InvalidData
        The source cannot be read, or a value cannot be written as text.
    """
    schema = pa.schema([(name, pa.string()) for name in names])
    batches = (
        pa.RecordBatch.from_arrays([as_text(batch.column(name), name) for name in names], schema=schema)
        for batch in source.batches(names)
    )
    return pa.Table.from_batches(batches, schema)
