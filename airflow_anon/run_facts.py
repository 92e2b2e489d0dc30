"""What a task knows of its run: who started it, which attempt it is, and how its job's tasks are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.sdk import Context


def run_facts(context: Context) -> dict[str, Any]:
    """Return `run` of the ledger's documents (docs/ledger.md), plain text and numbers."""
    run = context["dag_run"]
    return {
        "dag_id": run.dag_id,
        "run_id": run.run_id,
        "run_type": str(getattr(run.run_type, "value", run.run_type)),
        "logical_date": _moment(run.logical_date),
        "run_after": _moment(run.run_after),
        "attempt": (getattr(run, "clear_number", None) or 0) + 1,
        "task_group": task_group(context["ti"].task_id),
        "triggered_by": getattr(run, "triggering_user_name", None),
    }


def task_group(task_id: str) -> str:
    """Return the prefix of the ids of a task's group, with its dot; empty for a task in none."""
    group, dot, _ = task_id.rpartition(".")
    return group + dot


def _moment(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat()
