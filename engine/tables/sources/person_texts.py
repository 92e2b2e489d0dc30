"""Whose records are, as text: what a column of persons holds, of which a float that is no number names nobody.

In: a column. Out: a text of each record, the same of equal numbers.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from engine.tables.sources.column_text import as_text
from engine.tables.sources.column_types import plain_type

_NO_NUMBER, _MINUS_ZERO, _ZERO = "nan", "-0", "0"
"""Texts of floats: what pandas writes of a missing number, and the two texts of one number."""


def plain_persons(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return texts without what tells no persons apart: case and blanks."""
    return pc.replace_substring_regex(pc.utf8_lower(texts), r"[\s\p{Z}]", "")


def person_texts(column: pa.Array, subject: str) -> pa.Array:
    """Return whose records are, text with nulls, shape (records,).

    Parameters
    ----------
    subject : str
        Name of the column.

    Raises
    ------
    InvalidData
        The type has no text form.
    """
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    texts = as_text(column, subject)
    if not pa.types.is_floating(plain_type(column.type)):
        return texts
    numbers = pc.if_else(pc.equal(texts, _MINUS_ZERO), pa.scalar(_ZERO), texts)
    return pc.if_else(pc.equal(texts, _NO_NUMBER), pa.scalar(None, pa.string()), numbers)
