"""Addresses of folders in object stores, as a job file names them: `s3://bucket/folder`, `s3://conn_id@bucket/folder`."""

from __future__ import annotations

import re

SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss")
"""Amazon S3 and what speaks its language; Google Cloud Storage; Azure Blob Storage."""
_CONNECTION = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_BUCKET = r"[A-Za-z0-9][A-Za-z0-9_.-]+"
_PART = r"[A-Za-z0-9_=][A-Za-z0-9_=.-]*"
_REST = re.compile(rf"({_CONNECTION}@)?{_BUCKET}(/{_PART})*")


def is_in_store(path: str) -> bool:
    """Whether a path has a scheme other than that of files."""
    return "://" in path and not path.startswith("file://")


def check_address(path: str, key: str = "path") -> None:
    """Refuse an address that no release can be written below.

    Parameters
    ----------
    key : str
        Of the output, for the error.

    Raises
    ------
    ValueError
        Its scheme is unknown, or it is not a bucket with plain names of folders.
    """
    scheme, _, rest = path.partition("://")
    if scheme not in SCHEMES:
        raise ValueError(
            f"{key}: must be a folder of a file system (mount the store), or an address in a store that begins with "
            f"one of {', '.join(f'{one}://' for one in SCHEMES)}"
        )
    if not _REST.fullmatch(rest):
        raise ValueError(
            f"{key}: must be {scheme}://bucket/folder or {scheme}://conn_id@bucket/folder, with names of letters, "
            "digits, '_', '=', '.' and '-' only, none of them beginning with a dot, that of the bucket of two "
            "characters or more, and no slash at the end"
        )
