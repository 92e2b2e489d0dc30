"""The pages in Airflow's real API app, with logins by name and password, on a ledger of its own for each test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_anon.ledger import Ledger
from tests.airflow_anon.plugin.auth import USERS

PREFIX = "/deidentification"


def made_app(base_url: str) -> Any:
    """Make Airflow's API app with the plugin, below the path of a base URL."""
    import airflow.api_fastapi.app as module  # noqa: PLC0415 (needs the environment)
    from airflow import plugins_manager  # noqa: PLC0415

    from airflow_anon.plugin import DeidentificationPlugin  # noqa: PLC0415

    patch = pytest.MonkeyPatch()
    with patch.context() as changed:
        changed.setattr(plugins_manager, "_get_plugins", lambda: ([DeidentificationPlugin()], {}))
        plugins_manager.get_fastapi_plugins.cache_clear()
        changed.setattr(module, "API_ROOT_PATH", base_url)
        module._AuthManagerState.instance = None
        app = module.create_app()
        plugins_manager.get_fastapi_plugins.cache_clear()
    return app


@pytest.fixture(scope="module")
def airflow_settings(airflow_home: Path) -> Iterator[Path]:
    """Give Airflow users and a secret for its tokens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "tests.airflow_anon.plugin.auth.PerDagAuthManager")
        patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS", USERS)
        patch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "a secret of the tests, " * 4)
        yield airflow_home
    # What other tests ask of Airflow's API must find no users of these.
    import airflow.api_fastapi.app as module  # noqa: PLC0415 (needs the environment)

    module._AuthManagerState.instance = None


@pytest.fixture(scope="session")
def _made_once() -> list[Any]:
    """Give a place for the app and its auth manager, which take a second to make."""
    return []


@pytest.fixture(scope="module")
def api_app(airflow_settings: Path, _made_once: list[Any]) -> Any:
    """Give Airflow's API app with the plugin, the same to all files."""
    import airflow.api_fastapi.app as module  # noqa: PLC0415 (needs the environment)

    if not _made_once:
        _made_once[:] = [made_app("/"), module._AuthManagerState.instance]
    app, module._AuthManagerState.instance = _made_once
    return app


@pytest.fixture(scope="module")
def passwords(api_app: Any, airflow_settings: Path) -> dict[str, str]:
    """Give the users' passwords, which the auth manager made."""
    return json.loads((airflow_settings / "simple_auth_manager_passwords.json.generated").read_text())


def client_of(app: Any, user: str | None, passwords: dict[str, str], base: str = "", *, raising: bool = True) -> Any:
    """Give a client, logged in by name and password as a browser is: with a cookie.

    `raising`: whether an error that the server did not foresee is raised in the test.
    """
    from starlette.testclient import TestClient  # noqa: PLC0415 (needs Airflow)

    client = TestClient(app, follow_redirects=False, raise_server_exceptions=raising)
    if user is not None:
        answer = client.post(f"{base}/auth/token", json={"username": user, "password": passwords[user]})
        assert answer.status_code == 201, answer.text
        client.cookies.set("_token", answer.json()["access_token"])
    return client


@pytest.fixture(scope="module")
def _clients() -> dict[str | None, Any]:
    return {}


@pytest.fixture
def client(api_app: Any, passwords: dict[str, str], _clients: dict[str | None, Any]) -> Callable[..., Any]:
    """Give `client(user)`; None for somebody who is not logged in."""

    def of(user: str | None) -> Any:
        if user not in _clients:
            _clients[user] = client_of(api_app, user, passwords)
        return _clients[user]

    return of


@pytest.fixture
def _no_dags(airflow_home: Path) -> None:
    """Take the DAGs and runs of earlier tests from Airflow's tables: the overview shows broken and failed ones."""
    del airflow_home
    from airflow.models.dag import DagModel  # noqa: PLC0415 (needs the environment)
    from airflow.models.dagrun import DagRun  # noqa: PLC0415
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import delete  # noqa: PLC0415

    with create_session() as session:
        for table in (TaskInstance, DagRun, DagModel):
            session.execute(delete(table))


@pytest.fixture
def ledger(_no_dags: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Give an empty ledger, which the pages read."""
    url = f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", url)
    found = Ledger(url)
    found.migrate()
    return found


@pytest.fixture
def get(client: Callable[..., Any], ledger: Ledger) -> Callable[..., Any]:
    """Give `get(path, user="admin", **options)`, of a path below the plugin's."""

    def of(path: str, user: str | None = "admin", **options: Any) -> Any:
        return client(user).get(f"{PREFIX}{path}", **options)

    return of
