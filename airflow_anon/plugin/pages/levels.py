"""The levels of the quasi-identifiers, each with an example value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.parts import Level

if TYPE_CHECKING:
    from airflow_anon.ledger import form_parts as parts
    from airflow_anon.ledger.form import Document

_LEFT_OUT = {
    "changed": "No example: the hierarchy was changed after the release was made.",
    "not-compared": "No example: it was not known whether the hierarchy was still the one of the release.",
}


def levels(document: Document) -> list[Level] | None:
    """Return each attribute's level; None if no transformation was found.

    `examples` has one label of the hierarchy per level, from the most detailed level, or null if there is none;
    `tables` the linked tables that have the attribute, none for a job of one table.
    """
    found = document.levels
    tables = (document.job.document or {}).get("tables") or {}
    if found is None:
        return None
    return [
        level_of(name, one, [table for table, entry in tables.items() if name in entry.get("attributes", ())])
        for name, one in found.items()
    ]


def level_of(attribute: str, found: parts.Level, tables: Sequence[str] = ()) -> Level:
    """Return one attribute's level and its example."""
    examples = found.examples or []
    level = found.level
    return {
        "attribute": attribute,
        "tables": list(tables),
        "level": level,
        "shares": found.shares,
        "highest": found.highest,
        "minimum": found.minimum,
        "maximum": found.maximum,
        "example": examples[level] if level is not None and 0 <= level < len(examples) else None,
        "examples": examples,
        "examples_left_out": None if examples else _LEFT_OUT.get(found.examples_left_out or ""),
    }
