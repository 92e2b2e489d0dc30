"""The hash chain: canonical JSON, the hash of a document, and the hash of an entry.

An entry's hash covers its number, its columns, the hash of its document and the hash of the entry before it. So no
entry can be changed, moved or left out without changing the hash of every later entry.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from airflow_anon.ledger.errors import LedgerError

GENESIS = "0" * 64
CHAINED = (
    "sequence",
    "recorded_at",
    "job",
    "dag_id",
    "run_id",
    "task_group",
    "attempt",
    "outcome",
    "release_id",
    "rows",
    "suppressed",
    "suppressed_share",
    "information_loss",
    "privacy_margin",
    "optimal",
    "seconds",
    "job_sha256",
    "manifest_sha256",
    "document_sha256",
    "previous_sha256",
)


def canonical_json(value: Any) -> str:
    """Return the canonical JSON text of a value: keys sorted, no spaces, ASCII, doubles in their shortest exact form.

    Raises
    ------
    LedgerError
        It holds something that is not plain JSON: NaN, an infinity, a key that is not text, another kind of object.
    """
    try:
        _check_keys(value)
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise LedgerError(
            f"not plain JSON ({problem}): only texts, finite numbers, true, false, null, lists and mappings with texts "
            f"as keys can be chained"
        ) from None


def _check_keys(value: Any) -> None:
    """Refuse keys that are not text: Python would write them as text, which could make duplicate keys."""
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("a key is not text")
        for item in value.values():
            _check_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_keys(item)


def text_sha256(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, hexadecimal; a damaged text with lone surrogates has a hash too."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def entry_sha256(columns: Mapping[str, Any]) -> str:
    """Return the hash of an entry: SHA-256 of the canonical JSON of the columns that `CHAINED` names, hexadecimal."""
    return text_sha256(canonical_json({name: columns[name] for name in CHAINED}))
