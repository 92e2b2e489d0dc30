"""The values of a column as hashes: two records with equal hashes have equal values.

In: a column of any type. Out: 64 bits per record. Of n distinct values some two share a hash with a probability of
about n² / 2^65: 3e-6 for ten million.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.kernels.text_hashes import text_hashes
from engine.tables.source import as_text

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
    texts = pc.fill_null(texts_of(column, name), "")
    absent = pc.is_in(texts, value_set=pa.array(sorted({"", *missing}), pa.string()))
    if not len(texts):
        return np.empty(0, np.uint64), np.empty(0, np.bool_)
    _, offsets, data = texts.buffers()
    places = _fixed(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return text_hashes(places, _fixed(data or b"", np.uint8)), ~absent.to_numpy(zero_copy_only=False)


def _fixed(buffer: Any, kind: type[Number]) -> NDArray[Number]:
    """Return the content of a buffer, never writable: an array that is would be another type to a compiled kernel."""
    content = np.frombuffer(buffer, kind)
    content.flags.writeable = False
    return content


def texts_of(column: pa.Array, name: str) -> pa.Array:
    """Render a column as text; values without a text form, such as lists, as Python writes them."""
    try:
        return as_text(column, name)
    except InvalidData:
        values = column.to_pylist()
        return pa.array([None if value is None else repr(value) for value in values], pa.string())
