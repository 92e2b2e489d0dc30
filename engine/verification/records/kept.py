"""Distinguishes kept and suppressed records of an output by their quasi-identifiers alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

MARK = "*"


def starred_mask(table: pa.Table, quasi_identifiers: Sequence[str]) -> pa.ChunkedArray:
    """Tell the records all of whose quasi-identifiers are `*`, bool, shape (rows,)."""
    stars = [pc.fill_null(pc.equal(_text(table[name]), MARK), False) for name in quasi_identifiers]
    return reduce(pc.and_, stars)


def kept_records(table: pa.Table, quasi_identifiers: Sequence[str]) -> pa.Table:
    """Return the records that are not suppressed.

    Where every record is `*` throughout, the table was generalized to its root: one class, of which nothing is
    suppressed.
    """
    starred = starred_mask(table, quasi_identifiers)
    return table if pc.all(starred).as_py() else table.filter(pc.invert(starred))


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if pa.types.is_string(column.type) else column.cast(pa.string())
