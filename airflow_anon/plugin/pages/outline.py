"""An entry in a list: the figures of its row, and its state in one word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.parts import Chain, Outline, PendingOutline, State
from airflow_anon.plugin.pages.readers import readers_of

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Pending
    from airflow_anon.plugin.reading import Reading

STATES: dict[State, str] = {
    "tampered": "Changed afterwards",
    "damaged": "Not readable",
    "refused": "Refused",
    "failed": "Failed",
    "pending": "Publication pending",
    "released": "Released",
    "recalled": "Recalled",
    "removed": "Removed",
    "given-up": "Share given up",
}
"""In order of urgency."""
ENTRY_STATES: dict[State, str] = {name: text for name, text in STATES.items() if name not in ("tampered", "pending")}
"""Those of an entry."""


def state_of(entry: Entry) -> State:
    """Return the state of an attempt: its outcome, or "damaged" if it was made unreadable."""
    return next((state for state in ENTRY_STATES if state == entry.outcome), "damaged")


def outline(reading: Reading, entry: Entry) -> Outline:
    """Return an entry's row as shown in lists."""
    return {
        "sequence": entry.sequence,
        "recorded_at": entry.recorded_at,
        "job": entry.job,
        "dag_id": entry.dag_id,
        "run_id": entry.run_id,
        "task_group": entry.task_group,
        "attempt": entry.attempt,
        "state": state_of(entry),
        "release_id": entry.release_id,
        "readers": readers_of(reading, entry),
        **reading.counts_of(entry),
        "information_loss": entry.information_loss,
        "privacy_margin": entry.privacy_margin,
        "optimal": entry.optimal,
        "seconds": entry.seconds,
    }


def pending_outline(pending: Pending) -> PendingOutline:
    """Return a pending publication as shown in lists."""
    return {
        "job": pending.job,
        "release_id": pending.release_id,
        "dag_id": pending.dag_id,
        "run_id": pending.run_id,
        "revoked": pending.revoked,
        "since": pending.since,
    }


def chain_state(reading: Reading) -> Chain:
    """Tell whether the chain of entries is intact, and the number of broken places.

    A missing ledger is not intact: somebody may have removed it. A user who may see no entry gets no number.
    """
    breaks = len(reading.chain) if reading.sees_any else 0
    return {"exists": reading.exists, "intact": reading.exists and not reading.chain, "breaks": breaks}
