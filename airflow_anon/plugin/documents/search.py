"""How the transformation was found, and whether a better one can exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PROOFS = {
    "exhaustion": "every transformation was checked or is ruled out by one that was",
    "bounds": "what was not checked cannot have less information loss, by its lower bounds",
}


def search(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the search and its verdict; None where there was none."""
    found, solution = document.get("search"), document.get("solution") or {}
    if not found:
        return None
    return {
        "algorithm": found.get("algorithm"),
        "space": found.get("space"),
        "checked": found.get("checked"),
        "checked_share": _share(found.get("checked"), found.get("space")),
        "seconds": found.get("seconds"),
        "warm_up_seconds": found.get("warm_up_seconds"),
        "optimal": solution.get("optimal"),
        "gap": solution.get("gap"),
        "lower_bound": solution.get("lower_bound"),
        "information_loss": solution.get("information_loss"),
        "proof": found.get("proof"),
        "verdict": _verdict(solution, found.get("proof")),
    }


def _verdict(solution: Mapping[str, Any], proof: str | None) -> str:
    if not solution:
        return "No transformation was found."
    if solution.get("optimal"):
        why = f": {PROOFS[proof]}" if proof in PROOFS else ""
        return f"Proven optimal{why}."
    gap = solution.get("gap")
    if gap is None:
        return "Not proven optimal, and it is not known by how much a better transformation could be better."
    return f"Not proven optimal: a better transformation has at most {gap:.2%} less information loss."


def _share(part: Any, total: Any) -> float | None:
    return part / total if part is not None and total else None
