"""The privacy criteria: required, observed, and how much was left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_anon.disclosure import figures as disclosure
from engine import glossary


def criteria(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each criterion with `state`: "holds", "fails", or "open" where nothing was observed."""
    smallest = disclosure.smallest_class(document)
    return [_criterion(finding, smallest) for finding in document.get("privacy") or []]


def _criterion(finding: Mapping[str, Any], smallest: int) -> dict[str, Any]:
    holds, observed = finding.get("holds"), finding.get("observed")
    declared = glossary()["privacy"].get(finding["model"])
    # a model that is not known any more may have counted records
    counts_records = declared is None or declared["observes_records"]
    of_records = disclosure.count(observed, smallest if counts_records else 1)
    return {
        "model": finding["model"],
        "parameters": finding.get("parameters") or {},
        "description": finding.get("description") or finding["model"],
        "required": finding.get("required"),
        "sense": finding.get("sense"),
        "observed": of_records,
        "margin": finding.get("margin"),
        "state": "open" if holds is None else "holds" if holds else "fails",
    }
