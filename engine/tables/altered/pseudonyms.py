"""Identifying columns as pseudonyms: HMAC-SHA-256 of each value under a secret key.

In: a source and a key per column. Out: a `Table` in which these columns hold pseudonyms, text of 32 hexadecimal digits:
the first 128 bits of the HMAC. Of n different values, two have the same pseudonym with a probability of at most
n² / 2^129: below 10^-20 for a billion. Missing and blank values are missing.

Without the key a pseudonym cannot be told from random digits, so that trying all values of a small space, such as all
record numbers, finds nothing, as it does with a plain hash (ENISA, Pseudonymisation techniques and best practices,
2019).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from engine.tables.derived_keys import KeyedHash, derived_key
from engine.tables.sources.column_text import as_text
from engine.tables.sources.table import Table

_BYTES = 16


class PseudonymizedTable:
    """A source with pseudonyms in some columns.

    Parameters
    ----------
    keys : mapping of column to bytes
        As of `pseudonym_key`.
    """

    def __init__(self, source: Table, keys: Mapping[str, bytes]) -> None:
        self._source = source
        self._hashes = {name: KeyedHash(key) for name, key in keys.items()}
        self.schema = pa.schema(
            [pa.field(field.name, pa.string()) if field.name in keys else field for field in source.schema]
        )

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        for batch in self._source.batches(columns):
            replaced = [
                _pseudonyms(column, name, self._hashes[name]) if name in self._hashes else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(replaced, names=batch.schema.names)


def pseudonym_key(secret: bytes, job: str, family: str) -> bytes:
    """Return the key of the pseudonyms of a family of columns of a job."""
    return derived_key(secret, "pseudonym", job, family)


def _pseudonyms(column: pa.Array, name: str, keyed: KeyedHash) -> pa.Array:
    encoded = as_text(column, name).dictionary_encode()
    made = [_pseudonym(value, keyed) for value in encoded.dictionary.to_pylist()]
    return pa.array(made, pa.string()).take(encoded.indices)


def _pseudonym(value: str, keyed: KeyedHash) -> str | None:
    return keyed.digest(value)[:_BYTES].hex() if value.strip() else None
