"""Which records of the staged source a sample has, found again from the key for the second judge."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

_BYTES = 8


def drawn_rows(rows: int, fraction: float, key: str | None) -> int:
    """Return how many of so many records are drawn.

    Parameters
    ----------
    key : str or None
        Hexadecimal.

    Raises
    ------
    ValueError
        It is not given.
    """
    return sum(is_drawn(range(rows), fraction, key))


def is_drawn(places: Iterable[int], fraction: float, key: str | None) -> Iterator[bool]:
    """Tell of the records at some places of the source whether they are drawn; see `drawn_rows`."""
    if key is None:
        raise ValueError("rows_key: that of the sample is not given; run deidentify again")
    return _is_drawn(places, int(fraction * (1 << 8 * _BYTES)).to_bytes(_BYTES + 1, "big"), bytes.fromhex(key))


def _is_drawn(places: Iterable[int], below: bytes, secret: bytes) -> Iterator[bool]:
    for place in places:
        found = hashlib.blake2b(place.to_bytes(_BYTES, "big"), key=secret, digest_size=_BYTES).digest()
        yield b"\0" + found < below
