"""Compares a share with a ledger: finds releases without an entry, and entries whose release is gone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_anon.ledger.errors import LedgerError
from airflow_anon.ledger.given_up import given_up, left_of
from airflow_anon.ledger.manifest import is_manifest
from airflow_anon.ledger.released_places import places_of
from airflow_anon.ledger.standing import WITHDRAWN
from airflow_anon.transport.address import parent_of
from airflow_anon.transport.object_store import is_in_store
from airflow_anon.transport.release_files import MANIFEST
from engine import MOST_OF_A_MANIFEST, open_regular

if TYPE_CHECKING:
    from airflow_anon.ledger.entry import Entry
    from airflow_anon.ledger.given_up import GivenUp
    from airflow_anon.ledger.store import Ledger


@dataclass(frozen=True, kw_only=True)
class Orphan:
    """A release that is only in the share or only in the ledger.

    Attributes
    ----------
    job, release_id : str
    sequence : int or None
        The entry whose release is gone; None for a release without an entry.
    dag_id : str or None
        The DAG of that entry.
    """

    job: str
    release_id: str
    sequence: int | None = None
    dag_id: str | None = None


def orphans(share_folder: str | Path, ledger: Ledger) -> list[Orphan]:
    """Compare the releases in a share with the entries of a ledger.

    Parameters
    ----------
    share_folder : path
        The folder of all jobs' releases, or its address in a store, with its connection as in the output of the jobs.

    Returns
    -------
    list of Orphan
        Folders with a manifest for which the ledger has neither an entry nor a pending publication, by job and release;
        then entries whose folder should be in this share but is not, oldest first; not those of releases that were
        recalled or removed, nor those of a share that was given up.

    Raises
    ------
    LedgerError
        The share cannot be read.
    """
    share = str(share_folder).rstrip("/") or "/"
    # The share is listed first: a release published after that has its entry and is not listed.
    present = _releases(share)
    unknown = _without_entry(present, ledger)
    entries = {(entry.job, str(entry.release_id)): entry for entry in ledger.entries() if entry.outcome == "released"}
    withdrawn = {(one.job, one.release_id) for one in ledger.entries() if one.outcome in WITHDRAWN}
    away = [entry for place, entry in entries.items() if place not in present and place not in withdrawn]
    lost = {job: given_up(ledger, job) for job in {entry.job for entry in away}}
    gone = [entry for entry in away if _belongs(share, entry, ledger, lost[entry.job])]
    return [
        *unknown,
        *(_gone(entry) for entry in sorted(gone, key=lambda entry: entry.sequence)),
    ]


def unknown_releases(ledger: Ledger) -> list[Orphan]:
    """Find releases without an entry in the shares of each job that the ledger knows.

    There are such where the ledger is another one than that of the publications, or was restored from an older backup.
    A share that cannot be read is left out: its files tell.
    """
    jobs: dict[str, set[str]] = {}
    for entry in ledger.entries():
        for place in _places(ledger, entry, ()) if entry.outcome == "released" else ():
            jobs.setdefault(parent_of(parent_of(place)), set()).add(entry.job)
    unknown: list[Orphan] = []
    for share, names in jobs.items():
        with suppress(LedgerError):
            found = {(job, release_id) for job, release_id in _releases(share) if job in names}
            unknown += [one for one in _without_entry(found, ledger) if one not in unknown]
    return unknown


def releases_of(share: str, job: str) -> set[str]:
    """Return the ids of the releases of a job in a share, whether or not the ledger knows them.

    Raises
    ------
    LedgerError
        The share cannot be read.
    """
    return {release_id for _, release_id in _releases(share, job)}


def _without_entry(present: Collection[tuple[str, str]], ledger: Ledger) -> list[Orphan]:
    """Return the releases, found in a share before, that have neither an entry nor a pending publication."""
    entries = {(entry.job, str(entry.release_id)) for entry in ledger.entries() if entry.outcome == "released"}
    pending = {(row.job, row.release_id) for row in ledger.pending()}
    # A release may have got its entry after the entries were read and before the pending rows were.
    unknown = sorted(one for one in {*present} - entries - pending if ledger.released(*one) is None)
    return [Orphan(job=job, release_id=release_id) for job, release_id in unknown]


def _releases(share: str, job: str | None = None) -> set[tuple[str, str]]:
    """Return job and release id of every folder that readers regard as a release, of one job or of all."""
    if is_in_store(share):
        from airflow_anon.ledger.store_check import releases_in  # noqa: PLC0415 (needs Airflow, which folders do not)

        return {one for one in releases_in(share) if job in {None, one[0]}}
    try:
        folders = Path(share).iterdir() if job is None else [Path(share) / job]
        jobs = [folder for folder in folders if folder.is_dir() and not folder.name.startswith(".")]
        return {(folder.name, release.name) for folder in jobs for release in folder.iterdir() if _is_release(release)}
    except OSError as problem:
        raise LedgerError(f"share {share}: cannot be read ({problem.strerror})") from None


def _is_release(folder: Path) -> bool:
    if folder.is_symlink() or folder.name.startswith(".") or not folder.is_dir():
        return False
    try:
        with open_regular(folder / MANIFEST) as file:
            return is_manifest(file.read(MOST_OF_A_MANIFEST))
    except OSError:
        return False


def _belongs(share: str, entry: Entry, ledger: Ledger, lost: Sequence[GivenUp]) -> bool:
    """Whether the release of an entry, which was not found, should be in this share."""
    return any(_is_lacking(share, place) for place in _places(ledger, entry, lost))


def _is_lacking(share: str, place: str) -> bool:
    if is_in_store(share) or is_in_store(place):
        return parent_of(parent_of(place)) == share
    folder = Path(place)
    return folder.parent.parent.resolve() == Path(share).resolve() and not folder.is_dir()


def _places(ledger: Ledger, entry: Entry, lost: Sequence[GivenUp]) -> list[str]:
    try:
        publication: Any = left_of(lost, ledger.document(entry.sequence))["publication"]
        return places_of(publication)
    except (LedgerError, KeyError, AttributeError):
        # The check of the ledger reports a document that cannot be read.
        return []


def _gone(entry: Entry) -> Orphan:
    return Orphan(job=entry.job, release_id=str(entry.release_id), sequence=entry.sequence, dag_id=entry.dag_id)
