"""The fingerprint of a source that stays in its warehouse: one number for its columns and records, in any order.

HMAC-SHA-256 (RFC 2104), under the secret key of fingerprints, over the names and types of the columns and the sums of
the records' SHA-256, in four numbers of 64 bits each. The sums stay in the task, and the key never reaches the
database: without it nobody can tell whether a guessed record fits. Who may write the source could find other records
with the same sums; the fingerprint tells whether a source changed, not whether its owner deceives.
"""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_anon.warehouse.warehouse import SqlWarehouse
    from engine import FingerprintKey


def fingerprint_inside(warehouse: SqlWarehouse, key: FingerprintKey) -> dict[str, str]:
    """Return ``fingerprint`` (64 hexadecimal digits) and ``fingerprint_key_id`` of the source of a warehouse.

    The id is not that of the key for extracted tables: the two kinds of fingerprints are not comparable.
    """
    columns = [[field.name, str(field.type)] for field in warehouse.schema]
    told = json.dumps([columns, [str(part) for part in warehouse.sums]]).encode()
    return {
        "fingerprint": hmac.digest(key.derived("table in its warehouse"), told, "sha256").hex(),
        "fingerprint_key_id": key.derived("id in a warehouse").hex()[:16],
    }
