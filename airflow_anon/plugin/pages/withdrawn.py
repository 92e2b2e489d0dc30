"""That a release was recalled or removed: of an entry of the release, and of the entry that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.release import Withdrawn

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.plugin.reading import Reading


def withdrawn(reading: Reading, entry: Entry) -> Withdrawn | None:
    """Return how a release was taken out of the share; None if it was not, and for an attempt without a release."""
    if entry.release_id is None:
        return None
    found = reading.ledger.withdrawal(entry.job, entry.release_id) if entry.outcome == "released" else entry
    if found is None:
        return None
    document = reading.document(found.sequence)
    told = None if document is None else document.withdrawal
    by, why, keep = (None, None, None) if told is None else (told.by, told.why, told.keep)
    when = found.recorded_at[:16].replace("T", " ")
    if found.outcome == "recalled":
        whom = by or "somebody who is not recorded"
        words = f"Recalled on {when} UTC by {whom}: readers cannot get it any more."
    else:
        kept = "so many releases as the job keeps" if keep is None else f"the newest {keep}, which the job keeps"
        words = f"Removed from the share on {when} UTC: it was not among {kept}."
    return {
        "outcome": "recalled" if found.outcome == "recalled" else "removed",
        "sequence": found.sequence,
        "run_id": found.run_id,
        "recorded_at": found.recorded_at,
        "by": by,
        "why": why,
        "words": words,
    }
