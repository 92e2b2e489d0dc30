"""What a release holds of its persons comes back as it was, from the form of earlier versions too."""

from __future__ import annotations

import sqlite3
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine import run
from engine.errors import VaultRefused
from engine.series.packed_arrays import packed, unpacked
from engine.series.vault_schema import VERSION
from tests.engine.series.nights import job, patients, table

PEOPLE = patients(40)

LARGEST = np.iinfo(np.int32).max


def deflated(found):
    """Pack arrays as vaults did before version 3."""
    content = b""
    for array in found:
        one = zlib.compress(np.ascontiguousarray(array.astype("<i4").view(np.uint8).reshape(-1, 4).T).tobytes(), 1)
        content += len(one).to_bytes(8, "big") + one
    return content


@given(st.integers(0, 40), st.integers(0, 3), st.sampled_from([0, 254, 255, 65534, 65535, 1 << 24, LARGEST]), st.data())
def test_arrays_come_back(size, number, most, data):
    given_ = [data.draw(arrays(np.int32, size, elements=st.integers(-1, most))) for _ in range(number)]
    for content in (packed(given_), deflated(given_) if given_ else packed(given_)):
        found = unpacked(content, size)
        assert [one.dtype for one in found] == [np.int32] * number
        assert all(np.array_equal(one, own) for one, own in zip(found, given_, strict=True))


@pytest.mark.parametrize("form", [packed, deflated])
def test_what_is_damaged_is_refused(form):
    content = form([np.arange(1000, dtype=np.int32)])
    for broken in (content[:-20], content[:20] + bytes(40) + content[60:]):
        with pytest.raises(VaultRefused, match="damaged"):
            unpacked(broken, 1000)


def test_a_release_of_an_earlier_version_is_remembered(tmp_path):
    run(job(tmp_path), table=table(PEOPLE))
    with sqlite3.connect(tmp_path / "vault.sqlite") as connection:
        content, ids = connection.execute(
            "SELECT content, length(ids) / 16 FROM series_release, series WHERE series.name = series_release.series"
        ).fetchone()
        connection.execute("UPDATE series_release SET content = ?", (deflated(unpacked(content, ids)),))
        connection.execute("UPDATE series_vault SET version = 2")
    report = run(job(tmp_path), table=table(PEOPLE)).report["series"]
    assert report["releases"] == 2
    assert report["held_back_share"] == 0
    assert report["smallest_trace"] is not None
    with sqlite3.connect(tmp_path / "vault.sqlite") as connection:
        assert connection.execute("SELECT version FROM series_vault").fetchone() == (VERSION,)
