"""Reads releases of a share: folders as they are, those in an object store through a private copy.

In: the address of a job's releases or of one of them. Out: a table of what was released. A reader needs neither Airflow
nor its connections: the client finds its login where it always does, or in `storage_options`.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_anon.transport.object_store import is_in_store
from airflow_anon.transport.release_files import CURRENT, MANIFEST
from airflow_anon.transport.release_pointer import Pointer
from engine import InvalidData, VerificationFailed, read_release, strict_json

if TYPE_CHECKING:
    import pandas as pd

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][^/\\\0]*")


def read(
    place: str | Path,
    *,
    ends: bool = False,
    numbers: bool = False,
    table: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Read a release from a share.

    Parameters
    ----------
    place : path
        Folder of a release, such as `SHARE/JOB/current`; or an address in a store: `s3://bucket/share/JOB`, which
        follows `current`, or that of one release.
    ends, numbers, table
        As of `engine.read_release`.
    storage_options : mapping, optional
        For the client of the store (s3fs, gcsfs, adlfs), such as `{"endpoint_url": …}` or `{"profile": …}`.

    Returns
    -------
    DataFrame
        As of `engine.read_release`.

    Raises
    ------
    VerificationFailed
        A file or the manifest was changed since the release.
    InvalidData
        There is no release, the store cannot be read, or as of `engine.read_release`.
    """
    if not is_in_store(str(place)):
        return read_release(str(place).removeprefix("file://"), ends=ends, numbers=numbers, table=table)
    with tempfile.TemporaryDirectory(prefix="release-") as private:
        folder = Path(private)
        _copy(str(place), folder, dict(storage_options or {}))
        return read_release(folder, ends=ends, numbers=numbers, table=table)


def _copy(place: str, folder: Path, storage_options: dict[str, Any]) -> None:
    import fsspec  # noqa: PLC0415 (only stores need it)

    try:
        store, root = fsspec.core.url_to_fs(place.rstrip("/"), **storage_options)
    except (ImportError, ValueError) as problem:
        raise InvalidData(f"{place}: needs the client of its store: {problem}") from None

    def content(key: str) -> bytes | None:
        return _asked(place, lambda: store.cat_file(key))

    job = root.removesuffix(f"/{CURRENT}")
    pointer = content(f"{job}/{CURRENT}")
    named = None if pointer is None else Pointer.read(pointer)
    if pointer is not None and named is None:
        raise VerificationFailed(f"{place}: its object {CURRENT} does not name a release; it was changed")
    release = root if named is None else f"{job}/{named.release_id}"
    manifest = content(f"{release}/{MANIFEST}")
    if manifest is None and named is None:
        raise InvalidData(f"{place}: has neither {CURRENT} nor {MANIFEST}; readers have no release there now")
    if manifest is None or (named is not None and hashlib.sha256(manifest).hexdigest() != named.manifest_sha256):
        raise VerificationFailed(f"{place}: {MANIFEST} is not the one that {CURRENT} names; the release was changed")
    (folder / MANIFEST).write_bytes(manifest)
    for name in _files(place, manifest):
        _asked(place, lambda name=name: store.get_file(f"{release}/{name}", str(folder / name)))


def _files(place: str, manifest: bytes) -> list[str]:
    """Return the names of the files of a release; none leads out of its folder."""
    try:
        names = list(strict_json(manifest)["files"])
        is_plain = all(_PLAIN_NAME.fullmatch(name) and name != MANIFEST for name in names)
    except (ValueError, KeyError, TypeError):
        is_plain = False
    if not is_plain:
        raise VerificationFailed(f"{place}: {MANIFEST} cannot be read; the release was changed")
    return names


def _asked(place: str, ask: Callable[[], Any]) -> Any:
    """Return what a client answers; None for what is not there."""
    try:
        return ask()
    except FileNotFoundError:
        return None
    except PermissionError:
        raise InvalidData(f"{place}: the store refuses your login") from None
    except Exception as problem:  # noqa: BLE001 (each client has errors of its own, which share no class)
        raise InvalidData(f"{place}: the store cannot be read now ({type(problem).__name__})") from None
