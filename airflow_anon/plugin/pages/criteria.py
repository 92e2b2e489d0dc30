"""The privacy criteria: required figure, observed figure and margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.disclosure.criteria import observed
from airflow_anon.plugin.page_forms.content import Criterion

if TYPE_CHECKING:
    from airflow_anon.ledger import form_parts as parts
    from airflow_anon.ledger.form import Document


def criteria(document: Document) -> list[Criterion]:
    """Return each criterion with `state`: "holds", "fails", or "open" if nothing was observed."""
    return [_criterion(found, document.smallest) for found in document.privacy or ()]


def _criterion(found: parts.Criterion, smallest: int) -> Criterion:
    return {
        "model": found.model,
        "parameters": found.parameters or {},
        "description": found.description or found.model,
        "required": found.required,
        "sense": found.sense,
        "observed": observed(found.model, found.observed, smallest),
        "margin": found.margin,
        "state": "open" if found.holds is None else "holds" if found.holds else "fails",
    }
