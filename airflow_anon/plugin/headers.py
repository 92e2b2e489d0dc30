"""The security headers of every response: load nothing from outside, run no inline script, cache nothing.

The Airflow UI shows the pages in a frame of the same origin, so a script in them could act as the user.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)
ALWAYS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
UNLESS_SET = {"cache-control": "private, no-store"}


class SecurityHeaders:
    """Add the headers to every response of an application, refusals and errors included."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Pass a request on and its response back, with the headers."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _headers(list(message.get("headers", ())))
            await send(message)

        await self._application(scope, receive, with_headers)


def _headers(given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in given if name.decode("latin-1").lower() not in ALWAYS]
    names = {name.decode("latin-1").lower() for name, _ in kept}
    added = {**ALWAYS, **{name: value for name, value in UNLESS_SET.items() if name not in names}}
    return [*kept, *((name.encode(), value.encode()) for name, value in added.items())]
