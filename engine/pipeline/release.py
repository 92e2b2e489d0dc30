"""A release folder: its manifest, and its atomic creation.

In: a folder with the files of a release. Out: `manifest.json`: each file's size in bytes and SHA-256.
A folder without a valid manifest is no release.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO

from engine.errors import InvalidJob, VerificationFailed, is_full
from engine.json_document import strict_json
from engine.pipeline.exchange import exchanged, held
from engine.regular_file import open_regular
from engine.tables.release_files import MANIFEST

MOST_OF_A_MANIFEST = 1 << 26
"""Bytes. A larger one is not read: who may write into a folder must not fill the memory of whoever checks it."""


def file_sha256(path: Path) -> str:
    """Hash a file, hexadecimal."""
    with path.open("rb") as file:
        return _sha256(file)


def _sha256(file: BinaryIO) -> str:
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
    content = _manifest_of(folder)
    if content is None:
        raise VerificationFailed(f"{folder}: has no {MANIFEST}, so it is not a release")
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise VerificationFailed(f"{folder}: {MANIFEST} is not the one that was written; the folder was changed")
    try:
        manifest: dict[str, Any] = strict_json(content)
        files = {name: (entry["bytes"], entry["sha256"]) for name, entry in manifest["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise VerificationFailed(f"{folder}: {MANIFEST} cannot be read; the folder was changed") from None
    present = {path.name for path in folder.iterdir()} - {MANIFEST}
    if present != set(files):
        odd = ", ".join(sorted(present ^ set(files)))
        raise VerificationFailed(f"{folder}: files and {MANIFEST} differ in {odd}; the folder was changed")
    for name, written in files.items():
        if not _is_as_written(folder / name, *written):
            raise VerificationFailed(
                f"{folder / name}: does not match {MANIFEST}; the file was changed after it was written"
            )
    return manifest


def _manifest_of(folder: Path) -> bytes | None:
    """Return the content of a manifest, or its beginning where that is no manifest's; None if there is none."""
    try:
        with open_regular(folder / MANIFEST, follow_links=False) as file:
            return file.read(MOST_OF_A_MANIFEST + 1)
    except OSError:
        return None


def _is_as_written(path: Path, size: Any, sha256: Any) -> bool:
    """Whether a file has a size and a hash; one of another size is not read, since it may be of any size."""
    try:
        with open_regular(path, follow_links=False) as file:
            return bool(os.fstat(file.fileno()).st_size == size and _sha256(file) == sha256)
    except OSError:
        return False


@contextmanager
def replacing(folder: str | Path, around: Callable[[], AbstractContextManager[None]] = nullcontext) -> Iterator[Path]:
    """Give a new private folder that becomes `folder` when the block ends well, and is removed when it does not.

    `around` is entered before it becomes visible and left after it: if it cannot be entered, nothing becomes visible.

    A release that it replaces is there until the new one is, in one step where the file system can exchange two
    folders. What killed runs left beside `folder` is removed first; what a running process holds is not.

    Raises
    ------
    InvalidJob
        `folder` cannot be made, or it exists and is neither empty nor a release, so it is not replaced.
    """
    folder, missing = _place(folder)
    try:
        _settle_leftovers(folder)
        with _fresh(folder) as fresh:
            if folder.exists() and not _is_replaceable(folder):
                raise InvalidJob(f"output {folder}: exists and is not a release; name a new or empty folder")
            yield fresh
            with around():
                _swap(fresh, folder)
    finally:
        _remove_empty(missing)


def _place(folder: str | Path) -> tuple[Path, list[Path]]:
    """Return the absolute folder, and the folders above it that were made for it, innermost first."""
    try:
        str(folder).encode()  # Arrow takes no others
        folder = Path(folder).resolve()
        if folder.exists() and not _is_replaceable(folder):
            raise InvalidJob(f"output {folder}: exists and is not a release; name a new or empty folder")
        above = next((parent for parent in folder.parents if (parent / MANIFEST).is_file()), None)
        if above is not None:
            raise InvalidJob(f"output {folder}: is in the release {above}, which it would change; name another folder")
        missing = [parent for parent in folder.parents if not parent.exists()]
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        _refuse_name(folder, problem)
        raise
    except ValueError:
        raise InvalidJob("output: its path is not UTF-8, or has a NUL character; name another folder") from None
    return folder, missing


def _refuse_name(folder: str | Path, problem: OSError) -> None:
    """Refuse a folder that cannot be made; do nothing where only the disk is full.

    Raises
    ------
    InvalidJob
        Names the folder.
    """
    if not is_full(problem):
        raise InvalidJob(f"output {folder}: cannot be made ({problem.strerror}); name another folder") from None


@contextmanager
def _fresh(folder: Path) -> Iterator[Path]:
    """Give a new private folder beside `folder`, which this process holds; it is removed at the end."""
    with ExitStack() as stack:
        while True:
            fresh = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.new")
            try:
                fresh.mkdir(mode=0o700)
            except OSError as problem:
                _refuse_name(folder, problem)
                raise
            stack.callback(shutil.rmtree, fresh, ignore_errors=True)
            stack.enter_context(held(fresh))
            # before it was held, another run could take it for a leftover
            if fresh.exists():
                break
        yield fresh


def _settle_leftovers(folder: Path) -> None:
    """Remove what killed runs left beside a release folder, and give back its name to a release that lost it."""
    with suppress(OSError):
        _settle_each(folder)


def _settle_each(folder: Path) -> None:
    form = re.compile(rf"\.{re.escape(folder.name)}\.[0-9a-f]{{32}}\.(new|old)")
    for leftover in folder.parent.iterdir():
        kind = form.fullmatch(leftover.name)
        if kind is None or not leftover.is_dir() or leftover.is_symlink():
            continue
        with held(leftover) as ours:
            if not ours:
                continue
            if kind[1] == "old" and not folder.exists():
                leftover.rename(folder)
            else:
                shutil.rmtree(leftover, ignore_errors=True)


def _is_replaceable(folder: Path) -> bool:
    """Whether a folder is empty or holds only a release."""
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir()}
    try:
        return not names or names <= {MANIFEST, *strict_json(_manifest_of(folder) or b"")["files"]}
    except (ValueError, KeyError, TypeError):
        return False


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, innermost first, up to one that is in use."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _swap(fresh: Path, folder: Path) -> None:
    """Let a new folder take the place of another; the old one, if any, has the name `fresh` then or is removed."""
    if not folder.exists():
        fresh.rename(folder)
    elif not exchanged(fresh, folder):
        _replace(fresh, folder)


def _replace(fresh: Path, folder: Path) -> None:
    """Rename twice; if the process is killed in between, the next run gives the old release its name back."""
    old = fresh.with_suffix(".old")
    with held(folder):
        folder.rename(old)
        try:
            fresh.rename(folder)
        except OSError:
            old.rename(folder)
            raise
    shutil.rmtree(old, ignore_errors=True)
