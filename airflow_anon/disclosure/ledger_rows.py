"""The counts in a row of the ledger, as lists, metrics, lineage and alerts may show them.

In: a row, and the smallest class that its job allows, None if it cannot be read. Out: figures (the rule is in
`counts`). Without the smallest class, no count but 0 is shown.
"""

from __future__ import annotations

from typing import Protocol, TypedDict

from airflow_anon.disclosure.counts import Figure, count, is_few, told, withheld


class Row(Protocol):
    """The columns read from a row of the ledger."""

    @property
    def outcome(self) -> str:
        """Whether the attempt was `released`."""

    @property
    def rows(self) -> int | None:
        """Records of the source."""

    @property
    def suppressed(self) -> int | None:
        """Suppressed records; None if a release withheld them."""

    @property
    def suppressed_share(self) -> float | None:
        """Share of suppressed records; None if a release withheld it."""


class RowFigures(TypedDict):
    """The counts of a row as they may be shown."""

    rows: Figure
    suppressed: Figure
    suppressed_share: Figure


def row_figures(row: Row, smallest: int | None, *, persons: bool = False) -> RowFigures:
    """Return the counts of a row as they may be shown.

    Parameters
    ----------
    smallest : int or None
        The smallest class allowed; None if not known.
    persons : bool
        Whether numbers that a release withheld are those of the records of fewer persons than that.
    """
    few = _suppresses_few(row, smallest)
    return {
        "rows": _count(row.rows, smallest),
        "suppressed": _of_suppressed(row, row.suppressed, smallest, few=few, persons=persons),
        "suppressed_share": _of_suppressed(row, row.suppressed_share, smallest, few=few, persons=persons),
    }


def _count(records: int | None, smallest: int | None) -> Figure:
    if not records:
        return told(records)
    return withheld(None) if smallest is None else count(records, smallest)


def _of_suppressed(row: Row, value: float | None, smallest: int | None, *, few: bool, persons: bool) -> Figure:
    if value is None:
        # A release has both, unless they were withheld.
        return withheld(smallest, persons=persons) if row.outcome == "released" else told(None)
    return withheld(smallest) if few else told(value)


def _suppresses_few(row: Row, smallest: int | None) -> bool:
    """Whether few records are suppressed, or an unknown number."""
    records: float | None = row.suppressed
    if records is None and row.suppressed_share and row.rows is not None:
        records = row.suppressed_share * row.rows
    if records is None:
        return bool(row.suppressed_share)
    return records != 0 and (smallest is None or is_few(records, smallest))
