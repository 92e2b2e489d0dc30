"""The values of a sensitive attribute, counted in the table and in each class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.arrow_arrays import numbers_of, of_numbers
from engine.errors import InvalidData
from engine.tables.class_table import SensitiveValues
from engine.verification.records.records import Records

Value = str | None

_AT_ONCE = 1 << 16
"""Pairs of a class and a value that are Python objects at the same time."""


@dataclass(frozen=True, eq=False)
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
    _ends: NDArray[np.int64]
    _positions: NDArray[np.int64]
    _counts: NDArray[np.int64]

    def __iter__(self) -> Iterator[dict[int, int]]:
        """Give each class as records by position in `values`; positions that it lacks are left out."""
        start = first = 0
        positions: list[int] = []
        counts: list[int] = []
        for end in self._ends.tolist():
            if end > first + len(positions):
                first, last = start, max(end, start + _AT_ONCE)
                positions, counts = self._positions[first:last].tolist(), self._counts[first:last].tolist()
            inside = slice(start - first, end - first)
            yield dict(zip(positions[inside], counts[inside], strict=True))
            start = end

    def __len__(self) -> int:
        """Return the number of classes, C."""
        return self._ends.size


def histograms(records: Records, attribute: str) -> Histograms:
    """Count the values of a sensitive attribute.

    Raises
    ------
    InvalidData
        A kept record holds a value that no record of the table has: they are not of one output. Or the column's type
        has no text form.
    """
    table, kept = records.table.sensitive[attribute], records.kept.sensitive[attribute]
    if not table.has_text:
        raise without_text(attribute, table)
    totals = np.zeros(len(table.values.distinct), np.int64)
    np.add.at(totals, table.values.codes, table.records)
    there = np.flatnonzero(totals)
    values = table.values.distinct.take(of_numbers(there))
    position = pc.index_in(kept.values.distinct, value_set=values)
    positions = position.take(of_numbers(kept.values.codes))
    if positions.null_count:
        raise InvalidData(
            f"column {attribute!r}: kept records hold values that the table lacks; give both from the same output"
        )
    counts = tuple(totals[there].tolist())
    ends = np.searchsorted(kept.classes, np.arange(records.kept.records.size), side="right")
    places = numbers_of(positions).astype(np.int64)
    return Histograms(tuple(values.to_pylist()), counts, sum(counts), ends, places, kept.records)


def counted_values(found: Histograms, model: Mapping[str, Any]) -> Iterator[dict[int, int]]:
    """Give the values of each class that a form of l-diversity counts: missing ones only where its job says so."""
    if model.get("missing", "not-a-value") == "value":
        yield from found
        return
    known = {place for place, value in enumerate(found.values) if value is not None}
    for counts in found:
        yield {place: count for place, count in counts.items() if place in known}


def without_text(name: str, values: SensitiveValues) -> InvalidData:
    """Return the error about a column whose values have no text form."""
    return InvalidData(f"column {name!r}: type {values.kind} has no text form, so that it cannot be counted")
