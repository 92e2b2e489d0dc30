"""One session of Spark for all tests of a process: starting Java costs more than what most of them do."""

from __future__ import annotations

import importlib.util
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

QUICK = {
    "spark.master": "local[2]",
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    # a second compiler does not pay for tables of few rows
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
}
"""Settings with which small tables take little time."""
_CONNECT = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    # so that the answers to a query of seconds come in several streams, as those to one of minutes do elsewhere
    "spark.connect.execute.reattachable.senderMaxStreamDuration": "2s",
    "spark.connect.execute.manager.detachedTimeout": "6s",
    "spark.connect.execute.manager.maintenanceInterval": "1s",
}
"""The Java process of the session is a Spark Connect server too."""


def has_spark() -> bool:
    """Whether Spark can run here."""
    return importlib.util.find_spec("pyspark") is not None and shutil.which("java") is not None


def need_spark() -> None:
    """Skip a test where Spark cannot run."""
    if not has_spark():
        pytest.skip("needs the extra 'spark' and Java")


@contextmanager
def running(folder: Path) -> Iterator[Any]:
    """Give a session that every run of this process uses, and end it with its Java process."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 (only tests of Spark need it)

    from engine.backends.spark_session import _end_java  # noqa: PLC0415

    builder = SparkSession.builder
    for name, value in {**QUICK, **_CONNECT, "spark.local.dir": str(folder)}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        _end_java()


def address_of(session: Any) -> str:
    """Return the address of the Spark Connect server in the Java process of a session."""
    service = getattr(session._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    return f"sc://127.0.0.1:{getattr(service, 'MODULE$').localPort()}"


def endless(backend: type[Any], monkeypatch: Any) -> None:
    """Make the queries of a backend such that they end only when somebody ends them."""
    read = backend._read

    def with_very_many(self: Any, *given: Any) -> Any:
        return read(self, *given).crossJoin(self._spark.range(10**12).withColumnRenamed("id", "\0many"))

    monkeypatch.setattr(backend, "_read", with_very_many)


def once_it_counts(do: Callable[[], None]) -> threading.Thread:
    """Do something in another thread, once Spark works on a query."""
    from pyspark import SparkContext  # noqa: PLC0415 (only tests of Spark need it)

    def wait() -> None:
        # the context is known before it has been made
        while getattr(context := SparkContext._active_spark_context, "_jsc", None) is None or not active_jobs(context):
            time.sleep(0.05)
        do()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def active_jobs(context: Any) -> list[int]:
    """Return the numbers of the jobs that run."""
    # it hears of their ends later than who asked for them
    context._jsc.sc().listenerBus().waitUntilEmpty()
    return list(context.statusTracker().getActiveJobsIds())
