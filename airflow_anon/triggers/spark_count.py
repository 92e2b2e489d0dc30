"""Waits until a Spark Connect server has counted a table; whoever ends the wait ends the query."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_anon.transport.spark_connection import remote_of


class SparkCountTrigger(BaseTrigger):
    """Let a Spark Connect server count, and wait for it.

    A task that is failed, cleared or times out while it is deferred has its trigger cancelled, which ends the query in
    Spark. The event holds no value of a record and no secret.

    Parameters
    ----------
    count : mapping
        `engine.CountApart.document`.
    conn_id : str, optional
        The connection of the server, which is read here, so that its token is not kept with the trigger.
    remote : str, optional
        The address of the server, of a job without a connection.
    """

    def __init__(self, count: Mapping[str, Any], conn_id: str | None = None, remote: str | None = None) -> None:
        super().__init__()
        self.count = dict(count)
        self.conn_id = conn_id
        self.remote = remote

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what Airflow keeps of the trigger."""
        known = {"count": self.count, "conn_id": self.conn_id, "remote": self.remote}
        return "airflow_anon.triggers.spark_count.SparkCountTrigger", known

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield once: where Spark wrote, or what went wrong in words of the engine and whether a retry may help."""
        from engine import CountApart, EngineError, SparkLost  # noqa: PLC0415 (a DAG file imports this module)

        try:
            remote = self.remote if self.conn_id is None else await remote_of(self.conn_id)
            folder = await CountApart.of(self.count).result(str(remote))
        except (EngineError, AirflowException) as problem:
            yield TriggerEvent({"problem": str(problem), "passing": isinstance(problem, SparkLost)})
        else:
            yield TriggerEvent({"folder": folder, "columns": self.count["columns"]})
