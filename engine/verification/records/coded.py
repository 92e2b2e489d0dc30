"""Coded numbers of a source, and the form that they have in an output, by code that the run does not use.

In: a job and its source. Out: the source with coded numbers as a table that can be read. Numbers are fractions here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pyarrow as pa

from engine.errors import InvalidData
from engine.tables.sources.column_text import as_text
from engine.tables.sources.column_types import plain_type

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.job.transformed import Coding
    from engine.tables.sources.table import Table


def fraction(text: str) -> Fraction | None:
    """Return the number that a text is, exactly; None if it is none."""
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def coded(number: Fraction, coding: Coding) -> Fraction:
    """Return a number top and bottom coded, and rounded between the ends."""
    rounded = number
    if coding.round_to is not None:
        step = Fraction(str(coding.round_to))
        rounded = round(number / step) * step
    # a number at an end is that end, wherever a step beyond both carries it
    for found in (number, rounded):
        if coding.bottom is not None and found <= Fraction(str(coding.bottom)):
            return Fraction(str(coding.bottom))
        if coding.top is not None and found >= Fraction(str(coding.top)):
            return Fraction(str(coding.top))
    return rounded


class CodedSource:
    """A source whose numbers are coded."""

    def __init__(self, job: Job, source: Table) -> None:
        self._job = job
        self._source = source
        there = [name for name in job.coded if name in source.schema.names]
        self._kinds = {name: self._kind(name, plain_type(source.schema.field(name).type)) for name in there}
        self.schema = pa.schema([one.with_type(self._kinds.get(one.name, one.type)) for one in source.schema])

    def _kind(self, name: str, kind: pa.DataType) -> pa.DataType:
        if pa.types.is_decimal(kind):
            return kind
        is_text = not (pa.types.is_integer(kind) or pa.types.is_floating(kind))
        whole = self._job.attributes[name].order == "integer" if is_text else pa.types.is_integer(kind)
        return pa.int64() if whole else pa.float64()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        for batch in self._source.batches(columns):
            made = [
                self._made(name, batch.column(name)) if name in self._kinds else batch.column(name) for name in columns
            ]
            yield pa.RecordBatch.from_arrays(made, names=list(columns)) if columns else batch

    def _made(self, name: str, column: pa.Array) -> pa.Array:
        encoded = as_text(column, name).dictionary_encode(null_encoding="encode")
        numbers = [self._one(name, text) for text in encoded.dictionary.to_pylist()]
        try:
            return pa.array(numbers, self._kinds[name]).take(encoded.indices)
        except (pa.ArrowException, OverflowError):  # a message may quote a value
            raise InvalidData(f"column {name!r}: a coded number does not fit its type") from None

    def _one(self, name: str, text: str | None) -> int | float | Decimal | None:
        attribute = self._job.attributes[name]
        if text is None or text in attribute.missing or attribute.coding is None:
            return None
        number = fraction(text)
        if number is None:
            raise InvalidData(f"column {name!r}: a number of the source cannot be read")
        found = coded(number, attribute.coding)
        kind = self._kinds[name]
        if kind == pa.int64():
            return int(found)
        return float(found) if kind == pa.float64() else Decimal(found.numerator) / Decimal(found.denominator)
