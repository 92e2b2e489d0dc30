"""The records of a source that the key of a run draws, by code that the run does not use."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from engine.verification.records.population import open_source_of

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.tables.sources.table import Table


class Drawn:
    """The records of a source that a key draws, as a `Table`."""

    def __init__(self, job: Job, source: Any, key: bytes) -> None:
        assert job.sample is not None  # noqa: S101 (the caller asks only for such a job)
        self._source: Table = open_source_of(job, source)
        self._key = key
        self._least = int(job.sample.fraction * 2**64)
        self.schema = self._source.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        begin = 0
        for batch in self._source.batches(columns):
            places = range(begin, begin + batch.num_rows)
            begin += batch.num_rows
            yield batch.filter(pa.array(np.fromiter(map(self._is_drawn, places), np.bool_, batch.num_rows)))

    def _is_drawn(self, place: int) -> bool:
        found = hashlib.blake2b(place.to_bytes(8, "big"), key=self._key, digest_size=8).digest()
        return int.from_bytes(found, "big") < self._least
