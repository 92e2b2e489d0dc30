"""Reads a recorded attempt back from the ledger, for metrics and lineage.

In: an entry and its ledger. Out: the entry with its document. Nothing is raised: a failed
report must not fail a task that has published or recorded.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger
    from airflow_anon.ledger.form import Document
    from airflow_anon.ledger.form_parts import Series

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recorded:
    """An attempt in the ledger.

    Attributes
    ----------
    entry : Entry
    document : Document or None
        None if it could not be read.
    """

    entry: Entry
    document: Document | None

    @property
    def smallest(self) -> int | None:
        """The smallest class that the job allows; None if not known."""
        return None if self.document is None else self.document.smallest

    @property
    def series(self) -> Series | None:
        """What the document says of the series of its job; None for a job without."""
        return None if self.document is None else self.document.series


def recorded_in(ledger: Ledger, entry: Entry) -> Recorded:
    """Read the document of an entry; log it if it cannot be read."""
    from airflow_anon.ledger.form import read  # noqa: PLC0415 (a DAG file imports this module)

    try:
        return Recorded(entry, read(ledger.document(entry.sequence)))
    except Exception as problem:  # noqa: BLE001 (the attempt is recorded; its report may fail)
        _log.warning("Metrics and lineage will lack entry %d (%s)", entry.sequence, type(problem).__name__)
        return Recorded(entry, None)
