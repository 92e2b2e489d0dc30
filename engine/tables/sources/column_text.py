"""Values of columns as text, the form of the values of hierarchies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.arrow_arrays import filled, numbers_of
from engine.errors import InvalidData
from engine.tables.sources.column_types import is_opaque, type_name


def as_text(column: pa.Array, name: str) -> pa.Array:
    """Render a column as text, with nulls: the form of the values of hierarchies.

    Raises
    ------
    InvalidData
        The type has no text form (lists, structs, binary).
    """
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type):
        return column
    try:
        if not is_opaque(column.type):
            return _within_range(column.cast(pa.string()), column.type, name)
    except pa.ArrowException:
        pass  # the message may quote a value
    if pa.types.is_timestamp(column.type):
        raise InvalidData(
            f"column {name!r}: holds times of a time zone that is not known here; make them UTC, or of a zone of IANA "
            "such as Europe/Zurich, in the source query"
        )
    raise InvalidData(
        f"column {name!r}: type {type_name(column.type)} has no text form; convert it in the source query"
    )


def texts_of_chunks(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a whole column as text; see `as_text`."""
    return pa.chunked_array([as_text(chunk, name) for chunk in column.chunks], pa.string())


def _within_range(texts: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """Refuse what Arrow writes in place of a moment that it cannot write."""
    if pa.types.is_temporal(kind) and pc.any(pc.starts_with(texts, "<value out of range")).as_py():
        raise out_of_range(name)
    return texts


def out_of_range(name: str) -> InvalidData:
    """Return the error of a moment that cannot be written."""
    return InvalidData(
        f"column {name!r}: holds dates or times out of range, such as an infinite date or 24:00; correct them, or make "
        "the column text in a query"
    )


def dictionary_of(column: pa.Array, name: str) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return the distinct values of a column as they are, and the place of each record's among them.

    Values that no record has may be among them, if the column came with its dictionary.

    Returns
    -------
    values : pyarrow Array
    places : int32, shape (records,)
        Those after the last value are missing.

    Raises
    ------
    InvalidData
        See `as_text`.
    """
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if not pa.types.is_dictionary(column.type) or is_opaque(column.type.value_type):
        column = _encoded(column, name)
    places = filled(column.indices.cast(pa.int32()), len(column.dictionary))
    return column.dictionary, numbers_of(places)


def _encoded(column: pa.Array, name: str) -> pa.DictionaryArray:
    try:
        if not is_opaque(column.type):
            return column.dictionary_encode()
    except pa.ArrowException:
        pass  # a type that has a text form, but cannot be compared
    return as_text(column, name).dictionary_encode()
