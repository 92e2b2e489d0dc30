"""The health check against a server that answers what it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    """Give a server that answers with its attributes `status` and `body`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(self.server.status)
            self.end_headers()
            self.wfile.write(self.server.body)

        def log_message(self, *_: Any) -> None:
            """Keep the test's output clean."""

    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def check(
    program: Callable[[str], ModuleType], server: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., int]:
    """Give a function that runs the check of a component against a given answer."""
    monkeypatch.setenv("AIRFLOW_ANON_HEALTH_URL", f"http://127.0.0.1:{server.server_port}/health")
    module = program("healthcheck")

    def run(component: str, body: bytes, status: int = 200) -> int:
        server.body, server.status = body, status
        return module.main([component])

    return run


HEALTH = json.dumps(
    {
        "metadatabase": {"status": "healthy"},
        "scheduler": {"status": "unhealthy", "latest_scheduler_heartbeat": None},
        "dag_processor": {"status": None},
    }
).encode()


@pytest.mark.parametrize(
    ("component", "expected"), [("metadatabase", 0), ("scheduler", 1), ("dag_processor", 1), ("triggerer", 1)]
)
def test_only_the_word_healthy_is_healthy(check: Callable[..., int], component: str, expected: int) -> None:
    assert check(component, HEALTH) == expected


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b'{"metadatabase": "healthy"}'])
def test_other_answers_are_not_healthy(check: Callable[..., int], body: bytes) -> None:
    assert check("metadatabase", body) == 1


def test_error_status_is_not_healthy(check: Callable[..., int]) -> None:
    assert check("metadatabase", HEALTH, status=503) == 1


def test_proxy_of_the_environment_is_not_asked(check: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert check("metadatabase", HEALTH) == 0


def test_no_server_is_not_healthy(program: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as closed:
        port = closed.server_port
    monkeypatch.setenv("AIRFLOW_ANON_HEALTH_URL", f"http://127.0.0.1:{port}/health")
    assert program("healthcheck").main(["metadatabase"]) == 1


@pytest.mark.parametrize("arguments", [[], ["celery"], ["scheduler", "triggerer"]])
def test_wrong_call_is_told_apart(program: Callable[[str], ModuleType], arguments: list[str]) -> None:
    assert program("healthcheck").main(arguments) == 2
