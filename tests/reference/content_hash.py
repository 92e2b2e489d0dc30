"""The slow twin of `airflow_anon.transport.content_hash`, for columns of texts, whole numbers, numbers and moments."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json


def content_hash(kinds, records, salt):
    """Return the hash of records, sequences of cells in the order of `kinds` (the kind of each column by name)."""
    sums = [0] * 1024
    for record in records:
        wide = hashlib.shake_128(",".join(map(_cell, record)).encode()).digest(4096)
        for place in range(1024):
            sums[place] = (sums[place] + int.from_bytes(wide[4 * place : 4 * place + 4], "little")) % 2**32
    told = json.dumps(list(kinds.items())).encode() + b"\n" + b"".join(one.to_bytes(4, "little") for one in sums)
    return hmac.new(salt.encode(), told, "sha256").hexdigest()


def _cell(cell):
    if cell is None:
        return "null"
    if isinstance(cell, float):
        return repr(cell + 0.0)
    if isinstance(cell, dt.datetime):
        return cell.isoformat()
    return json.dumps(cell)
