"""From an Airflow connection to Spark: its address and its token, which no job file and no record of a run holds.

In: the connection of a job's `spark.conn_id`. Out: settings of Spark. The connection is of the types that Airflow's
provider for Spark has, which need not be installed: `spark_connect` (host, port, login as user_id, password as token,
extra `use_ssl`) or `spark` (host and port as the master).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException, BaseHook

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from engine import Job, SparkAccess

_CONNECT, _MASTER = "spark_connect", "spark"
_SAYS_NOTHING = {"spark-binary", "spark-home"}
_CLIENT = "client"


def spark_access(job: Job) -> SparkAccess:
    """Return where the Spark of a job is: by its connection, if it names one.

    Raises
    ------
    AirflowFailException
        There is no such connection, or it is none of Spark.
    """
    from engine import SparkAccess  # noqa: PLC0415 (a DAG file imports this module)

    conn_id = None if job.spark is None else job.spark.conn_id
    if conn_id is None:
        return SparkAccess()
    return SparkAccess(configuration_of(_connection(conn_id)))


def configuration_of(connection: Connection) -> dict[str, str]:
    """Return the settings of Spark that a connection stands for.

    Raises
    ------
    AirflowFailException
        It is none of Spark, or has no host, or extras that would have no effect.
    """
    kind, conn_id = connection.conn_type, connection.conn_id
    if kind not in {_CONNECT, _MASTER}:
        raise AirflowFailException(
            f"connection {conn_id!r}: is of type {kind}, must be {_CONNECT} or {_MASTER} for spark.conn_id"
        )
    if not connection.host:
        raise AirflowFailException(f"connection {conn_id!r}: names no host of Spark")
    extra = connection.extra_dejson
    known = {"use_ssl"} if kind == _CONNECT else {"deploy-mode", "queue", *_SAYS_NOTHING}
    foreign = sorted(set(extra) - known)
    if foreign:
        raise AirflowFailException(
            f"connection {conn_id!r}: its extras {', '.join(foreign)} would have no effect; take them out, or set what "
            "they mean in spark.config of the job"
        )
    return _remote(connection, extra) if kind == _CONNECT else _master(connection, extra)


def _remote(connection: Connection, extra: dict[str, Any]) -> dict[str, str]:
    address = _with_port(f"sc://{str(connection.host).removeprefix('sc://').rstrip('/')}", connection.port)
    given = {"user_id": connection.login, "token": connection.password}
    parameters = [f"{name}={quote(value, safe='')}" for name, value in given.items() if value]
    if str(extra.get("use_ssl", "")).lower() in {"true", "1"}:
        parameters.append("use_ssl=true")
    return {"spark.remote": f"{address}/;{';'.join(parameters)}" if parameters else address}


def _master(connection: Connection, extra: dict[str, Any]) -> dict[str, str]:
    if extra.get("deploy-mode", _CLIENT) != _CLIENT:
        raise AirflowFailException(
            f"connection {connection.conn_id!r}: deploy-mode is {extra['deploy-mode']}, and the task is the driver of "
            "its Spark; set client"
        )
    queue = {"spark.yarn.queue": str(extra["queue"])} if extra.get("queue") else {}
    return {"spark.master": _with_port(str(connection.host), connection.port), **queue}


def _with_port(address: str, port: int | None) -> str:
    return address if port is None else f"{address}:{port}"


def _connection(conn_id: str) -> Connection:
    try:
        return BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise _undefined(conn_id) from None


async def remote_of(conn_id: str) -> str:
    """Return the address of the Spark Connect server of a connection, in an event loop.

    Raises
    ------
    AirflowFailException
        As of `spark_access`; or it is of no Spark Connect server.
    """
    try:
        connection = await BaseHook.aget_connection(conn_id)
    except AirflowNotFoundException:
        raise _undefined(conn_id) from None
    remote = configuration_of(connection).get("spark.remote")
    if remote is None:
        raise AirflowFailException(f"connection {conn_id!r}: is no longer that of a Spark Connect server; run again")
    return remote


def _undefined(conn_id: str) -> AirflowFailException:
    return AirflowFailException(
        f"connection {conn_id!r} is not defined: add it in Airflow under Admin, Connections, or set the environment "
        f"variable AIRFLOW_CONN_{conn_id.upper()}"
    )
