"""What an entry's document says, section by section, as pages show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_anon.disclosure import figures as disclosure
from airflow_anon.plugin.documents.class_sizes import class_sizes
from airflow_anon.plugin.documents.comparison import comparison
from airflow_anon.plugin.documents.criteria import criteria
from airflow_anon.plugin.documents.levels import levels
from airflow_anon.plugin.documents.measures import risk, utility
from airflow_anon.plugin.documents.search import search
from airflow_anon.plugin.documents.shape import has_form
from airflow_anon.plugin.documents.validation import validation

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.plugin.reading import Reading


def content(reading: Reading, entry: Entry, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections of a document.

    Raises
    ------
    LookupError, TypeError, ValueError, AttributeError
        The document has not the form of one.
    """
    if not has_form(document):
        raise ValueError("the document has not the form of one")
    smallest = disclosure.smallest_class(document)
    return {
        "reason": document.get("reason"),
        "run": document["run"],
        "smallest_class_allowed": smallest,
        "records": disclosure.records(document),
        "criteria": criteria(document),
        "privacy_margin": document.get("privacy_margin"),
        "levels": levels(document),
        "solution": document.get("solution"),
        "search": search(document),
        "classes": class_sizes(document),
        "risk": risk(document),
        "utility": utility(document),
        "comparison": comparison(reading, entry, document),
        "validation": validation(document),
        "lineage": _lineage(document, smallest),
        "choice": document.get("choice"),
        "policy": _groups(document),
        "timings": document.get("timings") or {},
        "versions": document.get("versions") or {},
        "warnings": document.get("warnings") or [],
    }


def _lineage(document: Mapping[str, Any], smallest: int) -> dict[str, Any]:
    source, publication = document.get("source") or {}, document.get("publication")
    job = document["job"]
    return {
        "source": {
            "conn_id": source.get("conn_id"),
            "table": source.get("table"),
            "query": bool(source.get("query")),
            "rows": disclosure.count(source.get("rows"), smallest),
            "columns": source.get("columns"),
            "fingerprint": source.get("fingerprint"),
        },
        "job": {"name": document["name"], "sha256": job.get("sha256")},
        "columns": _columns(job.get("document") or {}),
        "share": None
        if publication is None
        else {name: publication.get(name) for name in ("release_id", "folder", "table", "manifest_sha256")},
    }


def _columns(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each column of the source with what becomes of it."""
    becomes = {
        "identifying": "left out",
        "quasi-identifying": "generalized to its level, or suppressed",
        "sensitive": "as it is, protected by the criteria",
        "insensitive": "as it is",
    }
    attributes = job.get("attributes") or {}
    return [
        {"name": name, "role": one.get("role"), "becomes": becomes.get(one.get("role"), "")}
        for name, one in attributes.items()
    ]


def _groups(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return how many groups a policy makes of each attribute; the labels stand in the job of the release."""
    policy = document.get("policy")
    if not isinstance(policy, Mapping):
        return None
    return {name: len(groups) for name, groups in policy.items() if isinstance(groups, (list, tuple))}
