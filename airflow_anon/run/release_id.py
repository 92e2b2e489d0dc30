"""The id of a run's release depends on the run alone, so a retry finds what an earlier try left.

`YYYYMMDDTHHMMSSZ-` and 8 hexadecimal digits, so ids sort by time and two DAGs never have the same one.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.sdk import Context


def release_id(context: Context) -> str:
    """Return the release id of the run that `context` belongs to.

    A run without a logical date (started by an asset or by hand) uses its `run_after`: unlike the start date, it stays
    the same when the run is cleared and runs again.
    """
    run = context["dag_run"]
    return _id(run.logical_date or run.run_after, run.dag_id, run.run_id)


def release_id_of(run: Mapping[str, Any]) -> str | None:
    """Return the release id of a run as the ledger's documents have it; None if it has no date."""
    told = run.get("logical_date") or run.get("run_after")
    return None if told is None else _id(dt.datetime.fromisoformat(told), run["dag_id"], run["run_id"])


def _id(moment: dt.datetime, dag_id: str, run_id: str) -> str:
    return f"{moment.astimezone(dt.timezone.utc):%Y%m%dT%H%M%SZ}-{run_digest(dag_id, run_id)}"


def run_digest(dag_id: str, run_id: str) -> str:
    """Return the 8 hexadecimal digits that the release id of a run ends with."""
    return hashlib.sha256(f"{dag_id}/{run_id}".encode()).hexdigest()[:8]
