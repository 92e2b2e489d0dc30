"""Gives up a share that is gone for good: a folder, an object store, or a table.

In: a ledger and a share that nobody can reach any more, or that is empty, or that was made anew and has newer releases
alone. Out: an entry `given-up` of each job that has lost releases there, by which checks, recalls and unfinished
publications go on without these. What can be reached and is there is not given up, so that this hides no change and no
release that could still be taken out.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.ledger.entry import FORMAT, GIVEN_UP, Entry
from airflow_anon.ledger.given_up import MADE_ANEW, given_up
from airflow_anon.ledger.named_share import NamedShare, shares_of
from airflow_anon.publication.errors import ledger_errors, noted, raise_all
from airflow_anon.publication.settle import settle_and_record
from airflow_anon.publication.words import refuse_words
from airflow_anon.share.folder_share import local_path
from airflow_anon.transport.object_store import StoreError, is_in_store, listed

if TYPE_CHECKING:
    from airflow_anon.ledger import Ledger, Pending

UMASK = 0o022
"""Of a share in which nothing is made but the link to a release that is there."""
NOT_THERE = (errno.ENOENT, errno.ENOTDIR)


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What was found of a job in a share: in words, and the ids of the releases that are lost there."""

    words: str
    lost: Sequence[str]


class _NothingLost(AirflowFailException):
    """What a share has lost of a job cannot be given up, or it has lost nothing."""


def share_at(path: str) -> NamedShare:
    """Give a share in a folder or a store, written as in the ledger.

    Raises
    ------
    AirflowFailException
        It is neither.
    """
    if is_in_store(path):
        return NamedShare(path=path.rstrip("/"))
    return NamedShare(path=str(local_path(path, "share").absolute()))


def give_up(
    ledger: Ledger,
    share: NamedShare,
    *,
    by: str,
    why: str,
    log: Logger,
    recorded: Callable[[Entry], None] | None = None,
) -> list[Entry]:
    """Record that a share is gone for good, and settle the publications that waited for it.

    Of a share that can be read and has newer releases, those are given up that were released into it and are not in it
    any more. Repeated, it records what has come since, if there is anything, and settles what is pending still.

    Parameters
    ----------
    by, why : str
        Who gives it up, and the reason, as the ledger keeps them.
    recorded : callable, optional
        Called with each entry as soon as it is written, since what follows may fail.

    Returns
    -------
    list of Entry
        The new entries, one for each job; none if all was given up before.

    Raises
    ------
    AirflowFailException
        The ledger has no release there, the reason or the name is empty or too long, all of it can be reached there, or
        something may not be read: then nothing is recorded of any job.
    AirflowException
        The ledger failed, or a publication could not be settled; repeat it.
    """
    refuse_words(by=by, why=why)
    told = _told(ledger, share)
    found = _all_found(ledger, share, told)
    made = []
    for job, of_job in found.items():
        lost = {name: told[job][name] for name in of_job.lost}
        entry = _recorded(ledger, share, job, lost, {"found": of_job.words, "by": by, "why": why})
        if entry is not None:
            made.append(entry)
            if recorded is not None:
                recorded(entry)
    problems: list[AirflowException] = []
    for pending in _pending(ledger, share):
        if pending.job in found and pending.release_id in found[pending.job].lost:
            with noted(problems):
                _settle(pending, ledger, share, log)
    raise_all(problems)
    return made


def _all_found(
    ledger: Ledger, share: NamedShare, told: Mapping[str, Mapping[str, Entry | Pending]]
) -> dict[str, _Found]:
    """Look for each job in a share; without those that have lost nothing there.

    Raises
    ------
    AirflowFailException
        None has lost anything there, or something may not be read.
    """
    found, there = {}, []
    for job, releases in told.items():
        try:
            found[job] = _found(ledger, share, job, releases)
        except _NothingLost as problem:  # noqa: PERF203 (another job may have lost something)
            there.append(problem)
    if not found:
        raise there[0]
    return found


def _told(ledger: Ledger, share: NamedShare) -> dict[str, dict[str, Entry | Pending]]:
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
            places.update(one.words for one in shares_of(publication).values())
            if share.places_of(publication):
                found.setdefault(entry.job, {})[str(entry.release_id)] = entry
    for pending in _pending(ledger, share):
        found.setdefault(pending.job, {})[pending.release_id] = pending
    if not found:
        known = ", ".join(sorted(places)) or "none"
        raise AirflowFailException(f"{share.words}: the ledger has no release there; it has releases in: {known}")
    return found


def _pending(ledger: Ledger, share: NamedShare) -> list[Pending]:
    with ledger_errors():
        return [one for one in ledger.pending() if share.places_of(one.document.get("publication"))]


def _not_given_up(ledger: Ledger, share: NamedShare, job: str, releases: Mapping[str, Any]) -> dict[str, Any]:
    with ledger_errors():
        before = {name for one in given_up(ledger, job) if one.share == share.words for name in one.told.releases}
    return {name: one for name, one in releases.items() if name not in before}


