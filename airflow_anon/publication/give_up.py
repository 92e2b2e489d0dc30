"""Gives up a share that is gone for good: a folder, an object store, or a table.

In: a ledger and a share that nobody can reach any more, or that is empty. Out: an entry `given-up` of each job that has
releases there, by which checks, recalls and unfinished publications go on without these; then no publication waits for
it. What can be reached is not given up, so that this hides no change and no release that could still be taken out.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.ledger.entry import FORMAT, GIVEN_UP
from airflow_anon.ledger.released_places import places_of
from airflow_anon.publication.errors import ledger_errors, noted, raise_all
from airflow_anon.publication.settle import settle
from airflow_anon.publication.words import refuse_words
from airflow_anon.share.folder_share import local_path
from airflow_anon.transport.address import parent_of
from airflow_anon.transport.object_store import StoreError, is_in_store, listed

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger, Pending

UMASK = 0o022
"""Of a share in which nothing is made but the link to a release that is there."""
NOT_THERE = (errno.ENOENT, errno.ENOTDIR)


@dataclass(frozen=True, kw_only=True)
class LostShare:
    """A share as the operator names it: by `path`, or by `conn_id` and `table`."""

    path: str | None = None
    conn_id: str | None = None
    table: str | None = None

    @classmethod
    def at(cls, path: str) -> LostShare:
        """Give a share in a folder or a store, written as in the ledger."""
        if is_in_store(path):
            return cls(path=path.rstrip("/"))
        return cls(path=str(local_path(path, "share").absolute()))

    @property
    def words(self) -> str:
        """The share in words."""
        from airflow_anon.ledger.given_up import share_words  # noqa: PLC0415 (heavy imports belong into execute)

        return share_words(self.path, self.conn_id, self.table)

    def has(self, publication: Mapping[str, Any]) -> bool:
        """Whether a release is in it, as its document says."""
        table = publication.get("table")
        if self.path is None:
            return isinstance(table, Mapping) and (table.get("conn_id"), table.get("table")) == (
                self.conn_id,
                self.table,
            )
        return any(parent_of(parent_of(place)) == self.path for place in places_of(publication))


def give_up(ledger: Ledger, share: LostShare, *, by: str, why: str, log: Logger) -> list[Entry]:
    """Record that a share is gone for good, and settle the publications that waited for it.

    Repeated, it records the releases that have come since, if there are any, and settles what is pending still.

    Parameters
    ----------
    by, why : str
        Who gives it up, and the reason, as the ledger keeps them.

    Returns
    -------
    list of Entry
        The new entries, one for each job; none if all was given up before.

    Raises
    ------
    AirflowFailException
        The ledger has no release there, the reason or the name is empty or too long, or something of a job can be
        reached there: then nothing is recorded of any job.
    AirflowException
        The ledger failed, or a publication could not be settled; repeat it.
    """
    refuse_words(by=by, why=why)
    told = _told(ledger, share)
    found = {job: _found(share, job) for job in told}
    made = []
    for job, releases in told.items():
        new = _not_given_up(ledger, share, job, releases)
        if new:
            with ledger_errors():
                made.append(
                    ledger.append(_document(ledger, share, job, new, {"found": found[job], "by": by, "why": why}))
                )
            log.info("%s of %s is given up (entry %d)", share.words, job, made[-1].sequence)
    problems: list[AirflowException] = []
    for pending in _pending(ledger, share):
        with noted(problems):
            _settle(pending, ledger, share, log)
    raise_all(problems)
    return made


def _told(ledger: Ledger, share: LostShare) -> dict[str, dict[str, Entry | Pending]]:
    """Return the releases in a share by job and id, and the publications that have begun there.

    Raises
    ------
    AirflowFailException
        There are none.
    """
    from airflow_anon.ledger.errors import LedgerError, LedgerUnreachable  # noqa: PLC0415 (heavy imports)

    found: dict[str, dict[str, Entry | Pending]] = {}
    places: set[str] = set()
    with ledger_errors():
        for entry in reversed(ledger.entries()):
            if entry.outcome != "released":
                continue
            try:
                publication = ledger.document(entry.sequence).get("publication") or {}
            except LedgerUnreachable:
                raise
            except LedgerError:
                continue  # the check of the ledger reports it
            places.update(_shares_in(publication))
            if share.has(publication):
                found.setdefault(entry.job, {})[str(entry.release_id)] = entry
    for pending in _pending(ledger, share):
        found.setdefault(pending.job, {})[pending.release_id] = pending
    if not found:
        known = ", ".join(sorted(places)) or "none"
        raise AirflowFailException(f"{share.words}: the ledger has no release there; it has releases in: {known}")
    return found


def _shares_in(publication: Mapping[str, Any]) -> list[str]:
    table = publication.get("table")
    tables = [] if not table else [LostShare(conn_id=table.get("conn_id"), table=table.get("table")).words]
    return [*(parent_of(parent_of(place)) for place in places_of(publication)), *tables]


def _pending(ledger: Ledger, share: LostShare) -> list[Pending]:
    with ledger_errors():
        return [one for one in ledger.pending() if share.has(one.document.get("publication") or {})]


def _not_given_up(ledger: Ledger, share: LostShare, job: str, releases: Mapping[str, Any]) -> dict[str, Any]:
    from airflow_anon.ledger.given_up import given_up  # noqa: PLC0415 (heavy imports belong into execute)

    with ledger_errors():
        before = {name for one in given_up(ledger, job) if one.share == share.words for name in one.told.releases}
    return {name: one for name, one in releases.items() if name not in before}


def _found(share: LostShare, job: str) -> str:
    """Return in words why nothing of a job can be reached in a share.

    Raises
    ------
    AirflowFailException
        Something of it can be reached.
    """
    if share.path is None:
        return _found_of_table(share)
    place = f"{share.path.rstrip('/')}/{job}"
    if is_in_store(place):
        try:
            names: Sequence[str] = list(listed(place))
        except StoreError as problem:
            return str(problem.strerror)
    else:
        try:
            names = [path.name for path in Path(place).iterdir()]
        except OSError as problem:
            if isinstance(problem, PermissionError):
                raise AirflowFailException(
                    f"{place}: is there, and who runs this may not read it; run it as the user of the workers"
                ) from None
            return "is not there" if problem.errno in NOT_THERE else str(problem.strerror)
    if names:
        raise _reachable(place)
    return "can be reached, and is empty"


def _found_of_table(share: LostShare) -> str:
    from airflow_anon.ledger.table_check import TableUnreachable, read_table  # noqa: PLC0415 (heavy imports)

    try:
        table = read_table(str(share.conn_id), str(share.table), None)
    except TableUnreachable as problem:
        return f"its database cannot be reached ({problem})"
    if table is not None:
        raise _reachable(share.words)
    return "its database can be reached, and has no such table"


def _reachable(place: str) -> AirflowFailException:
    return AirflowFailException(
        f"{place}: can be reached and is not empty, so it is not given up; take releases out of it by `airflow-anon "
        "recall`, and compare it by `airflow-anon ledger verify --files`"
    )


def _document(
    ledger: Ledger, share: LostShare, job: str, releases: Mapping[str, Entry | Pending], told: Mapping[str, str]
) -> dict[str, Any]:
    """Return the document of an entry: of no attempt, so its run is named after the job and a hash of the share."""
    from airflow_anon.ledger import form, form_parts  # noqa: PLC0415 (heavy imports belong into execute)

    run_id = f"{GIVEN_UP}__{job}__{hashlib.sha256(share.words.encode()).hexdigest()[:12]}"
    newest = releases[max(releases)]
    with ledger_errors():
        earlier = len(ledger.of_run(newest.dag_id, run_id))
        known = ledger.document(newest.sequence) if hasattr(newest, "sequence") else newest.document
    of_release = form.read(known)
    with ledger_errors(), form.writing():
        return form.Document(
            format=FORMAT,
            outcome=GIVEN_UP,
            name=job,
            run=form_parts.Run(
                dag_id=newest.dag_id,
                run_id=run_id,
                task_group="" if of_release is None else of_release.run.task_group,
                attempt=earlier + 1,
            ),
            job=form_parts.WrittenJob(sha256=None if of_release is None else of_release.job.sha256),
            smallest_class_allowed=None if of_release is None else of_release.smallest_class_allowed,
            given_up=form_parts.GivenUpShare(
                path=share.path, conn_id=share.conn_id, table=share.table, releases=sorted(releases), **told
            ),
        ).stored()


def _settle(pending: Pending, ledger: Ledger, share: LostShare, log: Logger) -> None:
    """End a publication that waited for the share: no try completes it there."""
    entry = settle(pending, ledger, UMASK)
    if entry is not None:
        log.info(
            "Release %s of %s is complete without %s (entry %d)",
            entry.release_id,
            pending.job,
            share.words,
            entry.sequence,
        )
        return
    log.info("The publication of release %s of %s is taken back", pending.release_id, pending.job)
    reason = {
        "task": f"{pending.document['run']['task_group']}publish",
        "error": "NotPublished",
        "message": "the publication was cut off, and a share of it given up",
    }
    with ledger_errors():
        ledger.append({**pending.document, "outcome": "failed", "publication": None, "reason": reason})
