"""The plugin that shows releases in the Airflow UI: pages, their JSON, and their links in the UI.

Every Airflow process imports this module, but only the API server needs the app: it is made on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from airflow.plugins_manager import AirflowPlugin

from airflow_anon.observe.addresses import PREFIX, base_path, view_address

NAME = "deidentification"


class _OnDemand:
    """A class attribute that is computed on the first read and kept."""

    def __init__(self, make: Callable[[], list[Any]]) -> None:
        self._make = make
        self._made: list[Any] | None = None

    def __get__(self, instance: object, owner: type) -> list[Any]:
        if self._made is None:
            self._made = self._make()
        return self._made


def _apps() -> list[dict[str, Any]]:
    from airflow_anon.plugin.app import make_app  # noqa: PLC0415 (only the API server needs FastAPI)

    return [{"app": make_app(), "url_prefix": PREFIX, "name": "De-identification"}]


def _views() -> list[dict[str, Any]]:
    run = "/dags/{DAG_ID}/runs/{RUN_ID}"
    return [
        _view("De-identification", NAME, "/", "nav"),
        _view("Releases", "deidentification-releases", "/dags/{DAG_ID}", "dag"),
        _view("Release audit", "deidentification-run", run, "dag_run"),
        _view("Release audit", "deidentification-task", run + "/tasks/{TASK_ID}", "task_instance"),
    ]


def _view(name: str, route: str, path: str, destination: str) -> dict[str, Any]:
    icons = f"{base_path()}{PREFIX}/static"
    return {
        "name": name,
        "href": view_address(path),
        "destination": destination,
        "url_route": route,
        "icon": f"{icons}/icon-light.svg",
        "icon_dark_mode": f"{icons}/icon-dark.svg",
    }


def _links() -> list[Any]:
    from airflow_anon.links import ReleaseAuditLink, ReleaseCertificateLink  # noqa: PLC0415 (it imports the operators)

    return [ReleaseAuditLink(), ReleaseCertificateLink()]


class DeidentificationPlugin(AirflowPlugin):
    """Pages about de-identified releases.

    Attributes
    ----------
    fastapi_apps : list of dict
        The app of all pages, under `/deidentification`.
    external_views : list of dict
        Entries of the navigation, of a DAG, of a run and of a task instance.
    operator_extra_links : list of BaseOperatorLink
        Buttons on the tasks.
    """

    name = NAME
    fastapi_apps = _OnDemand(_apps)
    external_views = _OnDemand(_views)
    operator_extra_links = _OnDemand(_links)