def _found(ledger: Ledger, share: NamedShare, job: str, releases: Mapping[str, Entry | Pending]) -> _Found:
    """Return what a share has lost of a job.

    Raises
    ------
    _NothingLost
        Nothing that could be given up.
    AirflowFailException
        It may not be read.
    """
    if share.path is None:
        return _found_of_table(share, releases)
    place = f"{share.path.rstrip('/')}/{job}"
    if is_in_store(place):
        try:
            names: Sequence[str] = list(listed(place))
        except StoreError as problem:
            return _Found(words=str(problem.strerror), lost=list(releases))
    else:
        try:
            names = [path.name for path in Path(place).iterdir()]
        except OSError as problem:
            if isinstance(problem, PermissionError):
                raise AirflowFailException(
                    f"{place}: is there, and who runs this may not read it; run it as the user of the workers"
                ) from None
            words = "is not there" if problem.errno in NOT_THERE else str(problem.strerror)
            return _Found(words=words, lost=list(releases))
    if not names:
        return _Found(words="can be reached, and is empty", lost=list(releases))
    return _found_beside_newer(ledger, place, job, releases, names)


def _found_beside_newer(
    ledger: Ledger, place: str, job: str, releases: Mapping[str, Entry | Pending], names: Sequence[str]
) -> _Found:
    """Return the releases that a share with newer ones has lost; a folder with one in its name counts as that one.

    What was recalled or removed was taken out rightly, and an unfinished publication is settled by its job.

    Raises
    ------
    _NothingLost
        Nothing, or it has no release that is newer than all that it has lost.
    """
    from airflow_anon.ledger.standing import WITHDRAWN, standings  # noqa: PLC0415 (heavy imports belong into execute)

    with ledger_errors():
        became = standings(ledger.of_job(job))
    expected = {
        name for name, one in releases.items() if isinstance(one, Entry) and became.get(one.sequence) not in WITHDRAWN
    }
    there = {name for name in expected if any(name in text for text in names)}
    lost = sorted(expected - there)
    if not lost:
        raise _reachable(place)
    if lost[-1] > max(there, default=""):
        raise _NothingLost(
            f"{place}: can be reached and is not empty, and has no release that is newer than {lost[-1]}, which it "
            "lacks: readers there are led to an older one, or to none; publish the next release there, then repeat this"
        )
    return _Found(words=MADE_ANEW, lost=lost)


def _found_of_table(share: NamedShare, releases: Mapping[str, Any]) -> _Found:
    from airflow_anon.ledger.table_check import TableRefused, TableUnreachable, read_table  # noqa: PLC0415 (heavy imports)

    try:
        table = read_table(str(share.conn_id), str(share.table), None)
    except TableRefused as problem:
        raise _NothingLost(
            f"{share.words}: its database answers, so it is not given up; it is not read: {problem}"
        ) from None
    except TableUnreachable as problem:
        return _Found(words=f"its database cannot be reached ({problem.kind})", lost=list(releases))
    if table is not None:
        raise _reachable(share.words)
    return _Found(words="its database can be reached, and has no such table", lost=list(releases))


def _reachable(place: str) -> _NothingLost:
    return _NothingLost(
        f"{place}: can be reached and is not empty, so it is not given up; take releases out of it by `airflow-anon "
        "recall`, and compare it by `airflow-anon ledger verify --files`"
    )


def _recorded(
    ledger: Ledger, share: NamedShare, job: str, lost: Mapping[str, Entry | Pending], told: Mapping[str, str]
) -> Entry | None:
    """Write the entry of what a job has lost in a share; None if all of it was given up before, or is just now."""
    run_id = f"{GIVEN_UP}__{job}__{hashlib.sha256(share.words.encode()).hexdigest()[:12]}"
    while True:
        # Counted before what is given up is read: of two commands at once both then write the same entry, so one does.
        with ledger_errors():
            earlier = sum(one.run_id == run_id for one in ledger.of_job(job, outcome=GIVEN_UP))
        new = _not_given_up(ledger, share, job, lost)
        if not new:
            return None
        document = _document(ledger, share, job, new, told, run_id=run_id, attempt=earlier + 1)
        with ledger_errors():
            entry = ledger.append(document)
            if ledger.document(entry.sequence)["given_up"] == document["given_up"]:
                return entry


def _document(
    ledger: Ledger,
    share: NamedShare,
    job: str,
    releases: Mapping[str, Entry | Pending],
    told: Mapping[str, str],
    *,
    run_id: str,
    attempt: int,
) -> dict[str, Any]:
    """Return the document of an entry: of no attempt, so its run is named after the job and a hash of the share."""
    from airflow_anon.ledger import form, form_parts, form_publication  # noqa: PLC0415 (heavy imports belong into execute)

    newest = releases[max(releases)]
    with ledger_errors():
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
                attempt=attempt,
            ),
            job=form_parts.WrittenJob(sha256=None if of_release is None else of_release.job.sha256),
            smallest_class_allowed=None if of_release is None else of_release.smallest_class_allowed,
            given_up=form_publication.GivenUpShare(
                path=share.path, conn_id=share.conn_id, table=share.table, releases=sorted(releases), **told
            ),
        ).stored()


def _settle(pending: Pending, ledger: Ledger, share: NamedShare, log: Logger) -> None:
    """End a publication that waited for the share: no try completes it there."""
    entry = settle_and_record(pending, ledger, UMASK, "the publication was cut off, and a share of it given up")
    if entry.outcome == "released":
        log.info(
            "Release %s of %s is complete without %s (entry %d)",
            entry.release_id,
            pending.job,
            share.words,
            entry.sequence,
        )
        return
    log.info("The publication of release %s of %s is taken back", pending.release_id, pending.job)
