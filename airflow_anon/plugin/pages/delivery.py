"""What readers get of a release now: the link that leads to it and the table of the SQL share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.release import Delivery, DeliveryVerdict, Place
from airflow_anon.plugin.pages.files import HARMS
from airflow_anon.transport.release_files import CURRENT

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.ledger.delivery import LinkState, TableState
    from airflow_anon.ledger.form import Document
    from airflow_anon.plugin.reading import Reading

ROWS_AT_ONCE = 100_000
"""Records of tables that are recounted when a page is opened; larger tables only on request."""
LINK_WORDS = {
    "matches": "Leads readers to this release",
    "changed": "Leads readers to another release",
    "missing": "Missing: readers find no release",
    "unreachable": "The share cannot be reached from here",
    "superseded": "Leads readers to a newer release",
    "withdrawn": "Does not lead readers to this release any more",
}
TABLE_WORDS = {
    "matches": "Unchanged: holds what was released",
    "changed": "Changed after the release",
    "missing": "Missing",
    "unreachable": "The database cannot be reached from here",
    "superseded": "Holds a newer release",
    "withdrawn": "Was emptied by a recall, or has another release",
    "pending": "Holds a release that is being published",
    "not-recorded": "Its content was not recorded at the release, so it cannot be compared",
    "not-counted": "Says to hold this release; too large to recount at once",
}
_OPEN = ("unreachable", "not-recorded", "not-counted")


def delivery(reading: Reading, entry: Entry, document: Document, *, rows: int | None = ROWS_AT_ONCE) -> Delivery | None:
    """Compare what readers get with a release; None if nothing was published.

    Parameters
    ----------
    rows : int or None
        Do not recount tables of more records; None to recount all.
    """
    from airflow_anon.ledger import delivery_of  # noqa: PLC0415 (only where there is a release)

    if document.publication is None:
        return None
    found = delivery_of(reading.ledger, entry, document, lost=reading.given_up(entry.job), rows_up_to=rows)
    link = None if found.link is None else _link(found.link, CURRENT)
    also = [_link(one, f"current of {one.place}") for one in found.also]
    table = _table(found.table)
    states = [one["state"] for one in (link, *also, table) if one is not None]
    return {"verdict": _verdict(states), "link": link, "table": table, "also": also}


def _link(found: LinkState, name: str) -> Place:
    named = f": {found.named}" if found.named and found.state == "changed" else ""
    return {"name": name, "sha256": None, "state": found.state, "words": LINK_WORDS[found.state] + named}


def _table(found: TableState | None) -> Place | None:
    if found is None:
        return None
    name = f"table {found.table} of connection {found.conn_id}"
    return {"name": name, "sha256": found.sha256, "state": found.state, "words": TABLE_WORDS[found.state]}


def _verdict(states: list[str]) -> DeliveryVerdict:
    if any(state in HARMS for state in states):
        return "changed"
    return "open" if any(state in _OPEN for state in states) else "intact"
