"""Alerts on publications that stayed pending: cut off, and ended by no run since.

In: the pending rows of a ledger. Out: those that are older than any publication takes. The run that ends a night tells
of those of its jobs and its DAG; of what nobody else tells, such as of a job that was removed, whoever has the share.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from airflow_anon.observe.alerts import NOTICES, RELEASED, Alert, AlertSettings
from airflow_anon.observe.moments import moment_of, moment_words

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger, Pending

CLOCKS_DIFFER = dt.timedelta(hours=1)
"""By how much the clocks of two machines may differ; beyond it one of them is wrong."""


def stayed_pending(
    found: Iterable[Pending], settings: AlertSettings | None = None, now: dt.datetime | None = None
) -> list[Alert]:
    """Return an alert for each publication that has been pending for longer than the settings say.

    Parameters
    ----------
    now : datetime, optional
        With a zone; by default the time of the call.
    """
    longest = (settings or AlertSettings()).pending_hours
    now = now or dt.datetime.now(dt.timezone.utc)
    return [_alert(one, now) for one in found if _hours(one, now) > longest]


def told_by(ledger: Ledger, dag_id: str, entries: Sequence[Entry]) -> list[Pending]:
    """Return the pending publications of which the end of a run tells.

    Parameters
    ----------
    dag_id : str
        The DAG of the run.
    entries : sequence of Entry
        Those of the run, one for each of its jobs.

    Raises
    ------
    LedgerError
        The ledger cannot be read.
    """
    jobs, found = {entry.job for entry in entries}, ledger.pending()
    others = [one for one in found if one.job not in jobs and one.dag_id != dag_id]
    # most nights have none, and read no document for it
    shared = _in_shares_of(ledger, entries, others) if others else []
    return [one for one in found if one not in others or one in shared]


def _in_shares_of(ledger: Ledger, entries: Sequence[Entry], others: Sequence[Pending]) -> list[Pending]:
    """Return the publications of other jobs in the shares of released entries, of which their own job tells no more."""
    from airflow_anon.ledger.named_share import shares_of  # noqa: PLC0415 (a DAG file imports this module)

    released = [ledger.document(entry.sequence) for entry in entries if entry.outcome == RELEASED]
    own = {share for document in released for share in shares_of(document.get("publication")).values()}
    return [
        one
        for one in others
        if own.intersection(shares_of(one.document.get("publication")).values()) and not _has_run_since(ledger, one)
    ]


def _has_run_since(ledger: Ledger, pending: Pending) -> bool:
    ended = (entry for entry in ledger.of_job(pending.job) if entry.outcome not in NOTICES)
    newest, since = next(ended, None), moment_of(pending.since)
    last = None if newest is None else moment_of(newest.recorded_at)
    return last is not None and since is not None and last > since


def _hours(pending: Pending, now: dt.datetime) -> float:
    """Return how long a publication is pending; for ever if nobody can tell by the time in its row."""
    since = moment_of(pending.since)
    return math.inf if since is None or _is_ahead(since, now) else (now - since) / dt.timedelta(hours=1)


def _is_ahead(since: dt.datetime, now: dt.datetime) -> bool:
    """Whether a clock was wrong when the publication began, or is now: it would be told of only once that time came."""
    return since - now > CLOCKS_DIFFER


def _alert(pending: Pending, now: dt.datetime) -> Alert:
    since = moment_of(pending.since)
    ahead = since is not None and _is_ahead(since, now)
    told = moment_words(pending.since) + (
        ", which is later than now, as a clock ran ahead or is behind" if ahead else ""
    )
    happened = (
        f"its publication is pending since {told}, and no run has ended it; if its run does "
        f"not go on, end it where the workers run, with its shares mounted, by "
        f"`airflow-anon settle {pending.job}/{pending.release_id}`"
    )
    text = f"Job {pending.job}, release {pending.release_id} (DAG {pending.dag_id}, run {pending.run_id}): {happened}"
    return Alert("pending", text, f"release {pending.release_id}: {happened}", pending.job)
