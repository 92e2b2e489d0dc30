"""The object `current` of a store: what is none of ours is none, whatever it holds."""

from __future__ import annotations

import pytest

from airflow_anon.transport.release_pointer import Pointer

POINTER = Pointer(release_id="20260301T024500Z-0123abcd", manifest_sha256="a" * 64)


def test_a_pointer_is_read_as_it_was_written():
    assert Pointer.read(POINTER.written()) == POINTER


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        POINTER.written().replace(b"aaaa", b"zzzz"),
        POINTER.written().replace(b"{", b'{"release_id": "other", ', 1),
        POINTER.written().replace(b"2026", b"../2"),
        b'{"release_id": 1, "manifest_sha256": NaN}',
    ],
)
def test_what_is_no_pointer(content):
    assert Pointer.read(content) is None
