"""What programs for statistics cannot hold whose only numbers are doubles: Stata and SPSS."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_WHOLE = 2**53
"""Doubles hold every whole number up to it."""
_MILLISECOND = {"s": 1, "ms": 1, "us": 1_000, "ns": 1_000_000}


def is_text(kind: pa.DataType) -> bool:
    """Whether values are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_known(kind: pa.DataType) -> bool:
    """Whether values of a type are texts, numbers that doubles may hold, dates, or times without a zone."""
    types = pa.types
    number = types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind) or types.is_boolean(kind)
    return bool(is_text(kind) or number or types.is_date(kind) or (types.is_timestamp(kind) and kind.tz is None))


def lost_value(column: pa.ChunkedArray, largest: float) -> str | None:
    """Say of which kind values are that would be others as doubles; None if there are none.

    Parameters
    ----------
    largest : float
        The largest number that is no missing value of the program.
    """
    if pa.types.is_integer(column.type):
        ends = pc.min_max(column).as_py()
        if ends["min"] is not None and max(-ends["min"], ends["max"]) > _WHOLE:
            return "whole numbers beyond 2^53"
    elif pa.types.is_floating(column.type):
        most = pc.max(pc.abs(pc.if_else(pc.is_nan(column), None, column))).as_py()
        if most is not None and most > largest:
            return f"infinite numbers, or some above {largest:.1e}"
    elif pa.types.is_timestamp(column.type):
        parts = _MILLISECOND[column.type.unit]
        if pc.any(pc.not_equal(pc.subtract(column.cast(pa.int64()), _rounded(column, parts)), 0)).as_py():
            return "times of parts of a millisecond"
    elif is_text(column.type) and pc.any(pc.match_substring(column, "\0")).as_py():
        return "texts with a NUL character"
    return None


def _rounded(column: pa.ChunkedArray, parts: int) -> pa.ChunkedArray:
    return pc.multiply(pc.divide(column.cast(pa.int64()), parts), parts)
