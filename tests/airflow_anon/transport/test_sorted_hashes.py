"""Hashes in ascending order: as a plain sort has them, in memory and on disk, and no more memory than is said."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_anon.transport import sorted_hashes as module
from airflow_anon.transport.fingerprint import RecordHashes, fingerprint
from airflow_anon.transport.sorted_hashes import SortedHashes
from engine import FingerprintKey
from tests.peak_memory import peak_megabytes
from tests.reference.fingerprint import plain_fingerprint

SECRET = b"0123456789abcdef0123456789abcdef"
EDGES = [0, 1, 2**58 - 1, 2**58, 63 * 2**58, 63 * 2**58 - 1, 2**63, 2**64 - 1]
"""Where ranges of hashes begin and end."""


@given(
    st.lists(st.lists(st.sampled_from(EDGES) | st.integers(0, 2**64 - 1), max_size=6), max_size=8), st.integers(1, 9)
)
def test_all_come_in_ascending_order_whatever_memory_holds(batches, held):
    with pytest.MonkeyPatch.context() as patch, closing(SortedHashes(None)) as hashes:
        patch.setattr(module, "HELD", held)
        for batch in batches:
            hashes.add(np.array(batch, np.uint64))
        found = [number for some in hashes.ascending() for number in some.tolist()]
    assert found == sorted(number for batch in batches for number in batch)


def test_a_fingerprint_is_the_same_whatever_memory_holds(tmp_path, monkeypatch):
    """By the plain sort of the reference, of a file and of batches as they are written; the folder shows no file."""
    table = pa.table({"n": [number % 97 for number in range(1000)], "t": [str(number % 5) for number in range(1000)]})
    monkeypatch.setattr(module, "HELD", 64)
    key = FingerprintKey(SECRET)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=50)
    expected = plain_fingerprint(table, SECRET)
    assert fingerprint(tmp_path / "t.parquet", key) == expected
    with closing(RecordHashes(key, tmp_path)) as hashes:
        for batch in table.to_batches(max_chunksize=30):
            hashes.add(batch)
        assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
        assert hashes.fingerprint(table.schema) == expected


def test_memory_does_not_grow_with_the_hashes():
    """16 million hashes are 128 MB, and were held twice; 4 million are held, and sorted in a copy."""
    before = (
        "import numpy as np\nfrom airflow_anon.transport.sorted_hashes import SortedHashes\nhashes = SortedHashes(None)"
    )
    measured = (
        "random = np.random.default_rng(1)\n"
        "for _ in range(256): hashes.add(random.integers(0, 2**64, 1 << 16, np.uint64))\n"
        "assert sum(len(some) for some in hashes.ascending()) == 1 << 24"
    )
    assert peak_megabytes(before, measured) < 90


def test_a_full_disk_is_an_error_that_names_it(monkeypatch):
    class Full:
        def write(self, _):
            raise OSError(28, "No space left on device")

        def close(self):
            pass

    monkeypatch.setattr(module, "HELD", 1)
    monkeypatch.setattr(module.tempfile, "TemporaryFile", lambda **_: Full())
    with closing(SortedHashes(None)) as hashes, pytest.raises(OSError, match="No space left"):
        hashes.add(np.zeros(2, np.uint64))
