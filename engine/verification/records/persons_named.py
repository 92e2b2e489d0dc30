"""The texts by which a column of persons names them; equal numbers are one person, and no number is nobody."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from engine.tables.sources.column_text import as_text


def persons_named(column: pa.Array, name: str) -> pa.Array:
    """Return a text of each record, shape (records,); null where it is nobody's."""
    plain = column.storage if isinstance(column, pa.ExtensionArray) else column
    plain = plain.dictionary_decode() if pa.types.is_dictionary(plain.type) else plain
    if not pa.types.is_floating(plain.type):
        return as_text(plain, name)
    numbers = np.array(plain.to_numpy(zero_copy_only=False))
    # a comparison of numbers takes both zeros for one
    numbers[numbers == 0] = 0
    return as_text(pa.array(numbers, plain.type, from_pandas=True), name)
