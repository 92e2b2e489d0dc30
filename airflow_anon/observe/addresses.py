"""Addresses of the pages: under the base path of Airflow, every part percent-encoded."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode, urlsplit

PREFIX = "/deidentification"


def base_path() -> str:
    """Return the path of Airflow's base URL without its last slash; empty at the root of a host."""
    from airflow.configuration import conf  # noqa: PLC0415 (a DAG file that asks for nothing needs no settings)

    return urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")


def view_address(path: str) -> str:
    """Return the address that the UI shows in a frame; it fills in names in braces, percent-encoded."""
    return f"{base_path()}{PREFIX}{path}"


class Addresses:
    """Addresses as one response writes them.

    Parameters
    ----------
    root : str
        Path under which the app is mounted, the base path of Airflow included: `root_path` of the request.
    """

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self._airflow = self._root.removesuffix(PREFIX)

    def overview(self, **query: Any) -> str:
        """Return the address of the page of all jobs."""
        return self._address("/", query)

    def ledger(self, **query: Any) -> str:
        """Return the address of the ledger's page, which says whether the chain is intact."""
        return self._address("/ledger", query)

    def ledger_csv(self, **query: Any) -> str:
        """Return the address of the ledger's entries as CSV."""
        return self._address("/ledger.csv", query)

    def history(self, dag_id: str, **query: Any) -> str:
        """Return the address of the history of a DAG's jobs."""
        return self._address(f"/dags/{_part(dag_id)}", query)

    def release(self, dag_id: str, run_id: str, task_id: str | None = None, **query: Any) -> str:
        """Return the address of the audit page of a run, or of one of its tasks."""
        task = "" if task_id is None else f"/tasks/{_part(task_id)}"
        return self._address(f"/dags/{_part(dag_id)}/runs/{_part(run_id)}{task}", query)

    def approval(self, dag_id: str, run_id: str, task_id: str) -> str:
        """Return the address of the page of a release that waits for approval, by the task that asks."""
        return self._address(f"/dags/{_part(dag_id)}/runs/{_part(run_id)}/tasks/{_part(task_id)}/approval", {})

    def certificate(self, dag_id: str, run_id: str, **query: Any) -> str:
        """Return the address of a release certificate."""
        return self._address(f"/dags/{_part(dag_id)}/runs/{_part(run_id)}/certificate", query)

    def compare(self, dag_id: str, **query: Any) -> str:
        """Return the address of the page that lays two releases of a DAG's job side by side."""
        return self._address(f"/dags/{_part(dag_id)}/compare", query)

    def frontier(self, dag_id: str, job: str) -> str:
        """Return the address of a job's risk-utility frontier."""
        return self._address(f"/dags/{_part(dag_id)}/frontier", {"job": job})

    def static(self, name: str, **query: Any) -> str:
        """Return the address of a static file."""
        return self._address(f"/static/{name}", query)

    def run(self, dag_id: str, run_id: str) -> str:
        """Return the address of a run in the Airflow UI."""
        return f"{self._airflow}/dags/{_part(dag_id)}/runs/{_part(run_id)}"

    def login(self, asked: str) -> str:
        """Return the address where Airflow asks for a login; afterwards it leads to the path `asked`."""
        return f"{self._airflow}/api/v2/auth/login?{urlencode({'next': asked})}"

    def _address(self, path: str, query: dict[str, Any]) -> str:
        given = {name: value for name, value in query.items() if value not in (None, "")}
        return f"{self._root}{path}" + (f"?{urlencode(given)}" if given else "")


def _part(text: str) -> str:
    return quote(text, safe="")
