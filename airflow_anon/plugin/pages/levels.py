"""The levels of the quasi-identifiers, each with an example value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.parts import Level

if TYPE_CHECKING:
    from airflow_anon.ledger import form_parts as parts
    from airflow_anon.ledger.form import Document


def levels(document: Document) -> list[Level] | None:
    """Return each attribute's level; None if no transformation was found.

    `examples` has one label of the hierarchy per level, from the most detailed level, or null if there is none.
    """
    found = document.levels
    return None if found is None else [level_of(name, one) for name, one in found.items()]


def level_of(attribute: str, found: parts.Level) -> Level:
    """Return one attribute's level and its example."""
    examples = found.examples or []
    return {
        "attribute": attribute,
        "level": found.level,
        "highest": found.highest,
        "minimum": found.minimum,
        "maximum": found.maximum,
        "example": examples[found.level] if 0 <= found.level < len(examples) else None,
        "examples": examples,
    }
