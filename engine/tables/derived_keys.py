"""Keys for one purpose each, derived from one secret key by HMAC-SHA-256 (RFC 2104, FIPS 198-1).

A key of one purpose tells nothing of that of another one, so that pseudonyms of two jobs, or of two families of
columns, cannot be joined, and a shift of dates tells no pseudonym.
"""

from __future__ import annotations

import hmac

_DOMAIN = b"airflow-anon person keys"
_ID_BYTES = 8


def derived_key(secret: bytes, *purpose: str) -> bytes:
    """Return the 32 bytes of the key for a purpose.

    Parameters
    ----------
    purpose : str
        Its parts; the HMAC reads each with its length in bytes before it, 4 bytes, so that no two purposes are alike.
    """
    parts = [part.encode() for part in purpose]
    return hmac.digest(secret, b"".join([_DOMAIN, *(len(part).to_bytes(4, "big") + part for part in parts)]), "sha256")


def key_id(secret: bytes) -> str:
    """Return the check value of a key, 16 hexadecimal digits, from which the key does not follow."""
    return derived_key(secret, "id")[:_ID_BYTES].hex()
