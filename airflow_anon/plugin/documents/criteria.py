"""The privacy criteria: required, observed, and how much was left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_anon.disclosure import figures as disclosure

SIZES = ("k-anonymity", "k-map")
"""Models whose observed figure is the size of a class."""


def criteria(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each criterion with `state`: "holds", "fails", or "open" where nothing was observed."""
    smallest = disclosure.smallest_class(document)
    return [_criterion(finding, smallest) for finding in document.get("privacy") or []]


def _criterion(finding: Mapping[str, Any], smallest: int) -> dict[str, Any]:
    holds, observed = finding.get("holds"), finding.get("observed")
    of_records = disclosure.count(observed, smallest if finding["model"] in SIZES else 1)
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
