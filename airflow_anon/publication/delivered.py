"""The nightly check of what readers have: before an attempt changes it, or ends without a release."""

from __future__ import annotations

from logging import Logger
from typing import TYPE_CHECKING, Any

from airflow_anon.publication.errors import ledger_errors

if TYPE_CHECKING:
    from airflow_anon.ledger import Ledger


def delivered_now(ledger: Ledger, job: str, log: Logger) -> dict[str, Any] | None:
    """Recount what readers have of a job and log it; None before its first release.

    Raises
    ------
    AirflowException
        The ledger cannot be read. A share that cannot be read is a state.
    """
    from airflow_anon.ledger.delivery import delivered, harm_words  # noqa: PLC0415 (heavy imports belong into execute)

    with ledger_errors():
        found = delivered(ledger, job)
    if found is None:
        return None
    harms = harm_words(found)
    for harm in harms:
        log.warning("What readers have was changed after its release: %s", harm)
    if not harms:
        states = ", ".join(f"{name} {found[name]}" for name in ("files", "link", "table") if found[name] is not None)
        log.info("What readers have, release %s (entry %d): %s", found["release_id"], found["sequence"], states)
    return found
