"""The slow, obvious twin of the fingerprint of a source: one cell after the other, in whole numbers."""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from decimal import Decimal

WORD = 2**64
NULL = 0xA0761D6478BD642F


def mixed(number):
    """Return the finalizer of SplitMix64."""
    number = (number + 0x9E3779B97F4A7C15) % WORD
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB % WORD
    return number ^ (number >> 31)


def derived(secret, purpose):
    """Return the key for one purpose."""
    return hmac.new(secret, b"airflow-anon source fingerprint: " + purpose, hashlib.sha256).digest()


def cell(value, kind, key=b""):
    """Return the hash of one cell: None, a truth value, a number, text or bytes."""
    if value is None:
        return NULL
    if isinstance(value, float):
        return mixed(struct.unpack("<Q", struct.pack("<d", value))[0])
    if isinstance(value, Decimal) and kind.precision <= 18:
        value = int(value.scaleb(kind.scale))
    if isinstance(value, int):
        return mixed(value % WORD)
    octets = value if isinstance(value, bytes) else str(value).encode()
    return int.from_bytes(hashlib.blake2b(octets, digest_size=8, key=key).digest(), "little")


def content(table, first=0, key=b""):
    """Return what of a table of such cells is hashed."""
    records = []
    for row in table.to_pylist():
        record = first
        for name in table.column_names:
            record = mixed(record ^ cell(row[name], table.schema.field(name).type, key))
        records.append(record)
    header = json.dumps([[field.name, str(field.type)] for field in table.schema])
    return header.encode() + b"\n" + b"".join(record.to_bytes(8, "little") for record in sorted(records))


def plain_fingerprint(table, secret):
    """Return the fingerprint of a table of such cells under a key."""
    first = int.from_bytes(derived(secret, b"record")[:8], "little")
    told = content(table, first, derived(secret, b"text"))
    return hmac.new(derived(secret, b"table"), told, hashlib.sha256).hexdigest()


def fingerprint_without_key(table):
    """Return the fingerprint that anybody could compute, as earlier versions recorded it."""
    return hashlib.sha256(content(table)).hexdigest()
