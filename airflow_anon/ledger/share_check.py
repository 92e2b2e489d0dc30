"""Compares the files of a release in the share with its entry.

In: the document of a released entry. Out: one state per file. Files are read block by block; links are not followed,
so that a document cannot name a file outside its release's folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from airflow_anon.ledger.expected_file import ADDED, CHANGED, MATCHES, MISSING, UNREACHABLE, Expected
from airflow_anon.ledger.released_places import places_of
from airflow_anon.transport.object_store import is_in_store
from airflow_anon.transport.release_files import MANIFEST
from engine import open_regular

HARMS = (CHANGED, MISSING, ADDED)
"""States that somebody made after the release."""
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class FileState:
    """The state of one file of a release.

    Attributes
    ----------
    name : str
        Its name in the release's folder.
    sha256 : str or None
        Hash in the entry, hexadecimal; None for a file that the entry does not name.
    state : {"matches", "changed", "missing", "added", "unreachable"}
    hashed : bool
        Whether its content was hashed; otherwise only its size was compared.
    why : str or None
        Of a table that is unreachable, and of a link that leads elsewhere, why that may be, and what to do.
    """

    name: str
    sha256: str | None
    state: str
    hashed: bool = False
    why: str | None = None


def check_files(document: Mapping[str, Any], *, hash_up_to: int | None = None) -> list[FileState]:
    """Compare the folder of a release with its entry.

    Parameters
    ----------
    document : mapping
        The document of the entry.
    hash_up_to : int, optional
        Bytes to hash, of all files together, smallest first; of the other files only the size is compared. By default
        all files are hashed.

    Returns
    -------
    list of FileState
        The manifest first, the other files by name, then files that the entry does not name. Empty for an entry without
        a folder. If the folder is gone, its files are "missing" if the share exists, otherwise "unreachable". A folder
        may be an address in a store. Files in further shares follow, named by their place.
    """
    publication = document.get("publication")
    if not isinstance(publication, Mapping) or publication.get("folder") is None:
        return []
    expected = _expected(publication)
    first, *also = places_of(publication)
    further = [replace(one, name=f"{place}/{one.name}") for place in also for one in _in(place, expected, hash_up_to)]
    return [*_in(first, expected, hash_up_to), *further]


def _in(place: str, expected: Mapping[str, Expected], hash_up_to: int | None) -> list[FileState]:
    """Compare the files in one place."""
    if is_in_store(place):
        return _objects(place, expected, hash_up_to)
    folder = Path(place)
    try:
        present = _present(folder)
        gone = MISSING if folder.parent.is_dir() else UNREACHABLE
    except (OSError, ValueError):
        present, gone = None, UNREACHABLE
    if present is None:
        return [_state(name, entry, gone) for name, entry in expected.items()]
    hashed = _affordable(expected, hash_up_to)
    states = [
        _state(name, entry, _compared(folder, entry, name in hashed) if name in present else MISSING, name in hashed)
        for name, entry in expected.items()
    ]
    return states + [FileState(name=name, sha256=None, state=ADDED) for name in sorted(present - set(expected))]


def _objects(address: str, expected: Mapping[str, Expected], hash_up_to: int | None) -> list[FileState]:
    from airflow_anon.ledger.store_check import differing  # noqa: PLC0415 (needs Airflow, which folders do not)

    hashed = _affordable(expected, hash_up_to)
    return [
        _state(name, expected[name], state, name in hashed)
        if name in expected
        else FileState(name=name, sha256=None, state=state)
        for name, state in differing(address, expected.values(), hashed).items()
    ]


def _expected(publication: Mapping[str, Any]) -> dict[str, Expected]:
    """Return the files of a publication by name; an unreadable part of a damaged document matches no file."""
    files = publication.get("files")
    entries = {MANIFEST: Expected(MANIFEST, None, str(publication.get("manifest_sha256")))}
    for name, facts in sorted(files.items()) if isinstance(files, Mapping) else ():
        known = facts if isinstance(facts, Mapping) else {}
        size = known.get("bytes")
        entries.setdefault(name, Expected(name, size if isinstance(size, int) else -1, str(known.get("sha256"))))
    return entries


def _present(folder: Path) -> set[str] | None:
    """Return the names in a folder; None if it does not exist or is a link."""
    if folder.is_symlink() or not folder.is_dir():
        return None
    return {path.name for path in folder.iterdir()}


def _affordable(expected: Mapping[str, Expected], most_bytes: int | None) -> set[str]:
    """Return the names of the files to hash: the smallest, within the limit of bytes."""
    names, left = set(), most_bytes
    for name, entry in sorted(expected.items(), key=lambda item: item[1].size or 0):
        if left is not None:
            left -= max(entry.size or 0, 0)
            if left < 0:
                break
        names.add(name)
    return names


def _compared(folder: Path, entry: Expected, hashed: bool) -> str:
    """Return the state of an existing file; its size is compared first."""
    try:
        with open_regular(folder / entry.name, follow_links=False) as file:
            fits = entry.fits(os.fstat(file.fileno()).st_size)
            return MATCHES if fits and (not hashed or _sha256(file) == entry.sha256) else CHANGED
    except FileNotFoundError:
        return MISSING
    except PermissionError:
        return UNREACHABLE
    except OSError:
        # a link, which is not followed, or no regular file
        return CHANGED


def _sha256(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := file.read(_BLOCK_BYTES):
        digest.update(block)
    return digest.hexdigest()


def _state(name: str, entry: Expected, state: str, hashed: bool = False) -> FileState:
    return FileState(name=name, sha256=entry.sha256, state=state, hashed=hashed and state in (MATCHES, CHANGED))
