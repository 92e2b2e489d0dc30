"""The compiled HMAC is that of the standard library, for texts of every length around the ends of blocks."""

from __future__ import annotations

import hmac

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidData
from engine.kernels.hmac_sha256 import LANES, hmac_sha256, key_states
from engine.kernels.planes import joined_planes
from engine.kernels.warm_up import Part, warm_up
from engine.series import keyed_ids
from engine.series.kept import name_of_gone
from engine.series.keyed_ids import ID_BYTES, SeriesKey
from engine.series.packed_arrays import packed, unpacked
from engine.tables.derived_keys import derived_key

SECRET = bytes(range(32))


def hashed(key, texts, size=32):
    """Return the HMAC of each text by the kernel."""
    column = pa.array(texts, pa.binary())
    offsets = np.frombuffer(column.buffers()[1], np.int32)[: len(texts) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    offsets.setflags(write=False)
    data.setflags(write=False)
    return [one.tobytes() for one in hmac_sha256(*key_states(key), offsets, data, size)]


def test_every_length_up_to_five_blocks_is_hashed_as_by_the_standard_library():
    texts = [bytes((7 * place + length) % 256 for place in range(length)) for length in range(330)]
    assert hashed(SECRET, texts) == [hmac.digest(SECRET, text, "sha256") for text in texts]


@given(
    st.binary(max_size=64), st.lists(st.binary(max_size=200), min_size=1, max_size=3 * LANES), st.sampled_from([1, 16])
)
def test_texts_of_one_batch_may_end_in_different_blocks(key, texts, size):
    assert hashed(key, texts, size) == [hmac.digest(key, text, "sha256")[:size] for text in texts]


@given(st.lists(st.text(max_size=80), max_size=20), st.integers(0, 3))
def test_ids_of_a_column_in_parts_are_the_hmac_of_each_person(persons, skipped):
    key = derived_key(SECRET, "series", "stays", "persons")
    parts = [pa.array(["other"] * skipped + persons, pa.string())[skipped:], pa.array([], pa.string())]
    found = SeriesKey(SECRET, "stays", lambda: True).ids(pa.chunked_array(parts, pa.string()))
    assert [one.tobytes() for one in found] == [
        hmac.digest(key, person.encode(), "sha256")[:ID_BYTES] for person in persons
    ]


def test_who_is_gone_keeps_the_id():
    keyed = bytes(range(ID_BYTES))
    found = SeriesKey(SECRET, "stays").ids(["M1", name_of_gone(3, keyed), "M2"])
    assert found[1].tobytes() == keyed


def test_a_kernel_that_hashes_otherwise_is_refused(monkeypatch):
    monkeypatch.setattr(keyed_ids, "hmac_sha256", lambda *_: np.zeros((1, ID_BYTES), np.uint8))
    with pytest.raises(InvalidData, match="compiled kernels"):
        SeriesKey(SECRET, "stays").ids(["M1"])


def test_no_kernel_of_ids_and_vaults_is_compiled_after_warming_up():
    warm_up(Part.SERIES)
    before = len(hmac_sha256.signatures), len(joined_planes.signatures)
    for persons in (
        pa.array(["M1", "M2"]),
        pa.array(["M1", None, "M2"]).drop_null(),
        pa.array([1, 2]).cast(pa.string()),
    ):
        SeriesKey(SECRET, "stays").ids(pa.chunked_array([persons]))
    for size in (0, 3, 3000):
        unpacked(packed([np.arange(size, dtype=np.int32)]), size)
    assert (len(hmac_sha256.signatures), len(joined_planes.signatures)) == before
