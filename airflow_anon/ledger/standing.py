"""What became of the releases of a job, as its entries tell it in their order.

A release is current until one with a larger id is released, or until it is recalled: then readers have none, until the
next one. A recalled or removed release is in no place any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from airflow_anon.ledger.entry import RECALLED, REMOVED

if TYPE_CHECKING:
    from airflow_anon.ledger.entry import Entry

Standing = Literal["current", "superseded", "never-current", "recalled", "removed"]
WITHDRAWN = (RECALLED, REMOVED)
"""Outcomes of entries that take a release out of the share, and the standings of such releases."""


def standings(entries: Iterable[Entry]) -> dict[int, Standing]:
    """Return the standing of each release of one job by its sequence.

    Parameters
    ----------
    entries : iterable of Entry
        Of the job, in any order; those of attempts without a release do not matter.
    """
    found: dict[int, Standing] = {}
    released: dict[str, int] = {}
    current: Entry | None = None
    for entry in sorted(entries, key=lambda one: one.sequence):
        release_id = entry.release_id or ""
        if entry.outcome == "released":
            released[release_id] = entry.sequence
            # a release that was older than the current one never became current
            if current is None or release_id > (current.release_id or ""):
                if current is not None:
                    found[current.sequence] = "superseded"
                current = entry
            found[entry.sequence] = "current" if current is entry else "never-current"
        elif entry.outcome in WITHDRAWN and release_id in released:
            was_recalled = found[released[release_id]] == "recalled"
            found[released[release_id]] = "recalled" if was_recalled or entry.outcome == RECALLED else "removed"
            if current is not None and current.release_id == release_id:
                current = None
    return found


def current_of(entries: Iterable[Entry]) -> Entry | None:
    """Return the release of one job that readers should have after these entries; None if there is none."""
    known = list(entries)
    places = standings(known)
    return next((entry for entry in known if places.get(entry.sequence) == "current"), None)


def withdrawal_of(entries: Iterable[Entry], release_id: str) -> Entry | None:
    """Return the entry that took a release out of the share; that of its recall, if it was removed as well."""
    found = [one for one in entries if one.outcome in WITHDRAWN and one.release_id == release_id]
    return min(found, key=lambda one: (one.outcome != RECALLED, one.sequence), default=None)
