"""Airflow's simple auth manager, with users who see the DAGs that their name says: `only-stays` sees `stays`."""

from __future__ import annotations

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

USERS = "admin:admin,blind:viewer,only-stays:viewer,only-other:viewer,only-hospital-stays:viewer,runs-only:viewer"


class PerDagAuthManager(SimpleAuthManager):
    """`admin` sees all, `blind` nothing, `only-X` the DAG X, and `runs-only` DAGs and runs but no XComs."""

    def is_authorized_dag(self, *, method, user, access_entity=None, details=None):
        name = user.username
        if name == "admin":
            return super().is_authorized_dag(method=method, user=user, access_entity=access_entity, details=details)
        if name == "runs-only":
            return access_entity is not DagAccessEntity.XCOM
        return details is not None and details.id is not None and name == f"only-{details.id}"
