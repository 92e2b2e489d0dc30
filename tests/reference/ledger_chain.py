"""The chain of docs/ledger.md, written down once more: from plain rows to the hashes they must have."""

from __future__ import annotations

import hashlib
import json
from typing import Any

COLUMNS = (
    *("sequence", "recorded_at", "job", "dag_id", "run_id", "task_group", "attempt", "outcome", "release_id", "rows"),
    *("suppressed", "suppressed_share", "information_loss", "privacy_margin", "optimal", "seconds", "job_sha256"),
    *("manifest_sha256", "document_sha256", "previous_sha256"),
)


def is_chain(rows: list[dict[str, Any]], documents: dict[int, str], head: tuple[int, str]) -> bool:
    """Whether rows (by sequence), documents and head are one unbroken chain."""
    before = "0" * 64
    for place, row in enumerate(rows, start=1):
        document = documents.get(place, "")
        hashed = {column: row[column] for column in COLUMNS}
        text = json.dumps(hashed, sort_keys=True, separators=(",", ":"))
        if (
            row["sequence"] != place
            or row["previous_sha256"] != before
            or row["document_sha256"] != hashlib.sha256(document.encode()).hexdigest()
            or row["entry_sha256"] != hashlib.sha256(text.encode()).hexdigest()
        ):
            return False
        before = row["entry_sha256"]
    return set(documents) == {row["sequence"] for row in rows} and head == (len(rows), before)
