"""A count that a Spark Connect server makes while no process works or waits for it but an event loop.

In: the request to count, which is plain data, and the address of the server. Out: the folder that Spark wrote. What
waits opens a session of its own: nothing has to live between who asks, who waits and who reads. However the waiting
ends, the session is released, which ends its query. Who is killed leaves a session, which whoever waits next for the
same count ends first; if nobody does, the server ends a query that nobody listens to (`detachedTimeout`, 5 minutes).
See https://github.com/apache/spark/blob/master/sql/connect/common/src/main/protobuf/spark/connect/base.proto.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from engine.backends.spark_failures import explained
from engine.backends.spark_session import SETTINGS, channel_builder, refuse_missing, unanswered
from engine.errors import EngineError

_SERVICE = "/spark.connect.SparkConnectService/"
_STARTED = "spark.deidentification.started"
"""A setting that only a session has in which a count was started."""
_MOST_SESSIONS = 100
"""So often who waits may have been killed."""
_SECONDS = 30
"""How long a server may take to answer what needs no work of it."""
_PATIENCE = (1, 2, 4, 8, 15, 30)
"""Seconds between attempts to hear of a query again, after a connection broke; together less than `detachedTimeout`."""


@dataclass(frozen=True)
class CountApart:
    """A count of a table that a Spark Connect server is to make.

    Attributes
    ----------
    request : bytes
        `ExecutePlanRequest`, which writes the combinations of values as Parquet.
    settings : mapping
        Settings of the session.
    folder : str
        Where Spark writes: a folder in it for each session that was started.
    columns : tuple of str
        What is counted.
    """

    request: bytes
    settings: Mapping[str, str]
    folder: str
    columns: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the same as JSON has it; it names columns and folders, and holds no value and no secret."""
        return {
            "request": base64.b64encode(self.request).decode(),
            "settings": dict(self.settings),
            "folder": self.folder,
            "columns": list(self.columns),
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> CountApart:
        """Return the count of a `document`."""
        request = base64.b64decode(document["request"])
        return cls(request, document["settings"], document["folder"], tuple(document["columns"]))

    async def result(self, remote: str) -> str:
        """Let a server count, and return the folder that it wrote; a wait that is cancelled ends the query.

        Parameters
        ----------
        remote : str
            Address of the server, `sc://…`; the task reads the folder, whoever waits need not see it.

        Raises
        ------
        SparkLost
            The server does not answer, ended, or was told to end the query.
        EngineError
            It could not count.
        """
        refuse_missing(is_remote=True)
        # these take a second, and other waits share the event loop
        protocol = await asyncio.to_thread(importlib.import_module, "pyspark.sql.connect.proto")
        builder = await asyncio.to_thread(channel_builder, remote)
        server = _Server(builder, protocol, protocol.ExecutePlanRequest.FromString(self.request))
        async with server.channel:
            if not await _is_ready(server.channel):
                raise unanswered(builder)
            try:
                number = await server.open(self.settings)
                try:
                    folder = f"{self.folder}/{number}"
                    await server.write(folder)
                finally:
                    # also if this task is cancelled
                    with suppress(Exception):
                        await server.call("ReleaseSession", protocol.ReleaseSessionRequest)
            except EngineError:
                raise
            except Exception as problem:  # noqa: BLE001 (of the network or of Spark; its text may quote values)
                kind = type(problem).__name__
                raise explained(f"{kind}: {problem}", kind) from None
            return folder


class _Server:
    """A server, asked by requests of one session at a time."""

    def __init__(self, builder: Any, protocol: Any, request: Any) -> None:
        self.channel = _channel(builder)
        self._protocol = protocol
        self._metadata = tuple(builder.metadata())
        self._request = request
        self._base = uuid.UUID(request.session_id)
        request.operation_id = str(uuid.uuid4())
        request.ClearField("client_observed_server_side_session_id")
        options = protocol.ExecutePlanRequest.RequestOption
        del request.request_options[:]
        reattachable = protocol.ReattachOptions(reattachable=True)
        request.request_options.append(options(reattach_options=reattachable))

    async def open(self, settings: Mapping[str, str]) -> int:
        """Begin a session, after those were ended that somebody left who was killed; return its number."""
        from grpc.aio import AioRpcError  # noqa: PLC0415 (an optional extra)

        pairs = {**settings, **SETTINGS, _STARTED: "true"}.items()
        operations = self._protocol.ConfigRequest.Operation
        asked = operations(get_option=self._protocol.ConfigRequest.GetOption(keys=[_STARTED]))
        set_all = self._protocol.ConfigRequest.Set(
            pairs=[self._protocol.KeyValue(key=key, value=value) for key, value in pairs]
        )
        for number in range(_MOST_SESSIONS):
            self._request.session_id = str(uuid.uuid5(self._base, str(number)))
            try:
                said = await self.call("Config", self._protocol.ConfigRequest, operation=asked)
            except AioRpcError as problem:
                if "SESSION_CLOSED" in str(problem.details()):
                    continue
                raise
            if any(pair.HasField("value") for pair in said.pairs):
                await self.call("ReleaseSession", self._protocol.ReleaseSessionRequest)
                continue
            await self.call("Config", self._protocol.ConfigRequest, operation=operations(set=set_all))
            return number
        raise explained("StatusCode.UNAVAILABLE", "")

    async def write(self, folder: str) -> None:
        """Let Spark write into a folder, and listen until it has."""
        self._request.plan.command.write_operation.path = f"file://{folder}"
        stream = self._call_many("ExecutePlan", self._request)
        heard = ""
        waits = iter(_PATIENCE)
        while True:
            try:
                async for response in stream:
                    heard = response.response_id
                    waits = iter(_PATIENCE)
                    if response.HasField("result_complete"):
                        return
            except Exception as problem:
                wait = next(waits, None) if _is_passing(problem) else None
                if wait is None:
                    raise
                await asyncio.sleep(wait)
            # a stream that ends before its result goes on in another one
            again = self._protocol.ReattachExecuteRequest(
                session_id=self._request.session_id,
                user_context=self._request.user_context,
                operation_id=self._request.operation_id,
                last_response_id=heard or None,
            )
            stream = self._call_many("ReattachExecute", again)

    async def call(self, name: str, kind: Any, **fields: Any) -> Any:
        """Send a request of the session that has one answer."""
        request = kind(session_id=self._request.session_id, user_context=self._request.user_context, **fields)
        answer = getattr(self._protocol, kind.__name__.replace("Request", "Response"))
        method = self.channel.unary_unary(
            _SERVICE + name, request_serializer=kind.SerializeToString, response_deserializer=answer.FromString
        )
        return await method(request, metadata=self._metadata, timeout=_SECONDS)

    def _call_many(self, name: str, request: Any) -> AsyncIterator[Any]:
        method = self.channel.unary_stream(
            _SERVICE + name,
            request_serializer=type(request).SerializeToString,
            response_deserializer=self._protocol.ExecutePlanResponse.FromString,
        )
        stream: AsyncIterator[Any] = method(request, metadata=self._metadata)
        return stream


def _channel(builder: Any) -> Any:
    """Return the channel of an event loop to the server of a `DefaultChannelBuilder`."""
    import grpc  # noqa: PLC0415 (an optional extra)

    options = [("grpc.keepalive_time_ms", 60_000), ("grpc.max_receive_message_length", -1)]
    if not builder.secure:
        return grpc.aio.insecure_channel(builder.endpoint, options=options)
    # as pyspark does: a token for localhost needs no certificate
    is_local = builder.host == "localhost" and builder.getDefault("use_ssl", "").lower() != "true"
    credentials = grpc.local_channel_credentials() if is_local else grpc.ssl_channel_credentials()
    if builder.token is not None:
        token = grpc.access_token_call_credentials(builder.token)
        credentials = grpc.composite_channel_credentials(credentials, token)
    return grpc.aio.secure_channel(builder.endpoint, credentials, options=options)


async def _is_ready(channel: Any) -> bool:
    """Wait until a server accepts a connection; false if it does not in time."""
    ready = asyncio.ensure_future(channel.channel_ready())
    try:
        # `wait_for` of Python before 3.12 loses a cancellation that comes as what it waits for ends
        done, _ = await asyncio.wait({ready}, timeout=_SECONDS)
    finally:
        ready.cancel()
    return bool(done)


def _is_passing(problem: Exception) -> bool:
    """Tell whether a connection broke, and the query may go on."""
    text = str(problem)
    return "StatusCode.UNAVAILABLE" in text or "INVALID_CURSOR.DISCONNECTED" in text
