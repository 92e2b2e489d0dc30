"""Settles an interrupted publication that will not be retried.

In: its pending row in the ledger. Out: its entry, if the release is complete, or no trace of it. The row is revoked
first, so a process that is still publishing can no longer change anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.ledger.released_places import places_of
from airflow_anon.publication.errors import ledger_errors, noted, raise_all, table_errors
from airflow_anon.publication.places import is_place_of, share_at, shares_of
from airflow_anon.share.sql_share import SqlShare

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger, Pending
    from airflow_anon.publication.places import Share
    from engine import Job


def settle(pending: Pending, ledger: Ledger, umask: int) -> Entry | None:
    """End a publication that no try will complete: record it if it is complete, else take it back.

    Whoever calls this writes the entry of an attempt without a release; for others there is `settle_and_record`.

    Returns
    -------
    Entry or None
        The entry of a complete release; None if nothing of it exists now.

    Raises
    ------
    AirflowFailException
        The table of the share has the release, but a folder of it is missing: this cannot be taken back.
    AirflowException
        A database failed; a retry continues.
    """
    return _settled(pending, ledger, umask, None)


def settle_and_record(pending: Pending, ledger: Ledger, umask: int, message: str) -> Entry:
    """Do the same, and write the entry of an attempt whose publication is taken back: it failed.

    Parameters
    ----------
    message : str
        Why, for that entry.

    Returns
    -------
    Entry
        That of a complete release, else that of the attempt.

    Raises
    ------
    AirflowException
        As of `settle`.
    """
    entry = _settled(pending, ledger, umask, message)
    assert entry is not None  # noqa: S101 (one of the two is written)
    return entry


def _settled(pending: Pending, ledger: Ledger, umask: int, message: str | None) -> Entry | None:
    places = places_of(pending.document.get("publication"))
    misplaced = not all(is_place_of(place, pending.job, pending.release_id) for place in places)
    if not pending.document or misplaced:
        raise AirflowFailException(
            f"release {pending.release_id} of {pending.job}: its pending row in the ledger was changed; run "
            f"`airflow-anon ledger verify`, and restore the ledger"
        )
    failed = None if message is None else _failed(pending, message)
    # From here on no other process can change the publication, so the following checks stay true.
    with ledger_errors():
        if not ledger.revoke(pending):
            # another process has ended it
            return ledger.taken_back(pending, failed)
    document = _whole(pending, ledger, umask)
    if document is None:
        return _take_back(pending, ledger, umask, failed)
    with ledger_errors():
        entry = ledger.complete_revoked(pending, document)
    lead_readers_to(document, ledger, umask)
    return entry


def _failed(pending: Pending, message: str) -> dict[str, Any]:
    """Return the document of an attempt whose publication is taken back."""
    task = f"{pending.document['run']['task_group']}publish"
    reason = {"task": task, "error": "NotPublished", "message": message}
    return {**pending.document, "outcome": "failed", "publication": None, "reason": reason}


def _whole(pending: Pending, ledger: Ledger, umask: int) -> dict[str, Any] | None:
    """Return the document of a complete publication, None if it must be taken back.

    A share that was given up is not waited for. The document names it all the same: the release may lie there.

    Raises
    ------
    AirflowFailException
        As `settle`.
    AirflowException
        The share cannot be read.
    """
    publication = _left(pending.document, ledger)
    places, table = places_of(publication), publication["table"]
    is_whole = bool(places or table) and all(
        _is_release(place, pending.manifest_sha256, ledger, umask) for place in places
    )
    held = _held(pending, table)
    if is_whole and held == "this":
        return pending.document
    if is_whole and held == "newer" and places:
        return without_table(pending.document)
    if table is not None and held == "this":
        raise AirflowFailException(
            f"release {pending.release_id} of {pending.job}: table {table['table']} of {table['conn_id']!r} holds it, "
            f"but a folder of it in a share is gone or changed; load an earlier release, or trigger a new run"
        )
    return None


def _left(document: Mapping[str, Any], ledger: Ledger) -> Mapping[str, Any]:
    """Return where a release is to be, without the places that were given up and are empty."""
    from airflow_anon.ledger.given_up import given_up, left_of  # noqa: PLC0415 (heavy imports belong into execute)

    with ledger_errors():
        left: Mapping[str, Any] = left_of(given_up(ledger, document["name"]), document)["publication"]
    return left


def _take_back(pending: Pending, ledger: Ledger, umask: int, failed: dict[str, Any] | None) -> Entry | None:
    """Remove the files of a revoked publication from every share, unless another process has done so.

    Its row is removed last, with the entry of the attempt in the same transaction: whoever is cut off before leaves the
    row, and by it the next one does what is missing.

    Parameters
    ----------
    failed : dict, optional
        The document of the attempt.

    Raises
    ------
    AirflowException
        A share cannot be written: the others are without the release. The pending row stays for the next try, unless
        the release is hidden everywhere; then the next publication of the job removes what is hidden.
    """
    shares = [share_at(place, umask, ledger)[0] for place in places_of(_left(pending.document, ledger))]
    with ledger_errors(), ledger.taking_back(pending) as there:
        _of_all(partial(_hidden, share, pending.release_id) for share in (shares if there else ()))
    problems: list[AirflowException] = []
    for share in shares:
        with noted(problems):
            share.remove_leftovers(pending.release_id)
    with ledger_errors():
        entry = ledger.taken_back(pending, failed)
    raise_all(problems)
    return entry


def _hidden(share: Share, release_id: str) -> None:
    if share.holds(release_id):
        share.hide(release_id)


def _of_all(steps: Iterable[Callable[[], None]]) -> None:
    """Do one step for each share, of the others also where one fails.

    Raises
    ------
    AirflowException
        The first problem, once all have been tried; of a file system in our own words.
    """
    problems: list[AirflowException] = []
    for step in steps:
        with noted(problems):
            step()
    if problems:
        raise problems[0]


def remove_leftovers(job: Job, release_id: str, ledger: Ledger, umask: int) -> None:
    """Remove the hidden leftovers of a killed publication.

    Raises
    ------
    AirflowException
        The database of the share failed.
    """
    output = job.output
    for share in shares_of(job, umask, ledger):
        share.remove_leftovers(release_id)
    if output.conn_id is not None:
        with table_errors(output.conn_id, output.table) as hook:
            SqlShare(hook, output.table, made_inside=job.backend == "sql").remove_leftovers(release_id)


def tables_left(job: Job) -> Callable[[str], bool] | None:
    """Return what tells of a release id whether a table of it waits in the job's SQL share, or was left there.

    Raises
    ------
    AirflowException
        The database of the share failed.
    """
    output = job.output
    if output.conn_id is None:
        return None
    with table_errors(output.conn_id, output.table) as hook:
        return SqlShare(hook, output.table, made_inside=job.backend == "sql").leftovers()


def hidden_leftovers(job: Job, ledger: Ledger, umask: int) -> set[str]:
    """Return the ids of releases that readers do not get, and that have files in the job's share folder."""
    return set().union(*(share.leftovers() for share in shares_of(job, umask, ledger)))


