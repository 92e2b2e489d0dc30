"""The page that says whether the ledger is intact, how to check it from outside, and what is in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.ledger import LedgerPage, Newest, ShownBreak
from airflow_anon.plugin.pages.ledger_list import entries_seen, ledger_list

if TYPE_CHECKING:
    from airflow_anon.ledger import Break, Entry
    from airflow_anon.plugin.reading import Reading

ELSEWHERE = "An entry of a DAG that you may not see was changed or removed."


def ledger_page(reading: Reading, parameters: Mapping[str, str]) -> LedgerPage:
    """Return the state of the chain, and the list of entries.

    Parameters
    ----------
    parameters : mapping
        ``documents``: "1" to check the documents too, which takes longer; ``job``, ``state``, ``page`` of the list.
    """
    documents = parameters.get("documents") == "1"
    breaks = list(reading.ledger.check()) if documents else reading.chain
    seen = entries_seen(reading)
    newest = next(iter(seen), None)
    return {
        "exists": reading.exists,
        "documents_checked": documents,
        "intact": reading.exists and not breaks,
        "entries": len(seen),
        "newest": None if newest is None else _newest(newest),
        "breaks": _shown(reading, breaks),
        "jobs": len(reading.latest()),
        "listed": ledger_list(reading, parameters),
    }


def _newest(entry: Entry) -> Newest:
    return {"sequence": entry.sequence, "recorded_at": entry.recorded_at, "entry_sha256": entry.entry_sha256}


def _shown(reading: Reading, breaks: list[Break]) -> list[ShownBreak]:
    """Return the breaks; of DAGs that the user may not see, only that there are some."""
    seen = reading.visible(one.dag_id for one in breaks if one.dag_id is not None)
    shown: list[ShownBreak] = [
        {"sequence": one.sequence, "dag_id": one.dag_id, "what": one.what}
        for one in breaks
        if one.dag_id is None or one.dag_id in seen
    ]
    if not reading.sees_any:
        shown = []
    if len(shown) < len(breaks):
        shown.append({"sequence": None, "dag_id": None, "what": ELSEWHERE})
    return shown
