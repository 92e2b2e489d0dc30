"""Settles an interrupted publication that will not be retried.

In: its pending row in the ledger. Out: its entry, if the release is complete, or no trace of it. The row is revoked
first, so a process that is still publishing can no longer change anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.publication.errors import ledger_errors, table_errors
from airflow_anon.share.folder_share import FolderShare, share_of
from airflow_anon.share.sql_share import SqlShare
from engine import VerificationFailed, check_manifest

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
    misplaced = folder is not None and Path(folder).parts[-2:] != (pending.job, pending.release_id)
    if not pending.document or misplaced:
        raise AirflowFailException(
            f"release {pending.release_id} of {pending.job}: its pending row in the ledger was changed; run "
            f"`airflow-anon ledger verify`, and restore the ledger"
        )
    # From here on no other process can change the publication, so the following checks stay true.
    with ledger_errors():
        if not ledger.revoke(pending):
            return ledger.released(pending.job, pending.release_id)
    document = _whole(pending, umask)
    if document is None:
        _take_back(pending, ledger, umask)
        return None
    with ledger_errors():
        entry = ledger.complete_revoked(pending, document)
    lead_readers_to(document, ledger, umask)
    return entry


def _whole(pending: Pending, umask: int) -> dict[str, Any] | None:
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
    is_whole = folder is None or _is_release(Path(folder), pending.manifest_sha256, umask)
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
    share = folder and _share_and_id(Path(folder), umask)[0]
    with ledger_errors(), ledger.taking_back(pending) as there:
        if there and share and share.holds(pending.release_id):
            share.hide(pending.release_id)
    if share:
        share.remove_leftovers(pending.release_id)


def remove_leftovers(job: Job, release_id: str, umask: int) -> None:
    """Remove the hidden leftovers of a killed publication.

    Raises
    ------
    AirflowException
        The database of the share failed.
    """
    output = job.output
    if output.path is not None:
        share_of(output.path, job.name, umask).remove_leftovers(release_id)
    if output.conn_id is not None:
        with table_errors(output.conn_id, output.table) as hook:
            SqlShare(hook, output.table).remove_leftovers(release_id)


def hidden_leftovers(job: Job, umask: int) -> set[str]:
    """Return the ids of releases with hidden files in the job's share folder."""
    if job.output.path is None:
        return set()
    return share_of(job.output.path, job.name, umask).leftovers()


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
        share, release_id = _share_and_id(Path(folder), umask)
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


def _share_and_id(place: Path, umask: int) -> tuple[FolderShare, str]:
    """Return the share that a release's folder is in, and its id."""
    return FolderShare(share=place.parent.parent, name=place.parent.name, umask=umask), place.name


def _is_release(folder: Path, manifest_sha256: str, umask: int) -> bool:
    """Whether a folder of the share is the release of that manifest, with all its files."""
    share, release_id = _share_and_id(folder, umask)
    if not share.holds(release_id) or folder.is_symlink():
        return False
    try:
        check_manifest(folder, manifest_sha256)
    except VerificationFailed:
        return False
    except OSError as problem:
        raise AirflowException(f"{folder}: cannot be read ({problem.strerror})") from None
    return True
