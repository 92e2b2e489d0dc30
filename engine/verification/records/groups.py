"""The groups of records with equal means in a release: one text for the values of all grouped columns together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from engine.tables.sources.column_text import as_text

GROUPS = "\0groups"
"""Name of the column of these texts, which no column of a job has."""


def with_groups(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Add the column of groups to batches: the texts of some columns, joined."""
    for batch in batches:
        columns = [as_text(batch.column(name), name).to_pylist() for name in names]
        texts = [
            "|".join("" if one is None else one for one in values) if any(one is not None for one in values) else None
            for values in zip(*columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(
            [*batch.columns, pa.array(texts, pa.string())], names=[*batch.schema.names, GROUPS]
        )
