"""The digests of records, in ascending order: the same bytes in whatever order the records come.

In: records as texts of Arrow, batch by batch. Out: the SHA-256 of each, as often as it occurs, in ascending order. Two
collections of records with the same bytes are two records with the same SHA-256. Those that memory does not hold wait
in a file without a name (`SortedHashes`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from airflow_anon.transport.sorted_hashes import DIGEST, SortedHashes

if TYPE_CHECKING:
    import pyarrow as pa


class RecordDigests:
    """The digests of records."""

    def __init__(self) -> None:
        self._found = SortedHashes(None, DIGEST)

    def add(self, records: pa.Array) -> None:
        """Add records, a LargeStringArray without a missing one.

        Raises
        ------
        OSError
            The disk of temporary files is full.
        """
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        if not len(records):
            return
        coded = records.dictionary_encode()
        digests = [hashlib.sha256(record).digest() for record in coded.dictionary.cast("large_binary").to_pylist()]
        self._found.add(np.frombuffer(b"".join(digests), DIGEST)[coded.indices.to_numpy()])

    def parts(self) -> Iterator[bytes | memoryview]:
        """Yield the bytes of all digests in ascending order, in parts; afterwards there are none.

        Raises
        ------
        OSError
            See `add`.
        """
        with closing(self._found) as found:
            for digests in found.ascending():
                yield digests.data
