"""The slow twin of `airflow_anon.transport.content_hash`, for columns of texts, whole numbers, numbers and moments."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json


def content_hash(kinds, records, salt):
    """Return the hash of records, sequences of cells in the order of `kinds` (the kind of each column by name)."""
    digests = sorted(hashlib.sha256(",".join(map(_cell, record)).encode()).digest() for record in records)
    return _keyed(kinds, b"".join(digests), salt)


def content_hash_by_sums(kinds, records, salt):
    """Return the same by the method of earlier versions."""
    sums = [0] * 1024
    for record in records:
        wide = hashlib.shake_128(",".join(map(_cell, record)).encode()).digest(4096)
        for place in range(1024):
            sums[place] = (sums[place] + int.from_bytes(wide[4 * place : 4 * place + 4], "little")) % 2**32
    return _keyed(kinds, b"".join(one.to_bytes(4, "little") for one in sums), salt)


def _keyed(kinds, told, salt):
    told = json.dumps(list(kinds.items())).encode() + b"\n" + told
    return hmac.new(salt.encode(), told, "sha256").hexdigest()


def _cell(cell):
    if cell is None:
        return "null"
    if isinstance(cell, float):
        return repr(cell + 0.0)
    if isinstance(cell, dt.datetime):
        return cell.isoformat()
    return json.dumps(cell)
