"""The entries of the ledger as a list: filtered, page by page, or all of them as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_anon.plugin.page_forms.ledger import LedgerList
from airflow_anon.plugin.pages.history import PER_PAGE, page_number
from airflow_anon.plugin.pages.outline import ENTRY_STATES, outline, state_of
from airflow_anon.plugin.words import figure

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.plugin.reading import Reading

COLUMNS = (
    "sequence",
    "recorded_at",
    "state",
    "job",
    "dag_id",
    "run_id",
    "task_group",
    "attempt",
    "release_id",
    "readers",
    "rows",
    "suppressed",
    "suppressed_share",
    "information_loss",
    "privacy_margin",
    "optimal",
    "seconds",
    "approval",
    "approved_by",
    "approval_comment",
    "entry_sha256",
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a text that a spreadsheet would run as a formula."""


def ledger_list(reading: Reading, parameters: Mapping[str, str]) -> LedgerList:
    """Return one page of the entries that the user may see, newest first.

    Parameters
    ----------
    parameters : mapping
        ``job``: only this job; ``state``: only entries with it; ``page``: from 1.
    """
    found = _listed(reading, parameters)
    pages = max(1, -(-len(found) // PER_PAGE))
    page = min(page_number(parameters), pages)
    return {
        "jobs": sorted({entry.job for entry in reading.latest()}),
        "filters": {"job": parameters.get("job", ""), "state": _state(parameters)},
        "states": dict(ENTRY_STATES),
        "total": len(found),
        "page": page,
        "pages": pages,
        "attempts": [outline(reading, entry) for entry in found[(page - 1) * PER_PAGE : page * PER_PAGE]],
    }


def ledger_csv(reading: Reading, parameters: Mapping[str, str]) -> str:
    """Return all entries of the list as CSV with a header (RFC 4180); a withheld figure is told as on the pages.

    A text that a spreadsheet would run as a formula has an apostrophe before it.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for entry in _listed(reading, parameters):
        row = {**outline(reading, entry), **_approval(reading, entry), "entry_sha256": entry.entry_sha256}
        writer.writerow([_cell(row[name]) for name in COLUMNS])
    return text.getvalue()


def entries_seen(reading: Reading, job: str | None = None) -> list[Entry]:
    """Return the entries that the user may see, of one job or of all, newest first."""
    entries = reading.ledger.of_job(job) if job else reading.ledger.entries()
    seen = reading.visible(entry.dag_id for entry in entries)
    return [entry for entry in entries if entry.dag_id in seen]


def _listed(reading: Reading, parameters: Mapping[str, str]) -> list[Entry]:
    state = _state(parameters)
    return [entry for entry in entries_seen(reading, parameters.get("job")) if not state or state_of(entry) == state]


def _approval(reading: Reading, entry: Entry) -> dict[str, str | None]:
    """Return the answer to an attempt that waited for approval, whose it is, and its comment."""
    document = reading.document(entry.sequence) if reading.asks_approval(entry) else None
    found = None if document is None else document.approval
    if found is None:
        return {"approval": None, "approved_by": None, "approval_comment": None}
    return {"approval": found.answer, "approved_by": found.user, "approval_comment": found.comment}


def _state(parameters: Mapping[str, str]) -> str:
    return parameters["state"] if parameters.get("state") in ENTRY_STATES else ""


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return figure(value) if value["below"] is not None else value["value"]
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
