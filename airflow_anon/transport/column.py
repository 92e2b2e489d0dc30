"""One column to read, and the names of Arrow types in which it may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_DECIMAL = 38


@dataclass(frozen=True)
class Column:
    """One column to read.

    Attributes
    ----------
    name : str
    expression : str
        Its SQL.
    type : pyarrow DataType, optional
        If it is known beforehand.
    values : callable, optional
        Makes values of the type of those that the driver gives, of which None is missing; a ValueError if one is none.
    """

    name: str
    expression: str
    type: pa.DataType | None = None
    values: Callable[[Sequence[Any]], Sequence[Any]] | None = None


def arrow_type(name: str, precision: int = 0, scale: int = 0) -> pa.DataType:
    """Return the Arrow type of a name, as pyarrow's factory functions have it."""
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    special = {
        "date32": pa.date32,
        "time64": lambda: pa.time64("us"),
        "timestamp": lambda: pa.timestamp("us"),
        "timestamp_utc": lambda: pa.timestamp("us", tz="UTC"),
        "bool": pa.bool_,
        "decimal": lambda: pa.decimal128(precision, scale),
    }
    return special.get(name, getattr(pa, name, None))()
