"""The results of the validation with Great Expectations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.content import Result, Validation

if TYPE_CHECKING:
    from airflow_anon.ledger import form_parts as parts
    from airflow_anon.ledger.form import Document


def validation(document: Document) -> Validation | None:
    """Return the validation, failed expectations first; None if the attempt ended before it."""
    found = document.validation
    if found is None:
        return None
    results = [_result(one) for one in found.results or ()]
    return {
        "success": found.success,
        "suite": found.suite,
        "great_expectations_version": found.great_expectations_version,
        "validated_at": found.validated_at,
        "expectations": found.expectations,
        "sha256": found.sha256,
        "failed": sum(not one["success"] for one in results),
        "results": sorted(results, key=lambda one: one["success"]),
    }


def _result(found: parts.Result) -> Result:
    return {
        "expectation": found.expectation_type,
        "description": found.description,
        "column": found.column,
        "success": bool(found.success),
        "observed": found.observed,
        "required": found.required,
        "below": found.below,
        "message": found.message,
    }
