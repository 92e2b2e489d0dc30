"""The files of a release, and whether they are still what was released."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_anon.ledger import FileState

AT_ONCE = 64 << 20
"""Bytes, of all files together, that are hashed whenever a page is opened; what is beyond only on demand."""
WORDS = {
    "matches": "Unchanged: SHA-256 is as released",
    "same-size": "Size as released; too large to hash at once",
    "changed": "Changed after the release",
    "missing": "Missing",
    "added": "Added after the release",
    "unreachable": "The share cannot be reached from here",
}
HARMS = ("changed", "missing", "added")


def files(document: Mapping[str, Any], *, all_files: bool) -> dict[str, Any] | None:
    """Compare a release with what stands in the share; None where nothing was published to a folder.

    Returns
    -------
    dict
        `verdict`: "intact", "changed", "unreachable" or "sizes" (some files were too large to hash at once); `files`:
        `name`, `bytes`, `sha256`, `state` and `words`.
    """
    publication = document.get("publication")
    if not isinstance(publication, Mapping) or not publication.get("folder"):
        return None
    told = publication["files"] if isinstance(publication.get("files"), Mapping) else {}
    rows = [_row(one, told.get(one.name)) for one in _states(document, all_files=all_files)]
    return {"verdict": _verdict([one["state"] for one in rows]), "files": rows}


def _row(found: FileState, told: Any) -> dict[str, Any]:
    # A size alone proves little, so it is a state of its own.
    state = "same-size" if found.state == "matches" and not found.hashed else found.state
    size = told.get("bytes") if isinstance(told, Mapping) else None
    return {"name": found.name, "bytes": size, "sha256": found.sha256, "state": state, "words": WORDS[state]}


def _states(document: Mapping[str, Any], *, all_files: bool) -> list[FileState]:
    from airflow_anon.ledger import check_files  # noqa: PLC0415 (only where there are files)

    return check_files(document, hash_up_to=None if all_files else AT_ONCE)


def _verdict(states: list[str]) -> str:
    if any(state in HARMS for state in states):
        return "changed"
    if "unreachable" in states:
        return "unreachable"
    return "sizes" if "same-size" in states else "intact"


def folder_of(document: Mapping[str, Any]) -> Path | None:
    """Return the folder of the releases of a job, from one of them; None without a share folder."""
    publication = document.get("publication")
    folder = publication.get("folder") if isinstance(publication, Mapping) else None
    return Path(str(folder).removeprefix("file://")).parent if folder else None
