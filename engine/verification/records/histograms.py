"""The values of a sensitive attribute, counted in the table and in each class, by Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import InvalidData
from engine.verification.records.records import Records

Value = str | None


@dataclass(frozen=True)
class Histograms:
    """Records per value, in the table and in each of C equivalence classes; a missing value is a value.

    Attributes
    ----------
    values : tuple of str or None
        The distinct values of the table as text, V of them.
    totals : tuple of int
        Records of the table with each value, all above 0.
    records : int
        Their sum.
    """

    values: tuple[Value, ...]
    totals: tuple[int, ...]
    records: int
    _classes: tuple[dict[int, int], ...]

    def __iter__(self) -> Iterator[dict[int, int]]:
        """Give each class as records by position in `values`; positions that it lacks are left out."""
        return iter(self._classes)

    def __len__(self) -> int:
        """Return the number of classes, C."""
        return len(self._classes)


def histograms(records: Records, attribute: str) -> Histograms:
    """Count the values of a sensitive attribute.

    Raises
    ------
    InvalidData
        A kept record holds a value that no record of the table has: they are not of one output. Or the column's type
        has no text form.
    """
    counted = pc.value_counts(_text(records.table, attribute))
    values = counted.field("values")
    totals = tuple(counted.field("counts").to_pylist())
    positions = pc.index_in(_text(records.kept, attribute), value_set=values)
    if positions.null_count:
        raise InvalidData(
            f"column {attribute!r}: kept records hold values that the table lacks; give both from the same output"
        )
    classes = _by_class(records, positions)
    return Histograms(tuple(values.to_pylist()), totals, sum(totals), classes)


def counted_values(found: Histograms, model: Mapping[str, Any]) -> list[dict[int, int]]:
    """Return the values of each class that a form of l-diversity counts: missing ones only where its job says so."""
    if model.get("missing", "not-a-value") == "value":
        return list(found)
    known = {place for place, value in enumerate(found.values) if value is not None}
    return [{place: count for place, count in counts.items() if place in known} for counts in found]


def _by_class(records: Records, positions: pa.ChunkedArray) -> tuple[dict[int, int], ...]:
    # columns are numbered: a quasi-identifier may have any name, even one that a group-by makes
    keys = [str(number) for number in range(len(records.quasi_identifiers))]
    columns = [records.kept[name] for name in records.quasi_identifiers]
    table = pa.Table.from_arrays([*columns, positions], names=[*keys, "value"])
    triples = table.group_by([*keys, "value"], use_threads=False).aggregate([([], "count_all")])
    lists = triples.group_by(keys, use_threads=False).aggregate([("value", "list"), ("count_all", "list")])
    pairs = zip(lists["value_list"].to_pylist(), lists["count_all_list"].to_pylist(), strict=True)
    return tuple(dict(zip(found, counts, strict=True)) for found, counts in pairs)


def _text(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Render a column as text, the form in which hierarchies know values; equal codes of a dictionary become equal."""
    column = table[name]
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return column.cast(pa.string())
    except pa.ArrowException:  # its message may quote a value
        raise InvalidData(
            f"column {name!r}: type {column.type} has no text form, so that it cannot be counted"
        ) from None
