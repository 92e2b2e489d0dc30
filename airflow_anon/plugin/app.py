"""The app of all pages, mounted by Airflow: every request passes the guard, every response has the security headers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException as Refusal

from airflow_anon.observe.addresses import Addresses
from airflow_anon.plugin.access import guard, visible_dags
from airflow_anon.plugin.answer import ANSWER, answer_route
from airflow_anon.plugin.assets import asset
from airflow_anon.plugin.catalogue import PAGES, Page
from airflow_anon.plugin.headers import Application, SecurityHeaders
from airflow_anon.plugin.pages.ledger_list import ledger_csv
from airflow_anon.plugin.reading import NoSuchPageError, Reading
from airflow_anon.plugin.rendering import render, render_alone

_log = logging.getLogger(__name__)
Built = TypeVar("Built")

NOT_FOUND = "There is no such page: neither the ledger nor Airflow has what the address names."
UNREACHABLE = "The release ledger cannot be read now; see the log of the API server."
FAILED = "The page could not be made; see the log of the API server."
NOT_LOGGED_IN = 401


class PagesApp(FastAPI):
    """An app that sends the security headers with every response, errors included."""

    def build_middleware_stack(self) -> Application:
        """Wrap FastAPI's middleware in the one that sets the headers."""
        return SecurityHeaders(super().build_middleware_stack())


def make_app() -> FastAPI:
    """Make the app; the guard is a dependency of the app, so that no route lacks it."""
    app = PagesApp(
        title="De-identification",
        dependencies=[Depends(guard)],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    for page in PAGES:
        app.add_api_route(page.api_path, _json_route(page), name=f"{page.name} (JSON)", response_model=None)
    app.add_api_route(ANSWER, answer_route, methods=["POST"], name="answer", response_model=None)
    for page in PAGES:
        app.add_api_route(page.path, _page_route(page), name=page.name, response_model=None)
    app.add_api_route("/ledger.csv", _csv, name="ledger (CSV)", response_model=None)
    app.add_api_route("/static/{name}", _static, name="static", response_model=None)
    # Starlette's error is FastAPI's too, and that of an address without a route.
    app.add_exception_handler(Refusal, _refusal)
    app.add_exception_handler(Exception, _failure)
    return app


def _json_route(page: Page) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        return JSONResponse(_document(page, request))

    return answer


def _page_route(page: Page) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        document = _document(page, request)
        addresses = Addresses(request.scope.get("root_path", ""))
        if page.name == "certificate" and "download" in request.query_params:
            name = f"certificate-{int(document['entry']['sequence'])}.html"
            headers = {"content-disposition": f'attachment; filename="{name}"'}
            return HTMLResponse(render_alone(page.name, document, addresses), headers=headers)
        return HTMLResponse(render(page.name, document, addresses))

    return answer


def _csv(request: Request) -> Response:
    headers = {"content-disposition": 'attachment; filename="release-ledger.csv"'}
    return Response(_built(ledger_csv, request), media_type="text/csv", headers=headers)


def _document(page: Page, request: Request) -> Mapping[str, Any]:
    """Return a page's document for the user of the request; errors are those of `_built`."""
    return _built(page.build, request)


def _built(build: Callable[[Reading, Mapping[str, str]], Built], request: Request) -> Built:
    """Return what a function makes of the ledger for the user of the request.

    Raises
    ------
    HTTPException
        404 if there is none, 503 if the ledger cannot be read.
    """
    from airflow_anon.ledger import LedgerError, open_ledger  # noqa: PLC0415 (SQLAlchemy, when the first page is read)

    user = request.state.deidentification_user
    # The guard checked the path's parameters, so the query must not replace them.
    parameters = {**request.query_params, **request.path_params}
    try:
        reading = Reading(open_ledger(), lambda dag_ids: visible_dags(user, dag_ids))
        return build(reading, parameters)
    except NoSuchPageError:
        raise HTTPException(404, NOT_FOUND) from None
    except LedgerError as problem:
        _log.exception("The release ledger cannot be read")
        raise HTTPException(503, UNREACHABLE) from problem


def _static(request: Request, name: str) -> Response:
    found = asset(name)
    if found is None:
        raise HTTPException(404, NOT_FOUND)
    # Only the browser caches it; a repeated request gets 304 Not Modified.
    headers = {"cache-control": "private, no-cache", "etag": found.etag, "vary": "Accept-Encoding"}
    if found.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        return Response(found.compressed, media_type=found.media_type, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)


def _refusal(request: Request, problem: Exception) -> Response:
    """Send an error in the requested form, JSON or HTML."""
    assert isinstance(problem, Refusal)  # noqa: S101 (it is registered for nothing else)
    return _error(request, problem.status_code, problem.detail, problem.headers)


def _failure(request: Request, _: Exception) -> Response:
    """Send an error that nobody foresaw, without its text; it is raised again, so that the server logs it."""
    return _error(request, 500, FAILED)


def _error(request: Request, status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    root = request.scope.get("root_path", "")
    if request.scope["path"].removeprefix(root).startswith("/api/"):
        return JSONResponse({"detail": detail}, status, headers=headers)
    addresses = Addresses(root)
    asked = quote(request.scope["path"]) + (f"?{request.url.query}" if request.url.query else "")
    login = addresses.login(asked) if status == NOT_LOGGED_IN else None
    page = render("error", {"status": status, "detail": str(detail), "login": login}, addresses)
    return HTMLResponse(page, status, headers=headers)
