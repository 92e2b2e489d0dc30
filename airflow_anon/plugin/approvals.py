"""Releases that wait for approval, as Airflow's own tables know them, and answers written into them.

In: ids of a run and of the task that asks. Out: what the task left in its XComs, and what Airflow recorded of an
answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_anon.run.approval import CANDIDATE_KEY, ROLES_KEY, XCOM_KEY

_OPERATOR = "ApproveReleaseOperator"
_WAITS = ("awaiting_input", "deferred")
"""States of a task that waits for an answer: since Airflow 3.3, and before."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a task asked for.

    Attributes
    ----------
    waits : bool
        Whether it still waits, and nobody has answered.
    decision, candidate : Any
        What the task left: `Decision` of `run.approval`, and the document of the release; None if it left none.
    answered_by : str or None
        Who answered last, whether or not the answer counts.
    """

    waits: bool
    decision: Any
    candidate: Any
    answered_by: str | None


def waiting_tasks(dag_id: str, run_id: str) -> list[str]:
    """Return the ids of the tasks of a run whose release waits for approval, sorted."""
    return [task for dag, run, task in waiting_releases() if (dag, run) == (dag_id, run_id)]


def waiting_releases() -> list[tuple[str, str, str]]:
    """Return DAG, run and task of each release that waits for approval, sorted."""
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415 (after Airflow's settings)
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    names = (TaskInstance.dag_id, TaskInstance.run_id, TaskInstance.task_id)
    asking = (TaskInstance.operator == _OPERATOR, TaskInstance.state.in_(_WAITS))
    with create_session() as session:
        return sorted((dag, run, task) for dag, run, task in session.execute(select(*names).where(*asking)))


def asked(dag_id: str, run_id: str, task_id: str) -> Asked | None:
    """Return what a task asked for; None if there is no such task that asks for approval."""
    from airflow.models.hitl import HITLDetail  # noqa: PLC0415 (after Airflow's settings)
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    found = select(TaskInstance).where(
        TaskInstance.dag_id == dag_id,
        TaskInstance.run_id == run_id,
        TaskInstance.task_id == task_id,
        TaskInstance.operator == _OPERATOR,
    )
    with create_session() as session:
        instance = session.scalar(found)
        if instance is None:
            return None
        detail = session.scalar(select(HITLDetail).where(HITLDetail.ti_id == instance.id))
        told = {key: _told(session, instance, key) for key in (XCOM_KEY, CANDIDATE_KEY)}
        answered = detail is not None and detail.responded_at is not None
        user = detail.responded_by_user if detail is not None else None
        return Asked(
            waits=instance.state in _WAITS and detail is not None and not answered,
            decision=told[XCOM_KEY],
            candidate=told[CANDIDATE_KEY],
            answered_by=str(user["name"] or user["id"]) if answered and user else None,
        )


def write_answer(
    dag_id: str, run_id: str, task_id: str, *, option: str, comment: str, user: Any, roles: tuple[str, ...]
) -> None:
    """Write an answer as Airflow's own API does, and with it the user's roles, which Airflow does not record.

    Raises
    ------
    HTTPException
        Of Airflow: somebody has answered already, or the answer is not among those offered.
    """
    from airflow.api_fastapi.core_api.datamodels.hitl import UpdateHITLDetailPayload  # noqa: PLC0415 (as above)
    from airflow.api_fastapi.core_api.routes.public.hitl import update_hitl_detail  # noqa: PLC0415
    from airflow.models.xcom import XComModel  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415

    # In one transaction, so that no answer is read with the roles of somebody else.
    with create_session() as session:
        update_hitl_detail(
            dag_id,
            run_id,
            task_id,
            UpdateHITLDetailPayload(chosen_options=[option], params_input={"comment": comment}),
            user,
            session,
        )
        XComModel.set(
            key=ROLES_KEY,
            value={"user_id": str(user.get_id()), "roles": list(roles)},
            dag_id=dag_id,
            task_id=task_id,
            run_id=run_id,
            serialize=False,
            session=session,
        )


def roles_of(user: Any) -> tuple[str, ...]:
    """Return the names of a user's roles, as far as the auth manager of this Airflow tells them."""
    found = getattr(user, "roles", None)
    several = found if isinstance(found, (list, tuple)) else [getattr(user, "role", None)]
    names = (one if isinstance(one, str) else getattr(one, "name", None) for one in several)
    return tuple(name for name in names if isinstance(name, str))


def _told(session: Any, instance: Any, key: str) -> Any:
    from airflow.models.xcom import XComModel  # noqa: PLC0415 (after Airflow's settings)

    query = XComModel.get_many(run_id=instance.run_id, key=key, task_ids=[instance.task_id], dag_ids=[instance.dag_id])
    row = session.scalars(query).first()
    if row is None:
        return None
    try:
        found = XComModel.deserialize_value(row)
    except (TypeError, ValueError):
        return None
    return found if isinstance(found, Mapping) else None
