"""The hash of a release as its table will hold it, worked out from the release's file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from airflow_anon.share.sql_load import batches, plain_schema
from airflow_anon.transport.content_hash import ContentHash, kinds_of
from airflow_anon.transport.release_files import VALIDATION


def content_of(data: Path, dialect: str, salt: str) -> ContentHash:
    """Return the content of a Parquet file of a release, in a database of a dialect; memory is that of one batch."""
    schema = plain_schema(data)
    content = ContentHash(kinds_of(schema), salt, keeps_nan=dialect != "sqlite")
    for batch in batches(data, schema):
        coded = (column.dictionary_encode() for column in batch.columns)
        content.add_coded([(column.dictionary.to_pylist(), column.indices) for column in coded])
    return content


def salt_of(folder: Path) -> str:
    """Return the salt of a release, from its folder: 64 hexadecimal digits, the same for every try to publish it.

    It comes from the validation result, which has a random part; the ledger has only another hash of that.
    """
    return hashlib.sha256(b"the salt of a table\n" + (folder / VALIDATION).read_bytes()).hexdigest()
