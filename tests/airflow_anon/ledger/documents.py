"""Documents of entries, as small as docs/ledger.md allows."""

from __future__ import annotations

from typing import Any

HASH = "ab" * 32


def document(number: int = 1, outcome: str = "released", **changes: Any) -> dict[str, Any]:
    """Make the document of attempt `number`: each is of a run of its own."""
    released = outcome == "released"
    made = {
        "format": 1,
        "outcome": outcome,
        "name": "visits",
        "reason": None if released else {"task": "deidentify", "error": "NoSolution", "message": "none"},
        "run": {"dag_id": "nightly", "run_id": f"run {number}", "attempt": 1, "task_group": "visits."},
        "job": {"sha256": HASH, "document": {"name": "visits"}},
        "records": {"source": 1000 + number, "suppressed": 7, "suppressed_share": 7 / (1000 + number)},
        "solution": {"information_loss": 1 / (3 + number), "optimal": True},
        "privacy_margin": 0.1 * number,
        "timings": {"encode": 0.1, "search": 0.2 * number, "verify": 0.7},
        "publication": {"release_id": f"release-{number}", "manifest_sha256": HASH, "folder": None, "files": {}}
        if released
        else None,
    }
    return {**made, **changes}
