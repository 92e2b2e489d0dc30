"""Where a release may lie though its entry does not name the place: in another folder of its job.

A share that is moved, or that gets another path, takes the releases of before with it. Their entries stay as they were
written, and name the old path.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from airflow_anon.ledger.errors import LedgerError, LedgerUnreachable
from airflow_anon.ledger.released_places import places_of
from airflow_anon.transport.address import parent_of

if TYPE_CHECKING:
    from airflow_anon.ledger.store import Ledger


def folders_of(ledger: Ledger, job: str) -> list[str]:
    """Return each folder, or address in a store, in which a job has had releases, the newest first.

    Raises
    ------
    LedgerUnreachable
        The ledger cannot be read.
    """
    found: dict[str, None] = {}
    for entry in ledger.of_job(job, outcome="released"):
        try:
            publication = ledger.document(entry.sequence).get("publication")
        except LedgerUnreachable:
            raise
        except LedgerError:
            # The check of the ledger reports a document that cannot be read.
            continue
        found.update(dict.fromkeys(map(parent_of, places_of(publication))))
    return list(found)


def other_places(folders: Iterable[str], places: Iterable[str], release_id: str) -> list[str]:
    """Return where a release would lie in the folders of its job that its own places are not in."""
    own = set(map(parent_of, places))
    return [f"{folder}/{release_id}" for folder in folders if folder not in own]
