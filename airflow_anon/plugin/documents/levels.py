"""The levels of the quasi-identifiers, each with what a value looks like on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def levels(document: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return each attribute's level; None where no transformation was found.

    `examples` has a label of the hierarchy for each level, from the most detailed one, or null where there is none.
    """
    found = document.get("levels")
    return None if found is None else [level_of(name, one) for name, one in found.items()]


def level_of(attribute: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return one attribute's level and its example."""
    level, examples = int(found["level"]), list(found.get("examples") or [])
    return {
        "attribute": attribute,
        "level": level,
        "highest": found.get("highest"),
        "minimum": found.get("minimum"),
        "maximum": found.get("maximum"),
        "example": examples[level] if 0 <= level < len(examples) else None,
        "examples": examples,
    }
