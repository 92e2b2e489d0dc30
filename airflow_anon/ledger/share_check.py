"""Whether the files of a release in the share are still those of its entry.

In: the document of a released entry. Out: one state a file. Files are read block by block; links are not followed, so
that a document names nothing outside of its release's folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_anon.transport.release_files import MANIFEST

MATCHES, CHANGED, MISSING, ADDED, UNREACHABLE = "matches", "changed", "missing", "added", "unreachable"
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class FileState:
    """What became of one file of a release.

    Attributes
    ----------
    name : str
        Its name in the release's folder.
    sha256 : str or None
        Hash that the entry says, hexadecimal; None of a file that the entry does not name.
    state : {"matches", "changed", "missing", "added", "unreachable"}
    hashed : bool
        Whether its content was read; else only its size was compared.
    """

    name: str
    sha256: str | None
    state: str
    hashed: bool = False


def check_files(document: Mapping[str, Any], *, hash_up_to: int | None = None) -> list[FileState]:
    """Compare the folder of a release with its entry.

    Parameters
    ----------
    document : mapping
        The document of the entry.
    hash_up_to : int, optional
        Bytes of content to read, of all files together, smallest first; of the files beyond, only the size is compared.
        All are read by default.

    Returns
    -------
    list of FileState
        The manifest first, the other files by name, then those that the entry does not name. Empty for an entry without
        a folder. A folder that is gone makes its files "missing" if the share around it is there, else "unreachable".
    """
    publication = document.get("publication")
    if not isinstance(publication, Mapping) or publication.get("folder") is None:
        return []
    expected = _expected(publication)
    folder = Path(str(publication["folder"]))
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


@dataclass(frozen=True)
class _Expected:
    """A file as the entry has it; `size` in bytes, None where the entry does not say."""

    name: str
    size: int | None
    sha256: str


def _expected(publication: Mapping[str, Any]) -> dict[str, _Expected]:
    """Return the files of a publication by name; what cannot be read of a damaged document matches no file."""
    files = publication.get("files")
    entries = {MANIFEST: _Expected(MANIFEST, None, str(publication.get("manifest_sha256")))}
    for name, facts in sorted(files.items()) if isinstance(files, Mapping) else ():
        known = facts if isinstance(facts, Mapping) else {}
        size = known.get("bytes")
        entries.setdefault(name, _Expected(name, size if isinstance(size, int) else -1, str(known.get("sha256"))))
    return entries


def _present(folder: Path) -> set[str] | None:
    """Return the names in a folder; None where there is none, or a link to one elsewhere."""
    if folder.is_symlink() or not folder.is_dir():
        return None
    return {path.name for path in folder.iterdir()}


def _affordable(expected: Mapping[str, _Expected], most_bytes: int | None) -> set[str]:
    """Return the names of the files whose content is read: the smallest, as far as the bytes reach."""
    names, left = set(), most_bytes
    for name, entry in sorted(expected.items(), key=lambda item: item[1].size or 0):
        if left is not None:
            left -= max(entry.size or 0, 0)
            if left < 0:
                break
        names.add(name)
    return names


def _compared(folder: Path, entry: _Expected, hashed: bool) -> str:
    """Return the state of a file that is there, its size first."""
    try:
        with _opened(folder / entry.name) as handle:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode) or entry.size not in (None, facts.st_size):
                return CHANGED
            return CHANGED if hashed and _sha256(handle) != entry.sha256 else MATCHES
    except FileNotFoundError:
        return MISSING
    except PermissionError:
        return UNREACHABLE
    except OSError:
        # A link, which is not followed, or a socket.
        return CHANGED


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    # Without O_NONBLOCK, a named pipe in the place of the file would be waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _sha256(handle: int) -> str:
    digest = hashlib.sha256()
    while block := os.read(handle, _BLOCK_BYTES):
        digest.update(block)
    return digest.hexdigest()


def _state(name: str, entry: _Expected, state: str, hashed: bool = False) -> FileState:
    return FileState(name=name, sha256=entry.sha256, state=state, hashed=hashed and state in (MATCHES, CHANGED))
