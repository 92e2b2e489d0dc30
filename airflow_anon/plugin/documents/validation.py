"""The results of the validation with Great Expectations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def validation(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the validation, the expectations that do not hold first; None where the attempt did not come so far."""
    found = document.get("validation")
    if not found:
        return None
    results = [_result(one) for one in found.get("results") or []]
    return {
        **{name: found.get(name) for name in ("success", "suite", "great_expectations_version", "validated_at")},
        "expectations": found.get("expectations"),
        "sha256": found.get("sha256"),
        "failed": sum(not one["success"] for one in results),
        "results": sorted(results, key=lambda one: bool(one["success"])),
    }


def _result(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "expectation": found.get("expectation_type"),
        "description": found.get("description"),
        "column": found.get("column"),
        "success": bool(found.get("success")),
        "observed": found.get("observed"),
        "required": found.get("required"),
        "below": found.get("below"),
        "message": found.get("message"),
    }
