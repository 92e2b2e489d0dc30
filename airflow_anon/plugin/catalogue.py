"""All pages: the address, document and template of each.

Each page has a JSON twin that returns the document from which the page is rendered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_anon.plugin.pages.approval import approval
from airflow_anon.plugin.pages.certificate import certificate
from airflow_anon.plugin.pages.compare import compare
from airflow_anon.plugin.pages.frontier import frontier
from airflow_anon.plugin.pages.history import history
from airflow_anon.plugin.pages.ledger import ledger_page
from airflow_anon.plugin.pages.overview import overview
from airflow_anon.plugin.pages.release import release
from airflow_anon.plugin.reading import Reading

Build = Callable[[Reading, Mapping[str, str]], Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page.

    Attributes
    ----------
    name : str
        Name of the page and of its template.
    path, api_path : str
        Paths of the page and of its JSON.
    build : callable
        Makes the page's document from a `Reading` and the parameters of the address.
    """

    name: str
    path: str
    api_path: str
    build: Build


RUN = "/dags/{dag_id}/runs/{run_id:path}"
APPROVAL = f"{RUN}/tasks/{{task_id}}/approval"


def _page(name: str, path: str, build: Build, api_path: str | None = None) -> Page:
    return Page(name=name, path=path, api_path=api_path or f"/api{path}", build=build)


# A run id may hold slashes, so longer paths must come before the path of the run alone.
PAGES = (
    _page("overview", "/", overview, "/api/jobs"),
    _page("ledger", "/ledger", ledger_page),
    _page("compare", "/dags/{dag_id}/compare", compare),
    _page("frontier", "/dags/{dag_id}/frontier", frontier),
    _page("approval", APPROVAL, approval),
    _page("certificate", f"{RUN}/certificate", certificate),
    _page("release", f"{RUN}/tasks/{{task_id}}", release),
    _page("release", RUN, release),
    _page("history", "/dags/{dag_id}", history),
)
