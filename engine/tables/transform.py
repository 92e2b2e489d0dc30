"""Apply a solution to the stream: generalize every record, suppress those in failing classes.

In: the batches of the source again, the encoding, the frequency table and the solution. Out: batches of the released
columns in the job's order: quasi-identifiers as text, all others as they were read, without dictionary encoding. The
records come in the order of a release (`release_order`), not of the source. Memory holds one batch, one part of the
output and one row per equivalence class.
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
from engine.tables.release_order import Placed, in_release_order
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
        self._records = table.records
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
        self._place, self._starred_place, self._sizes = self._places(group, table.counts, suppressed_tuples)
        self.schema = pa.schema(
            [(name, pa.string() if name in self._position else plain_type(source.field(name).type)) for name in columns]
        )

    def apply(self, table: Table, folder: Path | None = None) -> Iterator[pa.RecordBatch]:
        """Read a table from the beginning and yield its output; a large one waits in files of `folder`, if it is given.

        Raises
        ------
        InvalidData
            The table is not the one that was counted.
        """
        made = (self._batch(batch) for batch in self._counted(table))
        yield from in_release_order(made, self._sizes, self.schema, folder)

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
            for batch in self.apply(table, path.parent):
                writer.write_batch(batch)

    def _counted(self, table: Table) -> Iterator[pa.RecordBatch]:
        """Yield batches, and refuse the table after the last one if records were added or are gone."""
        rows = 0
        for batch in table.batches(self.schema.names):
            rows += batch.num_rows
            yield batch
        if rows != self._records:
            raise InvalidData("the source changed while it was read: records were added or are gone; run again")

    def _places(
        self, group: NDArray[np.int64], counts: NDArray[np.int64], suppressed_tuples: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], int, NDArray[np.int64]]:
        """Sort the classes by their labels, a missing one last.

        Returns
        -------
        place : int64, shape (C,)
            Of each known class.
        starred : int
            Place of the suppressed records: that of a class that is `*` throughout, too.
        sizes : int64
            Records that are released at each place.
        """
        ranks = np.empty((self._known.shape[0] + 1, len(self._labels)), np.int64)
        for a, labels in enumerate(self._labels):
            texts = labels.to_pylist()
            rank = {text: place for place, text in enumerate(sorted(set(texts) - {None}))}
            of_code = np.array([rank.get(text, len(rank)) for text in texts])
            ranks[:-1, a] = of_code[self._known[:, a]]
            ranks[-1, a] = rank[SUPPRESSED]
        order = np.lexsort(ranks.T[::-1])
        new = np.append(False, (np.diff(ranks[order], axis=0) != 0).any(axis=1))
        place = np.empty(order.size, np.int64)
        place[order] = np.cumsum(new)
        of_tuple = place[group]
        of_tuple[suppressed_tuples] = place[-1]
        released = counts.copy()
        if self._drop:
            released[suppressed_tuples] = 0
        sizes = np.zeros(int(place.max()) + 1, np.int64)
        np.add.at(sizes, of_tuple, released)
        return place[:-1], int(place[-1]), sizes

    def _batch(self, batch: pa.RecordBatch) -> Placed:
        leaves = np.column_stack(self._encoding.leaf_codes(batch))
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
        places = np.where(suppressed, self._starred_place, self._place[classes])
        return (output.filter(pa.array(~suppressed)), places[~suppressed]) if self._drop else (output, places)

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
