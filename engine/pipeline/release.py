"""A release folder: its manifest, and its atomic creation.

In: a folder with the files of a release. Out: `manifest.json`: each file's size in bytes and SHA-256.
A folder without a valid manifest is no release.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from engine.errors import InvalidJob, VerificationFailed

MANIFEST = "manifest.json"


def file_sha256(path: Path) -> str:
    """Hash a file, hexadecimal."""
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_manifest(folder: str | Path, facts: Mapping[str, Any] | None = None) -> str:
    """Write `manifest.json` for all files of `folder`, replacing an existing one.

    Parameters
    ----------
    folder : path
        Holds the files of the release and nothing else; no folders.
    facts : mapping, optional
        Further plain entries of the manifest, such as the release id.

    Returns
    -------
    str
        SHA-256 of `manifest.json`, hexadecimal: it proves the whole folder.
    """
    folder = Path(folder)
    names = sorted(path.name for path in folder.iterdir() if path.name != MANIFEST)
    files = {name: {"bytes": (folder / name).stat().st_size, "sha256": file_sha256(folder / name)} for name in names}
    content = json.dumps({**(facts or {}), "files": files}, indent=2).encode()
    partial = folder / f".{MANIFEST}.{uuid.uuid4().hex}"
    partial.write_bytes(content)
    partial.replace(folder / MANIFEST)
    return hashlib.sha256(content).hexdigest()


def check_manifest(folder: str | Path, sha256: str | None = None) -> dict[str, Any]:
    """Compare a release folder with its manifest.

    Parameters
    ----------
    sha256 : str, optional
        Expected SHA-256 of the manifest.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    VerificationFailed
        The manifest is missing or was changed, or a file is missing, changed or not listed.
    """
    folder = Path(folder)
    content = None if (folder / MANIFEST).is_symlink() else _content(folder / MANIFEST)
    if content is None:
        raise VerificationFailed(f"{folder}: has no {MANIFEST}, so it is not a release")
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise VerificationFailed(f"{folder}: {MANIFEST} is not the one that was written; the folder was changed")
    try:
        manifest: dict[str, Any] = json.loads(content)
        files = {name: (entry["bytes"], entry["sha256"]) for name, entry in manifest["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise VerificationFailed(f"{folder}: {MANIFEST} cannot be read; the folder was changed") from None
    present = {path.name for path in folder.iterdir()} - {MANIFEST}
    if present != set(files):
        odd = ", ".join(sorted(present ^ set(files)))
        raise VerificationFailed(f"{folder}: files and {MANIFEST} differ in {odd}; the folder was changed")
    for name, written in files.items():
        if _fingerprint(folder / name) != written:
            raise VerificationFailed(
                f"{folder / name}: does not match {MANIFEST}; the file was changed after it was written"
            )
    return manifest


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _fingerprint(path: Path) -> tuple[int, str] | None:
    """Return size and hash; None if it is a link or not a readable file."""
    try:
        return None if path.is_symlink() else (path.stat().st_size, file_sha256(path))
    except OSError:
        return None


@contextmanager
def replacing(folder: str | Path) -> Iterator[Path]:
    """Give a new private folder that becomes `folder` when the block ends well, and is removed when it does not.

    Raises
    ------
    InvalidJob
        `folder` cannot be made, or it exists and is neither empty nor a release, so it is not replaced.
    """
    folder = Path(folder).resolve()
    if folder.exists() and not _is_replaceable(folder):
        raise InvalidJob(f"output {folder}: exists and is not a release; name a new or empty folder")
    mark = uuid.uuid4().hex
    fresh = folder.with_name(f".{folder.name}.{mark}.new")
    missing = [parent for parent in fresh.parents if not parent.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh.mkdir(mode=0o700)
    except OSError as problem:
        raise InvalidJob(f"output {folder}: cannot be made ({problem.strerror}); name another folder") from None
    try:
        yield fresh
        _swap(fresh, folder, folder.with_name(f".{folder.name}.{mark}.old"))
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        _remove_empty(missing)


def _is_replaceable(folder: Path) -> bool:
    """Whether a folder is empty or holds only a release."""
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir()}
    try:
        return not names or names <= {MANIFEST, *json.loads((folder / MANIFEST).read_bytes())["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, innermost first, up to one that is in use."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _swap(fresh: Path, folder: Path, old: Path) -> None:
    if folder.exists():
        folder.rename(old)
    try:
        fresh.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
