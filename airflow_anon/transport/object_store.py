"""Objects of a store such as S3, GCS or Azure, by their addresses: `s3://conn_id@bucket/folder/name`.

In: addresses, of which Airflow's connection is a part. Out: their contents, sizes and hashes as the store has them now.
Nothing is renamed or locked, since stores can do neither. All errors of stores and their clients become one.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.sdk import ObjectStoragePath

BLOCK_BYTES = 1 << 20
_AMAZON = ("airflow.providers.amazon.aws.fs.s3", "s3fs", "airflow-anon[s3]")
_GOOGLE = ("airflow.providers.google.cloud.fs.gcs", "gcsfs", "apache-airflow-providers-google and gcsfs")
_AZURE = ("airflow.providers.microsoft.azure.fs.adls", "adlfs", "apache-airflow-providers-microsoft-azure and adlfs")
_PARTS: Mapping[str, tuple[str, str, str]] = {
    "s3": _AMAZON,
    "gs": _GOOGLE,
    "gcs": _GOOGLE,
    "abfs": _AZURE,
    "abfss": _AZURE,
}
"""Per scheme: the module of Airflow's provider, the client that it needs, and what installs both."""


class StoreError(OSError):
    """A store cannot be reached, refuses its login, or has no such bucket; its text is `strerror`."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(errno.EIO, why, address)

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def is_in_store(place: str) -> bool:
    """Whether a place is an address in a store, and not a path of a file system."""
    return "://" in place and not place.startswith("file://")


def missing_parts(address: str) -> str | None:
    """Return what to install before addresses of this scheme can be used; None if it is there."""
    parts = _PARTS.get(address.partition("://")[0])
    if parts is None:
        return None
    provider, client, wanted = parts
    return None if _is_there(provider) and _is_there(client) else wanted


def listed(address: str) -> dict[str, int]:
    """Return the objects below an address: their names behind it, and their bytes.

    Raises
    ------
    StoreError
        The store cannot be read.
    """
    with _errors(address):
        path = _path(address)
        path.fs.invalidate_cache()
        begin = f"{path.path.strip('/')}/"
        try:
            found = path.fs.find(path.path, detail=True)
        except FileNotFoundError:
            return {}
        sizes = {key.strip("/"): facts["size"] for key, facts in found.items() if facts["type"] == "file"}
        return {key.removeprefix(begin): size for key, size in sizes.items() if key.startswith(begin)}


def content_of(address: str) -> bytes | None:
    """Return the content of a small object; None if there is none.

    Raises
    ------
    StoreError
        The store cannot be read.
    """
    with _errors(address), suppress(FileNotFoundError):
        path = _path(address)
        path.fs.invalidate_cache()
        content: bytes = path.fs.cat_file(path.path)
        return content
    return None


def sha256_of(address: str) -> str | None:
    """Hash an object block by block, hexadecimal; None if there is none.

    Raises
    ------
    StoreError
        The store cannot be read.
    """
    digest = hashlib.sha256()
    with _errors(address), suppress(FileNotFoundError):
        path = _path(address)
        path.fs.invalidate_cache()
        with path.fs.open(path.path, "rb") as stream:
            while block := stream.read(BLOCK_BYTES):
                digest.update(block)
        return digest.hexdigest()
    return None


@contextmanager
def opened(place: str) -> Iterator[Any]:
    """Open an object, or a local file, to read parts of it.

    Raises
    ------
    StoreError
        There is none, or the store cannot be read.
    """
    if not is_in_store(place):
        with Path(place).open("rb") as file:
            yield file
        return
    with _errors(place):
        path = _path(place)
        with path.fs.open(path.path, "rb") as stream:
            yield stream


def download(address: str, target: Path) -> None:
    """Copy an object into a file.

    Raises
    ------
    StoreError
        There is none, or the store cannot be read.
    """
    with _errors(address):
        path = _path(address)
        path.fs.get_file(path.path, str(target))


def upload(source: Path, address: str) -> None:
    """Make an object of a file; where the store can refuse it, no object is replaced.

    Raises
    ------
    StoreError
        There is an object already, or the store cannot be written.
    """
    with _errors(address):
        path = _path(address)
        path.fs.put_file(str(source), path.path, mode="create")


def write(address: str, content: bytes) -> None:
    """Make or replace a small object, in one step.

    Raises
    ------
    StoreError
        The store cannot be written.
    """
    with _errors(address):
        path = _path(address)
        path.fs.pipe_file(path.path, content)


def remove(address: str) -> None:
    """Remove an object; harmless if there is none.

    Raises
    ------
    StoreError
        The store cannot be written.
    """
    with _errors(address), suppress(FileNotFoundError):
        path = _path(address)
        path.fs.invalidate_cache()
        path.fs.rm_file(path.path)


def _path(address: str) -> ObjectStoragePath:
    from airflow_anon.transport.address import path_of  # noqa: PLC0415 (heavy imports belong into execute)

    return path_of(address)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a package above it
        return False


@contextmanager
def _errors(address: str) -> Iterator[None]:
    """Turn what a client raises into a `StoreError` without its text, which may hold a login or a signed address."""
    try:
        yield
    except StoreError:
        raise
    except FileNotFoundError:
        raise StoreError(address, "is not there: the bucket or the object is missing") from None
    except PermissionError:
        raise StoreError(address, "the store refuses the login of its connection") from None
    except FileExistsError:
        raise StoreError(address, "is there already; another process writes the same release, so try again") from None
    except Exception as problem:  # noqa: BLE001 (each client has errors of its own, which share no class)
        raise StoreError(address, f"the store cannot be used now ({_kind(problem)})") from None


def _kind(problem: Any) -> str:
    number = getattr(problem, "errno", None)
    return f"{type(problem).__name__}, errno {number}" if number else type(problem).__name__
