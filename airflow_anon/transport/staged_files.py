"""The files around a validation: the release folder made local, the types of the source, the result beside the release.

Paths are local, `file://` addresses, or any address of Airflow's object storage.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.address import is_local, path_of

if TYPE_CHECKING:
    import pyarrow as pa
    from airflow.sdk import ObjectStoragePath


@contextmanager
def private_copy(address: str) -> Iterator[Path]:
    """Yield a private local copy of the folder at `address`, which nobody else can change; it is removed afterwards.

    A local folder is copied to a folder beside it, so its content does not leave the staging area.

    Raises
    ------
    FileNotFoundError
        There is no such folder.
    AirflowFailException
        It contains a folder.
    """
    folder = path_of(address)
    entries = list(folder.iterdir())
    # A temporary directory has mode 0700.
    near = str(Path(folder.path).parent) if is_local(folder) else None
    with tempfile.TemporaryDirectory(prefix=".validate-", dir=near) as temporary:
        for entry in entries:
            if entry.is_dir():
                raise AirflowFailException(
                    f"{address}: holds a folder, a release holds files alone; the folder was changed"
                )
            with entry.open("rb") as original, (Path(temporary) / entry.name).open("wb") as copy:
                shutil.copyfileobj(original, copy)
        yield Path(temporary)


def column_types(address: str) -> dict[str, str]:
    """Read the Arrow types, as text, of the columns of a Parquet file; the records are not read.

    A dictionary-encoded column counts as its values, and views of texts and bytes as these: a release never has either.

    Raises
    ------
    AirflowFailException
        It is no Parquet file.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)

    with _as_parquet(address), path_of(address).open("rb") as file:
        schema = pq.read_schema(file)
    return {field.name: _released_type(field.type) for field in schema}


def _released_type(kind: pa.DataType) -> str:
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return {pa.string_view(): "string", pa.binary_view(): "binary"}.get(kind, str(kind))


@contextmanager
def _as_parquet(address: str) -> Iterator[None]:
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    try:
        yield
    except pa.ArrowException:
        raise AirflowFailException(f"source {address}: cannot be read as Parquet; clear the whole run") from None


def record_count(address: str) -> int:
    """Return how many records a Parquet file has; the records are not read.

    Raises
    ------
    AirflowFailException
        It is no Parquet file.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 (heavy imports belong into execute)

    with _as_parquet(address), path_of(address).open("rb") as file:
        return int(pq.ParquetFile(file).metadata.num_rows)


def beside(address: str, name: str) -> ObjectStoragePath:
    """Return the path of a file beside the folder at `address`."""
    return path_of(address.rstrip("/")).parent / name


def write_json(path: ObjectStoragePath, document: Mapping[str, Any]) -> str:
    """Write a complete document in one step, mode 0600 on a local disk; return its SHA-256, hexadecimal."""
    content = json.dumps(document, indent=2, allow_nan=False).encode()
    write_bytes(path, content)
    return hashlib.sha256(content).hexdigest()


def write_bytes(path: ObjectStoragePath, content: bytes) -> None:
    """Write a complete file in one step, mode 0600 on a local disk."""
    if is_local(path):
        _replace(Path(path.path), content)
    else:
        path.write_bytes(content)  # an object appears in a store when it is complete


def _replace(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
