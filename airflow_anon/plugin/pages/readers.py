"""Which release readers of a share get, as a word for every release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.parts import Readers

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.plugin.reading import Reading

READERS: dict[Readers, str] = {
    "current": "Readers get this",
    "superseded": "Superseded",
    "never-current": "Never current",
    "astray": "Readers get another release",
    "recalled": "Recalled",
    "removed": "Removed from the share",
}


def readers_of(reading: Reading, entry: Entry) -> Readers | None:
    """Return what readers have to do with a release; None for an attempt without one.

    The link `current` decides where it can be read, otherwise the ledger: the newest release is the current one.
    """
    standing = reading.standings(entry.job).get(entry.sequence) if entry.outcome == "released" else None
    named = None if standing is None else reading.named_current(entry.job)
    if named is None:
        return standing
    if entry.release_id == named:
        return "current"
    return "astray" if standing == "current" else standing
