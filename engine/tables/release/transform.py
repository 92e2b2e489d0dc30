"""Apply a solution to the stream: generalize every record, suppress those in failing classes.

In: the batches of the source again, the encoding, the frequency table and the solution. Out: batches of the released
columns in the job's order: quasi-identifiers as text, all others as they were read, without dictionary encoding. The
records come in the order of a release (`release_order`), not of the source; as its classes are neighbours, the labels
of quasi-identifiers are made at the end, and only the other columns are put into this order. Memory holds one batch,
one part of the output and one row per equivalence class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from engine.arrow_arrays import of_flags
from engine.errors import InvalidData
from engine.hierarchy.hierarchy import Hierarchy, Label
from engine.kernels.refine import add_records, class_counts
from engine.lattice.space import Levels
from engine.message import Count, Message
from engine.tables.counting.encoding import Encoding
from engine.tables.counting.frequency import FrequencyTable
from engine.tables.counting.keyed import REFUSED, KeyedClasses
from engine.tables.counting.packed import BITS, packed
from engine.tables.counting.tuple_index import TupleIndex
from engine.tables.release.aggregated import Aggregates
from engine.tables.release.parquet_types import refuse_unknown_to_parquet
from engine.tables.release.release_order import Placed, in_release_order
from engine.tables.release.released_labels import ReleasedLabels, plain_column
from engine.tables.release.row_groups import in_row_groups
from engine.tables.sources.column_types import plain_type, type_name
from engine.tables.sources.file_schema import schema_of_readers
from engine.tables.sources.table import Table

Annotate = Callable[[pa.Schema], pa.Schema]


def _as_it_is(schema: pa.Schema) -> pa.Schema:
    return schema


class Places(Protocol):
    """Looks up the classes of the records of a table, outside of the engine."""

    def __call__(self, table: Table, keyed: KeyedClasses, others: pa.Schema, /) -> Iterator[Placed] | None:
        """Return the columns `others` of each record and its place; None where the engine looks them up itself."""


class InSourceOrder(NamedTuple):
    """What becomes of records of the source.

    Attributes
    ----------
    leaves : sequence of m int32 arrays, shape (records,)
        Leaf codes of the quasi-identifiers.
    others : RecordBatch
        The other released columns, as they were read.
    places : int64, shape (records,)
        Places of their classes, -1 of a record that is left out.
    suppressed : bool, shape (records,)
        Whether a record is left out, or has `*` in every quasi-identifier like those that are suppressed.
    """

    leaves: Sequence[NDArray[np.int32]]
    others: pa.RecordBatch
    places: NDArray[np.int64]
    suppressed: NDArray[np.bool_]


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
    pseudonyms : sequence of str
        Columns that are missing where every quasi-identifier is `*`: by its pseudonym a suppressed record would join
        others that show what was suppressed.
    left_out : bool, shape (n,), optional
        Which records are suppressed, in the order of the source, where a class may be suppressed in part; else those
        are whose class has a suppressed tuple.
    places : Places, optional
        Looks the classes of records up instead of the engine, where classes are suppressed whole.
    aggregates : Aggregates, optional
        Columns in which each record has the aggregate of its class.

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
        pseudonyms: Sequence[str] = (),
        left_out: NDArray[np.bool_] | None = None,
        places: Places | None = None,
        aggregates: Aggregates | None = None,
    ) -> None:
        self._aggregates = aggregates
        self._encoding = encoding
        self._attributes = table.attributes
        self._pseudonyms = frozenset(pseudonyms)
        self._places = places if left_out is None else None
        self._left_out = left_out
        self._drop = drop
        self._codes = [hierarchy.codes[level] for hierarchy, level in zip(table.hierarchies, levels, strict=True)]
        labels = [hierarchy.labels[level] for hierarchy, level in zip(table.hierarchies, levels, strict=True)]
        self._of_code = labels
        self._classes = TupleIndex(self._generalized(table.codes), [len(one) for one in labels])
        group = self._classes.group
        refused = np.zeros(group.size, np.bool_) if table.refused is None else table.refused
        suppressed = np.zeros(self._classes.known.shape[0], np.bool_)
        if left_out is None:
            suppressed[group[suppressed_tuples[~refused[suppressed_tuples]]]] = True
        # a refused record may have the labels of a kept class; its leaves distinguish it
        widths = [hierarchy.codes.shape[1] for hierarchy in table.hierarchies]
        self._refused = TupleIndex([codes[refused] for codes in table.codes], widths) if refused.any() else None
        self._labels = ReleasedLabels(table.attributes, labels, self._classes.known)
        self._place, self._starred_place = self._labels.place[:-1], int(self._labels.place[-1])
        self._suppressed = self._classes.known[suppressed]
        self._suppresses = suppressed_tuples.size > 0
        # records that are left out have no place
        self._suppressed_place = -1 if drop else self._starred_place
        self._place_of_class = np.where(suppressed, self._suppressed_place, self._place)
        self._refused_leaf = [
            _only(refused, codes, hierarchy) for codes, hierarchy in zip(table.codes, table.hierarchies, strict=True)
        ]
        self._sizes, self._counted = self._records_at(group, table.counts, suppressed_tuples)
        self._name_columns(source, columns)

    def _name_columns(self, source: pa.Schema, columns: Sequence[str]) -> None:
        """Set which columns are read, which of them are released as they are, and the schema of the output."""
        read = pa.schema(
            [
                (name, pa.string() if name in self._attributes else plain_type(source.field(name).type))
                for name in columns
            ]
        )
        aggregates = self._aggregates
        self.schema = (
            read
            if aggregates is None
            else pa.schema([field.with_type(aggregates.released_type(field.name, field.type)) for field in read])
        )
        self._others = pa.schema([field for field in read if field.name not in self._attributes])
        self._read = [*self._attributes, *self._others.names]

    @property
    def records(self) -> int:
        """Number of records of the output."""
        return int(self._sizes.sum())

    @property
    def suppressed_classes(self) -> NDArray[np.int32]:
        """Label codes of the classes that are suppressed, int32, shape (S, m); those of refused values may be kept."""
        return self._suppressed

    def coded(self, attribute: int, values: pa.Array) -> tuple[NDArray[np.int32], list[Label], NDArray[np.bool_]]:
        """Return label codes and labels of values of a quasi-identifier, by its place, and which are refused.

        Raises
        ------
        InvalidData
            A value was not counted.
        """
        leaves = self._encoding.leaf_codes_of(attribute, values)
        codes = self._codes[attribute][leaves]
        of_code = self._of_code[attribute]
        return codes, [of_code[code] for code in codes.tolist()], self._refused_leaf[attribute][leaves]

    def apply(self, table: Table, folder: Path | None = None) -> Iterator[pa.RecordBatch]:
        """Read a table from the beginning and yield its output; a large one waits in files of `folder`, if it is given.

        Raises
        ------
        InvalidData
            The table is not the one that was counted.
        """
        for batch in self._coded(table, folder):
            yield pa.RecordBatch.from_arrays([plain_column(column) for column in batch.columns], schema=self.schema)

    def write(self, table: Table, path: Path, annotate: Annotate = _as_it_is) -> None:
        """Write the output of a table into a Parquet file.

        Parameters
        ----------
        annotate : callable, optional
            Returns the schema with what the file says of its columns and of itself.

        Raises
        ------
        InvalidData
            As of `apply`, or a column has a type that Parquet does not know.
        """
        schema = self._labels.coded(self.schema)
        refuse_unknown_to_parquet(schema)
        with pa.parquet.ParquetWriter(path, schema, store_schema=False) as writer:
            for batch in self._coded(table, path.parent):
                writer.write_batch(batch)
                # what is written is not held while the next records are made
                del batch
            writer.add_key_value_metadata(schema_of_readers(annotate(self.schema)))

    def _coded(self, table: Table, folder: Path | None) -> Iterator[pa.RecordBatch]:
        """Yield the output, the quasi-identifiers as dictionaries."""
        made = None if self._places is None or self._keyed is None else self._places(table, self._keyed, self._others)
        placed = self._placed(table) if made is None else self._compared(made)
        schema = self._labels.coded(self.schema)
        ordered = in_release_order(placed, self._sizes, self._others, folder)
        if self._aggregates is not None:
            released = pa.schema([self.schema.field(name) for name in self._others.names])
            ordered = self._aggregates.applied(ordered, released, self._starred_place)
        for found, places in in_row_groups(ordered):
            others = self._without_pseudonyms(found, places)
            columns = {**self._labels.columns(places), **dict(zip(others.schema.names, others.columns, strict=True))}
            yield pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
            del found, others, columns, places

    def _without_pseudonyms(self, others: pa.RecordBatch, places: NDArray[np.int64]) -> pa.RecordBatch:
        """Return the other columns, without the pseudonyms of records that show `*` throughout."""
        starred = places == self._starred_place
        if not self._pseudonyms or not starred.any():
            return others
        columns = [
            pc.if_else(of_flags(starred), pa.nulls(1, column.type)[0], column) if name in self._pseudonyms else column
            for name, column in zip(others.schema.names, others.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=others.schema)

    def _placed(self, table: Table) -> Iterator[Placed]:
        """Yield batches of the other columns, and refuse the table after the last one if it is not what was counted."""
        yield from self._compared(self._batches(table))

    def _batches(self, table: Table) -> Iterator[Placed]:
        for _, others, places in self._read_in_order(table):
            yield others, places

    def in_source_order(self, table: Table) -> Iterator[InSourceOrder]:
        """Read a table once more, and yield what becomes of each record, in the order of the source."""
        for batch, others, places in self._read_in_order(table):
            # a class that is `*` throughout has the place of suppressed records, of which there may be none
            suppressed = (places == self._suppressed_place) & self._suppresses
            yield InSourceOrder(self._encoding.leaf_codes(batch), others, places, suppressed)

    def labels_of_places(self, attribute: int) -> list[Label]:
        """Return the label of a quasi-identifier, by its place, at each place of a record that is released."""
        return self._labels.of_places(attribute)

    def _read_in_order(self, table: Table) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch, NDArray[np.int64]]]:
        begin = 0
        for batch in table.batches(self._read):
            others, places = self._batch(batch)
            if self._left_out is not None:
                gone = self._left_out[begin : begin + batch.num_rows]
                # records beyond those that were counted are found when the places are compared
                places[: gone.size][gone] = self._suppressed_place
            begin += batch.num_rows
            yield batch, others, places

    def _compared(self, batches: Iterable[Placed]) -> Iterator[Placed]:
        """Leave out the records that have no place, and refuse the table if its places are not those counted."""
        found = np.zeros_like(self._counted)
        for others, places in batches:
            kept = places >= 0
            if kept.all():
                add_records(places, found)
                yield others, places
                continue
            add_records(places[kept], found)
            found[self._starred_place] += places.size - kept.sum()
            yield others.filter(of_flags(kept)) if others.num_columns else others, places[kept]
        if not np.array_equal(found, self._counted):
            raise InvalidData(
                "the source changed while it was read: records were added, changed or are gone; run again"
            )

    def _records_at(
        self, group: NDArray[np.int64], counts: NDArray[np.int64], suppressed_tuples: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the records that are released at each place, int64, and those that have it."""
        of_tuple = self._place[group]
        of_tuple[suppressed_tuples] = self._starred_place
        number = int(self._labels.place.max()) + 1
        counted = class_counts(of_tuple.astype(np.int32), number, counts)
        released = counted.copy()
        if self._drop:
            released[self._starred_place] -= counts[suppressed_tuples].sum()
        return released, counted

    def _batch(self, batch: pa.RecordBatch) -> Placed:
        leaves = self._encoding.leaf_codes(batch)
        classes = self._classes.find(self._generalized(leaves))
        if classes.size and classes.min() < 0:
            raise InvalidData("the source changed while it was read: it holds new combinations of values; run again")
        places = self._places_of(classes)
        if self._refused is not None:
            places[self._refused.find(leaves) >= 0] = self._suppressed_place
        columns = [_plain(batch.column(field.name), field) for field in self._others]
        return pa.RecordBatch.from_arrays(columns, schema=self._others), places

    def _places_of(self, classes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of the next records, whose classes these are."""
        return self._place_of_class[classes]

    @property
    def _keyed(self) -> KeyedClasses | None:
        """The classes for a lookup elsewhere; None where their keys would be too long."""
        bits = self._classes.bits
        if bits is None or sum(bits) >= BITS - 1:
            return None
        names = self._attributes
        shifts = [sum(bits[a + 1 :]) for a in range(len(bits))]
        return KeyedClasses(
            {name: partial(self._keys_of, a, shifts[a]) for a, name in enumerate(names)},
            packed(list(np.ascontiguousarray(self._classes.known.T)), bits),
            self._place_of_class,
            self._suppressed_place,
        )

    def _keys_of(self, attribute: int, shift: int, values: pa.Array) -> NDArray[np.int64]:
        leaves = self._encoding.leaf_codes_of(attribute, values)
        keys: NDArray[np.int64] = self._codes[attribute][leaves].astype(np.int64) << shift
        keys[self._refused_leaf[attribute][leaves]] |= REFUSED
        return keys

    def _generalized(self, leaves: Iterable[NDArray[np.int32]]) -> list[NDArray[np.int32]]:
        return [codes[leaf] for codes, leaf in zip(self._codes, leaves, strict=True)]


def _only(refused: NDArray[np.bool_], codes: NDArray[np.int32], hierarchy: Hierarchy) -> NDArray[np.bool_]:
    """Tell of each leaf whether it has no entry in the hierarchy and its records are refused for that."""
    found = np.zeros(hierarchy.codes.shape[1], np.bool_)
    if hierarchy.unseen_code >= 0:
        found[hierarchy.unseen_code] = bool(refused[codes == hierarchy.unseen_code].all())
    return found


def _plain(column: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return column if column.type == field.type else column.cast(field.type)
    except pa.ArrowException:
        raise InvalidData(
            f"column {field.name!r}: type {type_name(column.type)} cannot become {type_name(field.type)}; convert it "
            "in the source query"
        ) from None


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