def lead_readers_to(document: Mapping[str, Any], ledger: Ledger, umask: int) -> None:
    """Make a release with an entry the current one of its shares, unless a newer one is current.

    Raises
    ------
    AirflowFailException
        The release is no longer in a share, or was changed; readers of the others are led to it all the same.
    AirflowException
        The ledger's database, or a share, failed; readers of the others are led to it all the same.
    """
    _of_all(partial(_lead, place, ledger, umask) for place in places_of(_left(document, ledger)))


def _lead(place: str, ledger: Ledger, umask: int) -> None:
    """Make a release the current one of one share."""
    share, release_id = share_at(place, umask, ledger)
    with ledger_errors():
        if ledger.withdrawal(share.name, release_id) is not None:
            return
    # of a share that is not mounted nobody is to blame, and a retry may find it
    if not share.holds(release_id) or share.published(release_id) is None:
        raise AirflowFailException(
            f"release {release_id} of {share.name}: has its entry in the ledger and is no longer in the share; "
            f"find out who changed the share, and trigger a new run"
        )
    with ledger_errors(), ledger.alone():
        share.make_current(release_id)


def without_table(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a release that is only in a folder."""
    return {**document, "publication": {**document["publication"], "table": None}}


def _held(pending: Pending, table: Mapping[str, Any] | None) -> str:
    """Return which release the table of the share has: `this`, a `newer` one, or an `older` one or none."""
    if table is None:
        return "this"
    with table_errors(table["conn_id"], table["table"]) as hook:
        share = SqlShare(hook, table["table"], made_inside=None)
        if share.manifest_of(pending.release_id) == pending.manifest_sha256:
            return "this"
        newest = share.newest()
    return "newer" if newest is not None and newest > pending.release_id else "older"


def _is_release(place: str, manifest_sha256: str, ledger: Ledger, umask: int) -> bool:
    """Whether a place in a share has the release of that manifest, with all its files."""
    share, release_id = share_at(place, umask, ledger)
    return share.is_whole(release_id, manifest_sha256)
