"""What the ledger has of an attempt, as the task that recorded it tells it on: to metrics and to lineage.

In: an entry and its ledger. Out: the entry with its document. Nothing is raised: what was published, or recorded, is
so whatever is told of it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger
    from airflow_anon.ledger.form import Document

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recorded:
    """An attempt that is in the ledger.

    Attributes
    ----------
    entry : Entry
    document : Document or None
        None where it could not be read.
    """

    entry: Entry
    document: Document | None

    @property
    def smallest(self) -> int | None:
        """The smallest class that the job allows; None where it is not known."""
        return None if self.document is None else self.document.smallest


def recorded_in(ledger: Ledger, entry: Entry) -> Recorded:
    """Read the document of an entry; that it cannot be read is logged."""
    from airflow_anon.ledger.form import read  # noqa: PLC0415 (a DAG file imports this module)

    try:
        return Recorded(entry, read(ledger.document(entry.sequence)))
    except Exception as problem:  # noqa: BLE001 (the attempt is recorded, whatever is told of it)
        _log.warning("Metrics and lineage will lack entry %d (%s)", entry.sequence, type(problem).__name__)
        return Recorded(entry, None)
