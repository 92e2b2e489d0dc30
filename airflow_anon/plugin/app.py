"""The app of all pages, as Airflow mounts it: one way in, past the guard; one way out, with the security headers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from airflow_anon.observe.addresses import Addresses
from airflow_anon.plugin.access import guard, visible_dags
from airflow_anon.plugin.assets import asset
from airflow_anon.plugin.catalogue import PAGES, Page
from airflow_anon.plugin.headers import Application, SecurityHeaders
from airflow_anon.plugin.reading import NoSuchPageError, Reading
from airflow_anon.plugin.rendering import render, render_alone

_log = logging.getLogger(__name__)

NOT_FOUND = "There is no such page: neither the ledger nor Airflow knows what it asks for."
UNREACHABLE = "The release ledger cannot be read now; the log of the API server says why."


class PagesApp(FastAPI):
    """An app whose every answer has the security headers, errors included."""

    def build_middleware_stack(self) -> Application:
        """Put the headers around all that FastAPI does."""
        return SecurityHeaders(super().build_middleware_stack())


def make_app() -> FastAPI:
    """Make the app. The guard is a dependency of the app, so that no route is without it."""
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
    for page in PAGES:
        app.add_api_route(page.path, _page_route(page), name=page.name, response_model=None)
    app.add_api_route("/static/{name}", _static, name="static", response_model=None)
    app.add_exception_handler(HTTPException, _refusal)
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


def _document(page: Page, request: Request) -> Mapping[str, Any]:
    """Return a page's document for the user that asks.

    Raises
    ------
    HTTPException
        404 where there is none, 503 where the ledger cannot be read.
    """
    from airflow_anon.ledger import LedgerError, open_ledger  # noqa: PLC0415 (SQLAlchemy, when the first page is read)

    user = request.state.deidentification_user
    # What the path names was guarded, so a query may not replace it.
    parameters = {**request.query_params, **request.path_params}
    try:
        reading = Reading(open_ledger(), lambda dag_ids: visible_dags(user, dag_ids))
        return page.build(reading, parameters)
    except NoSuchPageError:
        raise HTTPException(404, NOT_FOUND) from None
    except LedgerError as problem:
        _log.exception("The release ledger cannot be read")
        raise HTTPException(503, UNREACHABLE) from problem


def _static(request: Request, name: str) -> Response:
    found = asset(name)
    if found is None:
        raise HTTPException(404, NOT_FOUND)
    # Kept by the browser, and only there: asked for again, the answer is that nothing changed.
    headers = {"cache-control": "private, no-cache", "etag": found.etag, "vary": "Accept-Encoding"}
    if found.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        return Response(found.compressed, media_type=found.media_type, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)


def _refusal(request: Request, problem: Exception) -> Response:
    """Answer an error in the form of what was asked for."""
    assert isinstance(problem, HTTPException)  # noqa: S101 (it is registered for nothing else)
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    if path.startswith(("/api/", "/static/")):
        return JSONResponse({"detail": problem.detail}, problem.status_code, headers=problem.headers)
    document = {"status": problem.status_code, "detail": str(problem.detail)}
    page = render("error", document, Addresses(request.scope.get("root_path", "")))
    return HTMLResponse(page, problem.status_code, headers=problem.headers)
