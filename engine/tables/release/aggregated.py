"""Microaggregation: each record of an equivalence class has the aggregate of the class instead of its own value.

In: the released records class by class, with the places of their classes. Out: the same records, in which a column
holds the mean, the median, the mode or the interval of the values that its class has. Equivalence classes are formed by
the other quasi-identifiers, so an aggregate is a function of their labels and tells no records of a class apart. (The
aggregation step of Domingo-Ferrer and Mateo-Sanz, Practical data-oriented microaggregation for statistical disclosure
control, IEEE TKDE 14(1), 2002, within the classes of a generalization as ARX has it.) Of the columns with `mdav`, each
record has the means of a group of its class instead, formed by all of these columns together (`mdav`).

Memory holds the largest class beside one batch. Where a class has fewer values than it must have records, because
others are missing, its aggregate is missing too: it would be of fewer people than the criteria promise. So it is for
the suppressed records, whose other quasi-identifiers are `*`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.release.mdav import mdav, standardized
from engine.tables.release.one_batch import one_batch
from engine.tables.release.release_order import Placed
from engine.tables.sources.column_text import as_text
from engine.tables.sources.column_types import type_name

_COMPARABLE = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_boolean,
)


def aggregate_type(how: str | None, name: str, kind: pa.DataType) -> pa.DataType:
    """Return the type of an aggregate of values of the type `kind`; without an aggregate it is `kind`.

    Raises
    ------
    InvalidData
        Values of this type have no aggregate.
    """
    if how == "mode" and not any(is_kind(kind) for is_kind in _COMPARABLE):
        raise InvalidData(
            f"column {name!r}: is {type_name(kind)}, and microaggregation: mode needs text, numbers, dates or "
            "booleans; convert it in the source query"
        )
    return {"mean": pa.float64(), "mdav": pa.float64(), "interval": pa.string()}.get(how or "", kind)


@dataclass(frozen=True)
class Aggregates:
    """Which columns are aggregated.

    Attributes
    ----------
    of_column : mapping of column to {"mean", "median", "mode", "interval", "mdav"}
    fewest : int
        Values of a class, or of a group, from which on it has an aggregate; records of a group at least.
    """

    of_column: Mapping[str, str]
    fewest: int

    def released_type(self, name: str, kind: pa.DataType) -> pa.DataType:
        """Return the type of an aggregate of a column that has the type `kind`; of any other column its own.

        Raises
        ------
        InvalidData
            Values of this type have no aggregate.
        """
        return aggregate_type(self.of_column.get(name), name, kind)

    def applied(self, placed: Iterable[Placed], schema: pa.Schema, starred: int) -> Iterator[Placed]:
        """Replace the columns of records that come class by class.

        Parameters
        ----------
        schema : pyarrow Schema
            Of the batches with the aggregates.
        starred : int
            Place of the suppressed records.
        """
        together = [name for name, how in self.of_column.items() if how == "mdav"]
        for batch, places in whole_classes(placed):
            begins = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
            grouped = self._grouped(batch.select(together), places, begins, starred) if together else {}
            columns = [
                grouped[name]
                if name in grouped
                else self._aggregated(name, column, places, begins, schema.field(name).type, starred)
                if name in self.of_column
                else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema), places

    def _grouped(
        self, batch: pa.RecordBatch, places: NDArray[np.int64], begins: NDArray[np.int64], starred: int
    ) -> dict[str, pa.Array]:
        """Return columns with the means of groups of alike records within each class."""
        values = np.column_stack([_doubles(column) for column in batch.columns])
        means = np.full(values.shape, np.nan)
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), places.size], strict=True):
            if int(places[begin]) == starred:
                continue
            own = values[begin:end]
            group = mdav(standardized(own), self.fewest)
            for number in range(int(group.max()) + 1):
                members = np.flatnonzero(group == number)
                means[begin + members] = [
                    self._mean_of_group(own[members, a], name) for a, name in enumerate(batch.schema.names)
                ]
        return {
            name: pa.array(means[:, a], pa.float64(), mask=np.isnan(means[:, a]))
            for a, name in enumerate(batch.schema.names)
        }

    def _mean_of_group(self, values: NDArray[np.float64], name: str) -> float:
        there = values[~np.isnan(values)]
        return _mean(pa.array(there), name) if there.size >= self.fewest else math.nan

    def _aggregated(
        self,
        name: str,
        column: pa.Array,
        places: NDArray[np.int64],
        begins: NDArray[np.int64],
        kind: pa.DataType,
        starred: int,
    ) -> pa.Array:
        ends = np.append(begins[1:], places.size)
        of_class = _OF[self.of_column[name]]
        column = column.cast(_ordered(column.type))
        found = []
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            present = column.slice(begin, end - begin).drop_null()
            enough = len(present) >= self.fewest and int(places[begin]) != starred
            found.append(of_class(present, name) if enough else None)
        return (
            pa.array(found, _ordered(kind)).cast(kind).take(pa.array(np.repeat(np.arange(begins.size), ends - begins)))
        )


def whole_classes(placed: Iterable[Placed]) -> Iterator[Placed]:
    """Join batches so that each class is in one of them."""
    waiting: list[pa.RecordBatch] = []
    last: int | None = None
    for batch, places in placed:
        if not places.size:
            continue
        end = int(np.flatnonzero(places != places[-1])[-1]) + 1 if places[0] != places[-1] else 0
        if waiting and int(places[0]) != last:
            yield _joined(waiting, last)
            waiting = []
        if end:
            yield _together(waiting, last, batch.slice(0, end), places[:end])
            waiting = []
        waiting.append(batch.slice(end))
        last = int(places[-1])
    if waiting:
        yield _joined(waiting, last)


def _together(
    waiting: Sequence[pa.RecordBatch], last: int | None, batch: pa.RecordBatch, places: NDArray[np.int64]
) -> Placed:
    if not waiting:
        return batch, places
    joined, before = _joined(waiting, last)
    return one_batch([joined, batch]), np.concatenate([before, places])


def _joined(waiting: Sequence[pa.RecordBatch], place: int | None) -> Placed:
    batch = one_batch(waiting)
    return batch, np.full(batch.num_rows, place, np.int64)


def _ordered(kind: pa.DataType) -> pa.DataType:
    """Return the type in which values of a type are compared: Arrow neither sorts nor counts the narrow decimals."""
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return pa.decimal128(kind.precision, kind.scale)
    return kind


def _doubles(column: pa.Array) -> NDArray[np.float64]:
    """Return numbers as doubles, missing ones as NaN."""
    numbers = column.cast(pa.float64(), safe=False)
    found: NDArray[np.float64] = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
    return found


def _mean(values: pa.Array, name: str) -> float:
    # the exact sum: the order of records is random, and must not show in the last digit
    numbers = values.cast(pa.float64(), safe=False).to_pylist()
    try:
        return math.fsum(numbers) / len(numbers)
    except OverflowError:
        raise InvalidData(f"column {name!r}: its numbers are too large for a mean; use median") from None


def _median(values: pa.Array, name: str) -> Any:
    """Return the lower median, which is a value of the column: so it keeps its type."""
    del name
    return values.take(pc.sort_indices(values)).slice((len(values) - 1) // 2, 1)[0].as_py()


def _mode(values: pa.Array, name: str) -> Any:
    """Return the most frequent value; of equally frequent ones the smallest, by its text where values have no order.

    NaN comes after all numbers.
    """
    if pa.types.is_floating(values.type):
        values = values.cast(pa.float64())  # Arrow adds no numbers of two bytes
        values = pc.add(values, pa.scalar(0.0, values.type))  # there is one zero
    counts = values.value_counts()
    found, records = counts.field(0), counts.field(1).to_numpy(zero_copy_only=False)
    likely = found.filter(pa.array(records == records.max()))
    if pa.types.is_boolean(likely.type) or pa.types.is_string(likely.type):
        return likely.take(pc.array_sort_indices(as_text(likely, name)))[0]
    first = likely.take(pc.array_sort_indices(likely))[0]
    # Python has no date after the year 9999
    return first.as_py() if pa.types.is_floating(values.type) else first


def _interval(values: pa.Array, name: str) -> str:
    """Return the smallest and the largest value, both included."""
    ends = pc.min_max(values)
    low, high = (as_text(pa.array([ends[end].as_py()], values.type), name)[0].as_py() for end in ("min", "max"))
    return f"[{low}, {high}]"


_OF: Mapping[str, Callable[[pa.Array, str], Any]] = {
    "mean": _mean,
    "median": _median,
    "mode": _mode,
    "interval": _interval,
}
