"""What Airflow's own tables say beside the ledger: when a DAG runs next, and how a run stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def schedules(dag_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return `at` (UTC, ISO 8601, or None for no schedule) and `paused` of each DAG that Airflow knows."""
    from airflow.models.dag import DagModel  # noqa: PLC0415 (after Airflow's settings)
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    columns = (DagModel.dag_id, DagModel.next_dagrun_create_after, DagModel.is_paused, DagModel.is_stale)
    with create_session() as session:
        rows = session.execute(select(*columns).where(DagModel.dag_id.in_(sorted(set(dag_ids))))).all()
    return {
        dag_id: {"at": None if at is None else at.isoformat(timespec="seconds"), "paused": bool(paused)}
        for dag_id, at, paused, stale in rows
        if not stale
    }


def run_state(dag_id: str, run_id: str) -> str | None:
    """Return the state of a run, None where Airflow has no such run (any more)."""
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 (after Airflow's settings)
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    with create_session() as session:
        found = session.scalar(select(DagRun.state).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
    return None if found is None else str(getattr(found, "value", found))
