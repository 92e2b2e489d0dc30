"""The values of a column as hashes: two records with equal hashes have equal values.

In: a column of any type. Out: 64 bits per record, or per value that records have. Of n distinct values some two share a
hash with a probability of about n² / 2^65: 3e-6 for ten million.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.arrow_arrays import filled_texts, flags_of, of_numbers, of_texts
from engine.errors import InvalidData
from engine.kernels.text_hashes import text_hashes
from engine.tables.sources.column_text import as_text, dictionary_of

Number = TypeVar("Number", np.int32, np.uint8)


def hashes(
    column: pa.Array, name: str, missing: frozenset[str] = frozenset()
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Hash a column.

    Parameters
    ----------
    missing : set of str
        Texts that mean a missing value; an empty text always does.

    Returns
    -------
    hashes : uint64, shape (records,)
    there : bool, shape (records,)
        Which records have a value.
    """
    texts = filled_texts(texts_of(column, name), "")
    absent = pc.is_in(texts, value_set=of_texts(sorted({"", *missing})))
    if not len(texts):
        return np.empty(0, np.uint64), np.empty(0, np.bool_)
    _, offsets, data = texts.buffers()
    places = _fixed(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return text_hashes(places, _fixed(data or b"", np.uint8)), ~flags_of(absent)


def counted_hashes(
    column: pa.Array, name: str, missing: frozenset[str] = frozenset()
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hash each value of a column once, where values repeat; see `hashes`.

    Returns
    -------
    hashes : uint64, shape (values,)
        Those of missing values are left out.
    records : int64, shape (values,)
    """
    try:
        values, places = dictionary_of(column, name)
    except InvalidData:
        # of no text form but that of Python
        values, places = dictionary_of(texts_of(column, name), name)
    records = np.bincount(places, minlength=len(values) + 1)[: len(values)]
    # a dictionary may have values that no record has
    held = np.flatnonzero(records)
    found, there = hashes(values.take(of_numbers(held)), name, missing)
    return found[there], records[held][there]


def _fixed(buffer: Any, kind: type[Number]) -> NDArray[Number]:
    """Return the content of a buffer, never writable: an array that is would be another type to a compiled kernel."""
    content = np.frombuffer(buffer, kind)
    content.flags.writeable = False
    return content


def texts_of(column: pa.Array, name: str) -> pa.Array:
    """Render a column as text; values without a text form, such as lists, as Python writes them.

    Raises
    ------
    InvalidData
        Python cannot write them either, such as times of a zone that is not known here, or of the year 300,000.
    """
    try:
        return as_text(column, name)
    except InvalidData as problem:
        try:
            values = column.to_pylist()
        except (KeyError, ValueError, OverflowError, pa.ArrowException):
            raise problem from None
        return pa.array([None if value is None else repr(value) for value in values], pa.string())


def parts_of(column: pa.Array, name: str) -> Iterator[tuple[str, pa.Array]]:
    """Yield the texts of a column, of a nested one those of each part with its name; bytes if they are text."""
    if isinstance(column, pa.ExtensionArray):
        if isinstance(column.type, pa.UuidType):
            yield name, pa.array([None if one is None else str(one) for one in column.to_pylist()], pa.string())
            return
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_struct(column.type):
        for field, part in zip(column.type, column.flatten(), strict=True):
            yield from parts_of(part, field.name)
    elif pa.types.is_map(column.type):
        yield from parts_of(column.keys, name)
        yield from parts_of(column.items, name)
    elif pa.types.is_nested(column.type) and hasattr(column, "flatten"):
        yield from parts_of(column.flatten(), name)
    elif _is_bytes(column.type):
        with suppress(pa.ArrowException):
            yield name, column.cast(pa.large_binary()).cast(pa.large_string()).cast(pa.string())
    else:
        yield name, texts_of(column, name)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))
