"""The files of a release, and whether they are unchanged since the release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from airflow_anon.ledger.form_publication import File
from airflow_anon.plugin.page_forms.release import Files, ReleasedFile, Verdict
from airflow_anon.transport.object_store import is_in_store

if TYPE_CHECKING:
    from airflow_anon.ledger import FileState
    from airflow_anon.ledger.form import Document

AT_ONCE = 64 << 20
"""Bytes, of all files together, that are hashed when a page is opened; further files only on request."""
WORDS = {
    "matches": "Unchanged: SHA-256 is as released",
    "same-size": "Size as released; too large to hash at once",
    "changed": "Changed after the release",
    "missing": "Missing",
    "added": "Added after the release",
    "unreachable": "The share cannot be reached from here",
}
HARMS = ("changed", "missing", "added")


def files(document: Document, *, hash_up_to: int | None = AT_ONCE) -> Files | None:
    """Compare a release with its files in the share; None if nothing was published to a folder.

    The verdict is "sizes" if some files were too large to hash at once.

    Parameters
    ----------
    hash_up_to : int or None
        Bytes to hash, of all files together; None to hash all.
    """
    publication = document.publication
    if publication is None or not publication.folder:
        return None
    known = publication.files or {}
    rows = [_row(one, known.get(one.name.rpartition("/")[2], File())) for one in _states(document, hash_up_to)]
    return {"verdict": _verdict([one["state"] for one in rows]), "files": rows}


def _row(found: FileState, known: File) -> ReleasedFile:
    # An equal size proves little, so it is a separate state.
    state = "same-size" if found.state == "matches" and not found.hashed else found.state
    return {"name": found.name, "bytes": known.bytes, "sha256": found.sha256, "state": state, "words": WORDS[state]}


def _states(document: Document, hash_up_to: int | None) -> list[FileState]:
    from airflow_anon.ledger import check_files  # noqa: PLC0415 (only where there are files)

    return check_files(document.stored(), hash_up_to=hash_up_to)


def _verdict(states: list[str]) -> Verdict:
    if any(state in HARMS for state in states):
        return "changed"
    if "unreachable" in states:
        return "unreachable"
    return "sizes" if "same-size" in states else "intact"


def folder_of(document: Document) -> Path | None:
    """Return the folder of a job's releases, from one of them; None without one in a file system."""
    folder = document.publication and document.publication.folder
    if folder and is_in_store(folder):
        return None
    return Path(folder.removeprefix("file://")).parent if folder else None
