"""Why a mark is shown although another one beats it: neither figure of that one is higher, and one is lower.

In: the report, and an entry of it. Out: one sentence, or None if no mark beats it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def why_beaten(report: Mapping[str, Any], entry: Mapping[str, Any]) -> str | None:
    """Return the reason."""
    number = entry.get("beaten_by")
    if number is not None:
        better = _better(report["frontier"][number - 1], entry)
        return f"Shown for comparison: policy {number:,} has {better}."
    if entry.get("beaten_by_safe_harbor"):
        better = _better(report["safe_harbor"], entry)
        return f"The rule of Safe Harbor has {better}, but no policy of whole groups is equal to that rule."
    return None


def _better(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    risk, loss = one["risk"] < other["risk"], one["utility_loss"] < other["utility_loss"]
    if risk and loss:
        return "less risk and less utility loss"
    return "less risk at the same utility loss" if risk else "less utility loss at the same risk"
