"""From the source to the share: source table, job, destination, and the treatment of each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.disclosure.counts import count
from airflow_anon.ledger import form_parts as parts
from airflow_anon.ledger import form_publication
from airflow_anon.plugin.page_forms.content import Lineage, Share, Source, SourceColumn
from airflow_anon.plugin.pages.replaced import pseudonyms_in_words, shift_in_words
from airflow_anon.plugin.pages.transformed import transformed_in_words

if TYPE_CHECKING:
    from airflow_anon.ledger.form import Document

BECOMES = {
    "identifying": "left out",
    "quasi-identifying": "generalized to its level, or suppressed",
    "mixed": "generalized, each record to a level of its own, or suppressed",
    "sensitive": "as it is, protected by the criteria",
    "insensitive": "as it is",
}


def lineage(document: Document) -> Lineage:
    """Return source, job, share and columns."""
    return {
        "source": _source(document.source or parts.Source(), document.smallest),
        "job": {"name": document.name, "sha256": document.job.sha256},
        "sample": None if document.job.sample is None else document.job.sample.fraction,
        "classes_of_at_least": document.smallest if document.job.is_private else None,
        "columns": _columns(document),
        "share": None if document.publication is None else _share(document.publication),
    }


def _source(found: parts.Source, smallest: int) -> Source:
    return {
        "conn_id": found.conn_id,
        "table": found.table,
        "query": bool(found.query),
        "tables": [_table(name, one) for name, one in (found.tables or {}).items()],
        "rows": count(found.rows, smallest),
        "columns": found.columns,
        "fingerprint": found.fingerprint,
        "fingerprint_key_id": found.fingerprint_key_id,
    }


def _table(name: str, found: parts.SourceTable) -> str:
    """Name one of several linked tables, and what it is read from."""
    read = "a query" if found.query else found.table
    return name if read in {None, name} else f"{name} ({read})"


def _columns(document: Document) -> list[SourceColumn]:
    """Return each column of the source with its treatment in the release."""
    job = document.job
    mixed = any(one.level is None for one in (document.levels or {}).values())
    return [
        {"name": name, "role": one.role, "becomes": _becomes(name, one, job.shift, mixed=mixed)}
        for name, one in job.attributes.items()
    ]


def _kind(column: parts.Attribute, *, mixed: bool) -> str:
    return "mixed" if mixed and column.role == "quasi-identifying" else column.role or ""


def _becomes(name: str, column: parts.Attribute, shift: parts.Shift | None, *, mixed: bool) -> str:
    if column.is_pseudonymized:
        return pseudonyms_in_words(name, column)
    if column.is_transformed:
        return transformed_in_words(column)
    if not column.is_shifted:
        return BECOMES.get(_kind(column, mixed=mixed), "")
    moved = shift_in_words(shift)
    return f"{moved}, then {BECOMES[_kind(column, mixed=mixed)]}" if column.role == "quasi-identifying" else moved


def _share(found: form_publication.Publication) -> Share:
    table = found.table
    return {
        "release_id": found.release_id,
        "folder": found.folder,
        "also": found.folders[1:],
        "table": None if table is None else {"conn_id": table.conn_id, "table": table.table},
        "manifest_sha256": found.manifest_sha256,
    }
