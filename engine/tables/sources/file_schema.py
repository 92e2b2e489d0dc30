"""What a Parquet file of a release tells its readers of its columns."""

from __future__ import annotations

import base64

import pyarrow as pa


def schema_of_readers(schema: pa.Schema) -> dict[str, str]:
    """Return the metadata of a Parquet file by which Arrow knows the types of its columns, and what is said of them.

    The columns are text there, not dictionaries. What is said of the file as a whole has entries of its own as well,
    for readers without Arrow.
    """
    of_file = {key.decode(): text.decode() for key, text in (schema.metadata or {}).items()}
    return {**of_file, "ARROW:schema": base64.b64encode(schema.serialize().to_pybytes()).decode()}
