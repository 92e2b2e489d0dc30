"""Parquet files of which something is encrypted: no run has their keys.

A file whose footer is plain and signed opens as any other, and what Arrow says of its columns ends the process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.errors import InvalidData

_LENGTH_AND_MAGIC = 8
_MAGIC = b"PARE"
"""Ends a file whose footer is encrypted."""
_SIGNATURE = 28
"""Bytes after a plain footer of a file with encrypted columns: a nonce and a tag."""


def refuse_encrypted(path: Path, name: str, metadata: Any = None) -> None:
    """Refuse a Parquet file of which something is encrypted.

    Parameters
    ----------
    name : str
        What errors call the file.
    metadata : pyarrow FileMetaData, optional
        Of the file, if it could be opened.

    Raises
    ------
    InvalidData
        Its footer or a column is encrypted.
    OSError
        The file cannot be read.
    """
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _LENGTH_AND_MAGIC))
        end = file.read()
    length = int.from_bytes(end[:4], "little")
    is_signed = metadata is not None and length - metadata.serialized_size == _SIGNATURE
    if end[4:] == _MAGIC or is_signed:
        raise InvalidData(
            f"source {name}: is an encrypted Parquet file, and a run has no keys of such files; write it without "
            "encryption where nobody but the account of the run can read it"
        )
