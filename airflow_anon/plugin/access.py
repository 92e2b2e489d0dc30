"""Access rules: a caller must be logged in, and sees the DAGs whose XComs Airflow lets that user read.

An entry holds figures that the tasks of its DAG returned, so it is shown to users who may read these XComs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from fastapi import Request

if TYPE_CHECKING:
    from airflow.api_fastapi.auth.managers.models.batch_apis import IsAuthorizedDagRequest

_requires_dag = requires_access_dag(method="GET", access_entity=DagAccessEntity.XCOM)
_requires_answering = requires_access_dag(method="PUT", access_entity=DagAccessEntity.HITL_DETAIL)


def guard(request: Request, user: GetUserDep) -> None:
    """Refuse a user who is not logged in or may not see the DAG in the address.

    It is a dependency of the app, so that no route can lack it.

    Raises
    ------
    HTTPException
        401 without a valid login, 403 without access to the DAG.
    """
    if "dag_id" in request.path_params:
        _requires_dag(request, user)
    request.state.deidentification_user = user


def answering(request: Request) -> None:
    """Refuse a user who may not answer requests of the DAG in the address, as Airflow's own API does.

    Raises
    ------
    HTTPException
        403 without that access.
    """
    _requires_answering(request, request.state.deidentification_user)


def visible_dags(user: Any, dag_ids: Iterable[str]) -> set[str]:
    """Return the DAGs whose entries a user may see; they need not exist in Airflow any more."""
    asked = sorted(set(dag_ids))
    teams = _teams(asked)
    requests = {dag_id: _request(dag_id, teams.get(dag_id)) for dag_id in asked}
    manager = get_auth_manager()
    # Most users see all DAGs, which takes one query; otherwise it takes one query per DAG.
    if manager.batch_is_authorized_dag(list(requests.values()), user=user):
        return set(asked)
    return {dag_id for dag_id, one in requests.items() if manager.batch_is_authorized_dag([one], user=user)}


def _request(dag_id: str, team: str | None) -> IsAuthorizedDagRequest:
    # Airflow versions without teams have no such field.
    details = DagDetails(id=dag_id) if team is None else DagDetails(id=dag_id, team_name=team)
    return {"method": "GET", "access_entity": DagAccessEntity.XCOM, "details": details}


def _teams(dag_ids: list[str]) -> dict[str, str | None]:
    from airflow.models.dag import DagModel  # noqa: PLC0415 (after Airflow's settings)

    teams_of = getattr(DagModel, "get_dag_id_to_team_name_mapping", None)
    return {} if teams_of is None or not dag_ids else dict(teams_of(dag_ids))
