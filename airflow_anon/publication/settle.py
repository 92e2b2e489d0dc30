"""Settles an interrupted publication that will not be retried.

In: its pending row in the ledger. Out: its entry, if the release is complete, or no trace of it. The row is revoked
first, so a process that is still publishing can no longer change anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.publication.errors import ledger_errors, table_errors
from airflow_anon.publication.places import is_place_of, share_at, share_of
from airflow_anon.share.sql_share import SqlShare

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger, Pending
    from engine import Job


def settle(pending: Pending, ledger: Ledger, umask: int) -> Entry | None:
    """End a publication that no try will complete: record it if it is complete, else take it back.

    Returns
    -------
    Entry or None
        The entry of a complete release; None if nothing of it exists now.

    Raises
    ------
    AirflowFailException
        The table of the share has the release, but its folder is missing: this cannot be taken back.
    AirflowException
        A database failed; a retry continues.
    """
    folder = (pending.document.get("publication") or {}).get("folder")
    misplaced = folder is not None and not is_place_of(folder, pending.job, pending.release_id)
    if not pending.document or misplaced:
        raise AirflowFailException(
            f"release {pending.release_id} of {pending.job}: its pending row in the ledger was changed; run "
            f"`airflow-anon ledger verify`, and restore the ledger"
        )
    # From here on no other process can change the publication, so the following checks stay true.
    with ledger_errors():
        if not ledger.revoke(pending):
            return ledger.released(pending.job, pending.release_id)
    document = _whole(pending, ledger, umask)
    if document is None:
        _take_back(pending, ledger, umask)
        return None
    with ledger_errors():
        entry = ledger.complete_revoked(pending, document)
    lead_readers_to(document, ledger, umask)
    return entry


def _whole(pending: Pending, ledger: Ledger, umask: int) -> dict[str, Any] | None:
    """Return the document of a complete publication, None if it must be taken back.

    Raises
    ------
    AirflowFailException
        As `settle`.
    AirflowException
        The share cannot be read.
    """
    publication = pending.document["publication"]
    folder, table = publication["folder"], publication["table"]
    is_whole = folder is None or _is_release(folder, pending.manifest_sha256, ledger, umask)
    held = _held(pending, table)
    if is_whole and held == "this":
        return pending.document
    if is_whole and held == "newer" and folder is not None:
        return without_table(pending.document)
    if table is not None and held == "this":
        raise AirflowFailException(
            f"release {pending.release_id} of {pending.job}: table {table['table']} of {table['conn_id']!r} holds it, "
            f"but its folder in the share is gone or changed; load an earlier release, or trigger a new run"
        )
    return None


def _take_back(pending: Pending, ledger: Ledger, umask: int) -> None:
    """Remove the files of a revoked publication, unless another process has done so."""
    folder = pending.document["publication"]["folder"]
    share = folder and share_at(folder, umask, ledger)[0]
    with ledger_errors(), ledger.taking_back(pending) as there:
        if there and share and share.holds(pending.release_id):
            share.hide(pending.release_id)
    if share:
        share.remove_leftovers(pending.release_id)


def remove_leftovers(job: Job, release_id: str, ledger: Ledger, umask: int) -> None:
    """Remove the hidden leftovers of a killed publication.

    Raises
    ------
    AirflowException
        The database of the share failed.
    """
    output = job.output
    if output.path is not None:
        share_of(output.path, job.name, umask, ledger).remove_leftovers(release_id)
    if output.conn_id is not None:
        with table_errors(output.conn_id, output.table) as hook:
            SqlShare(hook, output.table).remove_leftovers(release_id)


def hidden_leftovers(job: Job, ledger: Ledger, umask: int) -> set[str]:
    """Return the ids of releases that readers do not get, and that have files in the job's share folder."""
    if job.output.path is None:
        return set()
    return share_of(job.output.path, job.name, umask, ledger).leftovers()


def lead_readers_to(document: Mapping[str, Any], ledger: Ledger, umask: int) -> None:
    """Make a release with an entry the current one of its share folder, unless a newer one is current.

    Raises
    ------
    AirflowFailException
        The release is no longer in the share, or was changed.
    AirflowException
        The ledger's database failed.
    """
    folder = document["publication"]["folder"]
    if folder is not None:
        share, release_id = share_at(folder, umask, ledger)
        with ledger_errors():
            if ledger.withdrawal(share.name, release_id) is not None:
                return
        if share.published(release_id) is None:
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
        share = SqlShare(hook, table["table"])
        if share.manifest_of(pending.release_id) == pending.manifest_sha256:
            return "this"
        newest = share.newest()
    return "newer" if newest is not None and newest > pending.release_id else "older"


def _is_release(place: str, manifest_sha256: str, ledger: Ledger, umask: int) -> bool:
    """Whether a place in a share has the release of that manifest, with all its files."""
    share, release_id = share_at(place, umask, ledger)
    return share.is_whole(release_id, manifest_sha256)
