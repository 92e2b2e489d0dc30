"""Pseudonyms and shifts of dates as docs/pseudonyms.md says, with HMAC written out from RFC 2104."""

from __future__ import annotations

import hashlib

_BLOCK = 64


def hmac_sha256(key: bytes, text: bytes) -> bytes:
    """Return the HMAC: two hashes, the key padded to a block and exclusive-ored with one byte each."""
    key = hashlib.sha256(key).digest() if len(key) > _BLOCK else key
    padded = key.ljust(_BLOCK, b"\0")
    inner, outer = bytes(byte ^ 0x36 for byte in padded), bytes(byte ^ 0x5C for byte in padded)
    return hashlib.sha256(outer + hashlib.sha256(inner + text).digest()).digest()


def derived(secret: bytes, *purpose: str) -> bytes:
    parts = [len(part.encode()).to_bytes(4, "big") + part.encode() for part in purpose]
    return hmac_sha256(secret, b"airflow-anon person keys" + b"".join(parts))


def key_id(secret: bytes) -> str:
    return derived(secret, "id").hex()[:16]


def pseudonym(secret: bytes, job: str, family: str, value: str) -> str:
    return hmac_sha256(derived(secret, "pseudonym", job, family), value.encode()).hex()[:32]


def shift(secret: bytes, job: str, person: str, days: int, *, weeks: bool) -> int:
    unit = 7 if weeks else 1
    possible = [unit * n for n in range(-(days // unit), days // unit + 1) if n]
    number = int(hmac_sha256(derived(secret, "shift", job), person.encode()).hex()[:16], 16)
    return possible[number % len(possible)]
