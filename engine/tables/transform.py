"""Apply a solution to the stream: generalize every record, suppress those in failing classes.

In: the batches of the source again, the encoding, the frequency table and the solution. Out: batches of the released
columns in the job's order: quasi-identifiers as text, all others as they were read, without dictionary encoding. Memory
holds one batch and one row per equivalence class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.hierarchy.builder import SUPPRESSED
from engine.kernels.tuples import find_tuples, index_tuples
from engine.lattice.space import Levels
from engine.message import Count, Message
from engine.tables.encode import Encoding
from engine.tables.frequency import FrequencyTable
from engine.tables.source import Table, plain_type, type_name


class Transformation:
    """The output of one solution.

    Parameters
    ----------
    columns : sequence of str
        Columns of the output, in order; identifying columns are not among them.
    levels : one level per quasi-identifier
    suppressed_tuples : int64, shape (S,)
        Rows of the frequency table that are suppressed.
    drop : bool
        Leave suppressed records out instead of replacing their quasi-identifiers by `*`.

    Attributes
    ----------
    schema : pyarrow Schema
        The schema of every batch; it has no metadata of the source.
    """

    def __init__(
        self,
        source: pa.Schema,
        columns: Sequence[str],
        encoding: Encoding,
        table: FrequencyTable,
        levels: Levels,
        suppressed_tuples: NDArray[np.int64],
        *,
        drop: bool,
    ) -> None:
        self._encoding = encoding
        self._position = {name: a for a, name in enumerate(table.attributes)}
        self._drop = drop
        self._codes = [hierarchy.codes[level] for hierarchy, level in zip(table.hierarchies, levels, strict=True)]
        self._labels = [
            pa.array([*hierarchy.labels[level], SUPPRESSED], pa.string())
            for hierarchy, level in zip(table.hierarchies, levels, strict=True)
        ]
        classes = self._generalize(table.codes.T)
        group, first, self._slots = index_tuples(classes)
        self._known = classes[first]
        self._suppressed = np.zeros(first.size, np.bool_)
        refused = np.zeros(group.size, np.bool_) if table.refused is None else table.refused
        self._suppressed[group[suppressed_tuples[~refused[suppressed_tuples]]]] = True
        # a refused record may have the labels of a kept class; its leaves distinguish it
        self._refused = np.ascontiguousarray(table.codes.T[refused])
        self._refused_slots = index_tuples(self._refused)[2]
        self.schema = pa.schema(
            [(name, pa.string() if name in self._position else plain_type(source.field(name).type)) for name in columns]
        )

    def apply(self, table: Table) -> Iterator[pa.RecordBatch]:
        """Read a table from the beginning and yield its output.

        Raises
        ------
        InvalidData
            The table is not the one that was counted.
        """
        for batch in table.batches(self.schema.names):
            yield self._batch(batch)

    def write(self, table: Table, path: Path) -> None:
        """Write the output of a table into a Parquet file.

        Raises
        ------
        InvalidData
            As of `apply`, or a column has a type that Parquet does not know.
        """
        try:
            writer = pa.parquet.ParquetWriter(path, self.schema)
        except pa.ArrowNotImplementedError:
            raise InvalidData(
                f"output: Parquet does not know one of the types {_type_names(self.schema)}; convert the column in the "
                "source query"
            ) from None
        with writer:
            for batch in self.apply(table):
                writer.write_batch(batch)

    def _batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        leaves = self._encoding.leaf_codes(batch)
        codes = self._generalize(leaves)
        classes = find_tuples(codes, self._known, self._slots)
        if classes.size and classes.min() < 0:
            raise InvalidData("the source changed while it was read: it holds new combinations of values; run again")
        suppressed = self._suppressed[classes]
        if self._refused.size:
            suppressed |= find_tuples(leaves, self._refused, self._refused_slots) >= 0
        columns = [
            self._labelled(codes[:, self._position[name]], suppressed, self._position[name])
            if name in self._position
            else _plain(batch.column(name), self.schema.field(name))
            for name in self.schema.names
        ]
        output = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        return output.filter(pa.array(~suppressed)) if self._drop else output

    def _generalize(self, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
        generalized = np.empty(leaves.shape, np.int32)
        for a, codes in enumerate(self._codes):
            generalized[:, a] = codes[leaves[:, a]]
        return generalized

    def _labelled(self, codes: NDArray[np.int32], suppressed: NDArray[np.bool_], a: int) -> pa.Array:
        labels = self._labels[a]
        return labels.take(pa.array(np.where(suppressed, len(labels) - 1, codes)))


def _plain(column: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return column if column.type == field.type else column.cast(field.type)
    except pa.ArrowException:
        raise InvalidData(
            f"column {field.name!r}: type {type_name(column.type)} cannot become {type_name(field.type)}; convert it "
            "in the source query"
        ) from None


def _type_names(schema: pa.Schema) -> str:
    return ", ".join(sorted({type_name(kind) for kind in schema.types}))


def accounted(source_rows: int, suppressed: int, output_rows: int, *, drop: bool) -> Mapping[str, int]:
    """Return the row balance of a release.

    Raises
    ------
    InvalidData
        There are too few or too many rows: the source changed while it was read.
    """
    expected = source_rows - suppressed if drop else source_rows
    if output_rows != expected:
        raise InvalidData(
            Message.of(
                "the source changed while it was read: {rows} rows came out, {expected} were counted; run again",
                rows=Count(output_rows),
                expected=Count(expected),
            )
        )
    return {"source": source_rows, "suppressed": suppressed, "output": output_rows}
