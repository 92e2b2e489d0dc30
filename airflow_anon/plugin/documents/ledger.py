"""Whether the ledger is intact, and how to check it from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_anon.ledger import Break
    from airflow_anon.plugin.reading import Reading

ELSEWHERE = "An entry of a DAG that you may not see is not as it was written."


def ledger_page(reading: Reading, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the state of the chain.

    Parameters
    ----------
    parameters : mapping
        ``documents``: "1" to check the documents too, which takes longer.
    """
    documents = parameters.get("documents") == "1"
    breaks = list(reading.ledger.check()) if documents else reading.chain
    newest = next(iter(reading.ledger.entries(limit=1)), None)
    return {
        "exists": reading.exists,
        "documents_checked": documents,
        "intact": reading.exists and not breaks,
        "entries": 0 if newest is None else newest.sequence,
        "newest": newest
        and {"sequence": newest.sequence, "recorded_at": newest.recorded_at, "entry_sha256": newest.entry_sha256},
        "breaks": _shown(reading, breaks),
        "jobs": len(reading.latest()),
    }


def _shown(reading: Reading, breaks: list[Break]) -> list[dict[str, Any]]:
    """Return the breaks; of DAGs that the user may not see, only that there are some."""
    seen = reading.visible(one.dag_id for one in breaks if one.dag_id is not None)
    shown = [
        {"sequence": one.sequence, "dag_id": one.dag_id, "what": one.what}
        for one in breaks
        if one.dag_id is None or one.dag_id in seen
    ]
    hidden = len(breaks) - len(shown)
    return shown + ([{"sequence": None, "dag_id": None, "what": f"{ELSEWHERE} ({hidden})"}] if hidden else [])
