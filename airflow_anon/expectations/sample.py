"""How many records of the staged source a sample has, counted again from the key for the second judge."""

from __future__ import annotations

import hashlib

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
    if key is None:
        raise ValueError("rows_key: that of the sample is not given; run deidentify again")
    secret, below = bytes.fromhex(key), int(fraction * (1 << 8 * _BYTES)).to_bytes(_BYTES + 1, "big")
    drawn = 0
    for place in range(rows):
        found = hashlib.blake2b(place.to_bytes(_BYTES, "big"), key=secret, digest_size=_BYTES).digest()
        drawn += b"\0" + found < below
    return drawn
