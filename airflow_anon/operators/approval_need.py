"""Whether a release must wait for somebody's approval, by the rule of its job, and why.

In: the document of the release that would be published, and what readers have. Out: the reason in words. What cannot be
compared waits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger
    from airflow_anon.ledger.form import Document
    from engine import Job


@dataclasses.dataclass(frozen=True, kw_only=True)
class Need:
    """Whether a release waits, and why; one sentence without a figure."""

    waits: bool
    why: str


def need_of(job: Job, ledger: Ledger, candidate: Mapping[str, Any]) -> Need:
    """Judge whether a release waits.

    Parameters
    ----------
    job : Job
        With a section `approval`.
    ledger : Ledger
    candidate : mapping
        The document of the release, as the ledger would keep it.
    """
    settings = job.approval
    assert settings is not None  # noqa: S101 (the operator's own check)
    if settings.when == "always":
        return Need(waits=True, why="each release of the job waits for approval")
    current = ledger.current(job.name)
    if current is None:
        return Need(waits=True, why="readers have no release of the job yet")
    if settings.when == "first-release":
        return Need(waits=False, why="readers have a release of the job already")
    if current.job_sha256 != candidate["job"]["sha256"]:
        return Need(waits=True, why="the job is not the one of the release that readers have")
    return _levels(ledger, current, candidate) if settings.when == "levels-change" else _alert(ledger, candidate)


def _levels(ledger: Ledger, current: Entry, candidate: Mapping[str, Any]) -> Need:
    from airflow_anon.ledger import form  # noqa: PLC0415 (heavy imports belong into execute)
    from airflow_anon.ledger.errors import LedgerError, LedgerUnreachable  # noqa: PLC0415

    try:
        before = form.read(ledger.document(current.sequence))
    except LedgerUnreachable:
        raise
    except LedgerError:
        before = None
    now = form.read(dict(candidate))
    if before is None or now is None or before.levels is None or now.levels is None:
        return Need(waits=True, why="the levels cannot be compared with those of the release that readers have")
    if any(one.level is None for one in now.levels.values()):
        return Need(waits=True, why="records have levels of their own, which cannot be compared with what readers have")
    changed = sorted(name for name in {*before.levels, *now.levels} if _level(before, name) != _level(now, name))
    if changed:
        return Need(waits=True, why=f"the level of {', '.join(changed)} is another than in what readers have")
    if now.policy != before.policy:
        return Need(waits=True, why="the policy is another than that of the release that readers have")
    return Need(waits=False, why="the levels are those of the release that readers have")


def _level(document: Document, name: str) -> int | None:
    found = (document.levels or {}).get(name)
    return None if found is None else found.level


def _alert(ledger: Ledger, candidate: Mapping[str, Any]) -> Need:
    from airflow_anon.ledger import form  # noqa: PLC0415 (heavy imports belong into execute)
    from airflow_anon.observe.alerts import NOTICES, alerts_of, notices_in  # noqa: PLC0415

    document = form.read(dict(candidate))
    if document is None:
        return Need(waits=True, why="the release cannot be judged for alerts")
    earlier = ledger.of_job(document.name, outcome="released")
    entry = _as_entry(candidate)
    found = alerts_of(
        entry,
        earlier,
        smallest=document.smallest,
        delivered=document.delivered,
        series=document.series,
        notices=notices_in(ledger, entry),
    )
    if found:
        subject = "" if found[0].kind in NOTICES else "the release "
        return Need(waits=True, why=f"it would raise an alert: {subject}{found[0].what}")
    return Need(waits=False, why="it would raise no alert")


def _as_entry(candidate: Mapping[str, Any]) -> Entry:
    """Return the entry that the release would get, without a place in the chain."""
    from airflow_anon.ledger.entry import Entry, columns_of  # noqa: PLC0415 (heavy imports belong into execute)

    publication = {"release_id": "candidate", "manifest_sha256": "0" * 64}
    columns = columns_of({**candidate, "outcome": "released", "publication": publication})
    unchained = {"recorded_at": "", "document_sha256": "", "previous_sha256": "", "entry_sha256": ""}
    return Entry(sequence=0, **columns, **unchained)
