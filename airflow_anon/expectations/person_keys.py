"""The pseudonym of an identifier and the shift of a person's dates, from their keys, for the second judge.

Written again from docs/pseudonyms.md, so that it shares no code with the engine, which made the release.
"""

from __future__ import annotations

import hashlib
import hmac

PSEUDONYM_DIGITS = 32
_WEEK = 7


def pseudonym(key: bytes, text: str | None) -> str | None:
    """Return the pseudonym of an identifier; a missing or blank one has none."""
    if text is None or not text.strip():
        return None
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:PSEUDONYM_DIGITS]


def shift_of(key: bytes, person: str, days: int, *, weeks: bool) -> int:
    """Return the days by which the dates of a person move."""
    unit = _WEEK if weeks else 1
    steps = days // unit
    drawn = int.from_bytes(hmac.new(key, person.encode(), hashlib.sha256).digest()[:8], "big") % (2 * steps)
    return unit * (drawn - steps + (drawn >= steps))


def key_for(secret: str, *purpose: str) -> bytes:
    """Return the key for a purpose, from a secret in hexadecimal digits."""
    parts = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in purpose)
    return hmac.new(bytes.fromhex(secret), b"airflow-anon person keys" + parts, hashlib.sha256).digest()
