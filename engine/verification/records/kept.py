"""Distinguishes kept and suppressed records of an output by their quasi-identifiers alone."""

from __future__ import annotations

from engine.tables.class_table import ClassTable

MARK = "*"


def starred_records(table: ClassTable) -> int:
    """Return how many records have `*` in all quasi-identifiers."""
    return int(table.records[table.having(MARK)].sum())


def kept_records(table: ClassTable) -> ClassTable:
    """Return the classes of the records that are not suppressed.

    Where every record is `*` throughout, the table was generalized to its root: one class, of which nothing is
    suppressed.
    """
    starred = table.having(MARK)
    return table if starred.all() else table.where(~starred)
