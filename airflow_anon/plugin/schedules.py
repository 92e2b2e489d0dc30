"""What Airflow's own tables say: when a DAG runs next, the state of a run, and whether the newest run failed."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_anon.plugin.page_forms.overview import FailedRun
from airflow_anon.plugin.page_forms.parts import NextRun
from airflow_anon.run.check_only import CHECK_ONLY
from airflow_anon.run.facts import ENDED


def schedules(dag_ids: Iterable[str]) -> dict[str, NextRun]:
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


def failed_newest(dag_ids: Iterable[str]) -> dict[str, FailedRun]:
    """Return `run_id` and `ended_at` (UTC, ISO 8601, or None) of each DAG's newest run that has ended, if it failed.

    A run that was to check only is none of them: it releases nothing, so it says nothing of the releases.
    """
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 (after Airflow's settings)
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import func, select  # noqa: PLC0415

    columns = (DagRun.id, DagRun.dag_id, DagRun.run_id, DagRun.end_date, DagRun.state, DagRun.conf)
    asked = set(dag_ids)
    checks: list[int] = []
    found: dict[str, FailedRun] = {}
    with create_session() as session:
        while asked:
            ended = (DagRun.dag_id.in_(sorted(asked)), DagRun.state.in_(ENDED), DagRun.id.not_in(checks))
            newest = select(func.max(DagRun.id)).where(*ended).group_by(DagRun.dag_id)
            rows = session.execute(select(*columns).where(DagRun.id.in_(newest))).all()
            asked = set()
            for number, dag_id, run_id, at, state, conf in rows:
                if _asks_to_check(conf):
                    checks.append(number)
                    asked.add(dag_id)
                elif state == "failed":
                    ended_at = None if at is None else at.isoformat(timespec="seconds")
                    found[dag_id] = FailedRun(run_id=run_id, ended_at=ended_at)
    return found


def run_state(dag_id: str, run_id: str) -> str | None:
    """Return the state of a run; None if Airflow has no such run (any more)."""
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 (after Airflow's settings)
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    with create_session() as session:
        found = session.scalar(select(DagRun.state).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
    return None if found is None else str(getattr(found, "value", found))


def run_only_checks(dag_id: str, run_id: str) -> bool:
    """Whether a run was triggered with `check_only`: it releases nothing, and the ledger has no entry for it."""
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 (after Airflow's settings)
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    with create_session() as session:
        given = session.scalar(select(DagRun.conf).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
    return _asks_to_check(given)


def _asks_to_check(conf: object) -> bool:
    return isinstance(conf, dict) and conf.get(CHECK_ONLY) is True


def run_tasks(dag_id: str, run_id: str) -> list[str]:
    """Return the ids of the tasks of a run, sorted; none if Airflow has no such run (any more)."""
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415 (after Airflow's settings)
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    named = select(TaskInstance.task_id).where(TaskInstance.dag_id == dag_id, TaskInstance.run_id == run_id)
    with create_session() as session:
        return sorted(set(session.scalars(named)))


def dags_tagged(tag: str) -> dict[str, str]:
    """Return the description of each DAG with a tag that Airflow still finds in a DAG file, by its id."""
    from airflow.models.dag import DagModel, DagTag  # noqa: PLC0415 (after Airflow's settings)
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    tagged = (
        select(DagModel.dag_id, DagModel.description)
        .join(DagTag, DagTag.dag_id == DagModel.dag_id)
        .where(DagTag.name == tag, DagModel.is_stale.is_(False))
    )
    with create_session() as session:
        return {dag_id: description or "" for dag_id, description in session.execute(tagged)}
