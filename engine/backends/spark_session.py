"""The session of Spark in which a run counts: one that is there already, one of a cluster, or one of this machine.

In: settings of Spark. Out: a session of its own, so that nobody else's settings change. What the run started ends with
it: its queries, and the Java process if it started one. A session that the process had before stays as it is, whichever
thread opened it. Of several runs in one process, one that starts Spark and ends it keeps the others waiting.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine.errors import EngineError, InvalidJob, SparkLost

_EXTRA = (
    "backend: spark is not installed; install the extra 'spark' (pip install 'airflow-anon[spark]'), or set "
    "backend: arrow"
)
_JAVA = (
    "backend: spark needs Java 17 or newer, which is not found; install a runtime (Debian: openjdk-17-jre-headless), "
    "set JAVA_HOME, name a cluster as spark.remote, or set backend: arrow"
)
_SHARE = 0.4
"""Of the job's memory: the frequency table and the search are in the process of the task."""
_LEAST = 600 * 10**6
"""Spark starts with no less than 450 MiB."""
_SECONDS = 30
"""How long the Java process may take to end before it is killed."""

_ANSWER_SECONDS = 10
"""How long a Spark Connect server may take to accept a connection."""
_RETRIES = 6
"""Attempts of pyspark to reach a server again, one minute together; a server that begins anew has lost the session."""

_STARTED_HERE = threading.RLock()
"""Held by a run from when it starts Spark in this process until it has ended it."""

SETTINGS = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    # a damaged or absent file is an error, not an empty one
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # dates are those of the file, also before 1582
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
}
"""What a run depends on, whatever the cluster is set to."""


class Session:
    """A session of Spark.

    Parameters
    ----------
    configuration : mapping
        Settings of Spark; `spark.remote` is the address of a Spark Connect server, `spark.master` that of a cluster.
    memory : int or None
        Bytes that a run on this machine may use.
    scratch : path
        Where Spark on this machine keeps what does not fit into memory.

    Raises
    ------
    InvalidJob
        The extra or Java is missing.
    """

    def __init__(self, configuration: Mapping[str, str], memory: int | None, scratch: Path) -> None:
        self._configuration = dict(configuration)
        self._memory = memory
        self._scratch = scratch
        self._spark: Any = None
        self._started_java = False
        self._started_spark = False
        self._held = _Held()
        refuse_missing(is_remote=self.is_remote)

    @property
    def is_remote(self) -> bool:
        """Whether a Spark Connect server is asked."""
        return "spark.remote" in self._configuration

    @property
    def is_open(self) -> bool:
        """Whether anything was started."""
        return self._spark is not None

    def spark(self) -> Any:
        """Return the session; it is opened when it is first needed.

        Raises
        ------
        InvalidJob
            There is no such cluster, or Spark does not start.
        """
        if self._spark is None:
            try:
                self._spark = self._remote() if self.is_remote else self._classic()
                for key, value in SETTINGS.items():
                    self._spark.conf.set(key, value)
            except EngineError:
                raise
            except ImportError:
                raise InvalidJob(_EXTRA) from None
            except Exception as problem:  # noqa: BLE001 (of Java, of the network, or of Spark)
                self.close()
                raise InvalidJob(
                    f"backend spark: no session could be opened ({type(problem).__name__}); check spark.remote or "
                    "spark.master, that the cluster runs the same version, and spark.config"
                ) from None
        return self._spark

    def _remote(self) -> Any:
        from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415 (an optional extra)
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415

        channel = channel_builder(self._configuration["spark.remote"])
        refuse_unanswered(channel)
        channel.add_interceptor(self._held.interceptor())
        builder = SparkSession.builder.channelBuilder(channel)
        for key, value in self._configuration.items():
            if key != "spark.remote":
                builder = builder.config(key, value)
        session = builder.create()
        session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
        return session

    def unsent(self, write: Callable[[], None]) -> Any:
        """Return the request by which a frame would be written, which is not sent to its Spark Connect server."""
        return self._held.request_of(write)

    def _classic(self) -> Any:
        from pyspark import SparkContext  # noqa: PLC0415 (an optional extra)
        from pyspark.sql import SparkSession  # noqa: PLC0415

        _STARTED_HERE.acquire()
        # the public ways tell of the sessions of this thread alone
        context = SparkContext._active_spark_context  # noqa: SLF001
        if context is not None and context._jsc is not None:  # noqa: SLF001 (a stopped one has none)
            _STARTED_HERE.release()
            before = SparkSession._instantiatedSession  # noqa: SLF001
            return (SparkSession(context) if before is None else before).newSession()
        self._started_spark = True
        self._started_java = SparkContext._gateway is None  # noqa: SLF001 (nothing else tells)
        interrupted = signal.getsignal(signal.SIGINT)
        # what a log shows of a failed task may quote a value
        quiet = {"spark.log.level": "OFF", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        settings = {"spark.app.name": "de-identification", **quiet, **self._local(), **self._configuration}
        builder = SparkSession.builder
        for key, value in settings.items():
            builder = builder.config(key, value)
        try:
            return builder.getOrCreate()
        finally:
            if threading.current_thread() is threading.main_thread():
                # Spark replaces the handler of its process
                signal.signal(signal.SIGINT, interrupted)

    def _local(self) -> dict[str, str]:
        """Return the settings of Spark on this machine."""
        if not self._configuration.get("spark.master", "local").startswith("local"):
            return {}
        local = {
            "spark.master": "local[*]",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": str(self._scratch),
            "spark.sql.warehouse.dir": str(self._scratch),
            "spark.driver.defaultJavaOptions": f'"-Djava.io.tmpdir={self._scratch}"',
        }
        if self._memory is not None:
            local["spark.driver.memory"] = f"{max(int(self._memory * _SHARE), _LEAST) // 2**20}m"
        return local

    def close(self, *, interrupted: bool = False) -> None:
        """End the queries of the session, and what it started; also after Spark itself has ended."""
        try:
            self._end(interrupted=interrupted)
        finally:
            if self._started_spark:
                self._started_spark = False
                _STARTED_HERE.release()

    def _end(self, *, interrupted: bool) -> None:
        spark, self._spark = self._spark, None
        if spark is not None:
            # it is a session of the run alone
            _aside(spark.interruptAll)
            if self.is_remote or self._started_spark:
                _aside(spark.stop)
            elif interrupted:
                # the answer to the query that was left would be read as that to the next call of this thread
                with suppress(Exception):
                    spark._sc._gateway._gateway_client.get_thread_connection().close()  # noqa: SLF001
        if self._started_java:
            self._started_java = False
            _end_java()


class _UnsentError(Exception):
    """A request that was to be sent."""

    def __init__(self, request: Any) -> None:
        super().__init__("a request is kept")
        self.request = request


class _Held:
    """Keeps a request to a Spark Connect server from being sent."""

    def __init__(self) -> None:
        self._holds = False

    def interceptor(self) -> Any:
        """Return what pyspark shows its requests to before it sends them."""
        import grpc  # noqa: PLC0415 (an optional extra)

        held = self

        class Interceptor(grpc.UnaryStreamClientInterceptor):  # type: ignore[misc]
            def intercept_unary_stream(self, continuation: Any, details: Any, request: Any) -> Any:
                if held._holds:
                    raise _UnsentError(request)
                return continuation(details, request)

        return Interceptor()

    def request_of(self, write: Callable[[], None]) -> Any:
        """Return the request that `write` makes."""
        self._holds = True
        try:
            write()
        except _UnsentError as unsent:
            return unsent.request
        finally:
            self._holds = False
        raise AssertionError("nothing was to be sent")


def channel_builder(remote: str) -> Any:
    """Return how pyspark reads the address of a Spark Connect server.

    Raises
    ------
    InvalidJob
        It is no such address.
    """
    from pyspark.errors import PySparkException  # noqa: PLC0415 (an optional extra)
    from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415

    try:
        return DefaultChannelBuilder(remote)
    except (PySparkException, ValueError):
        # its text may quote a token
        raise InvalidJob("spark.remote: is no address of a Spark Connect server; write sc://host:15002") from None


def unanswered(channel: Any) -> SparkLost:
    """Return the error of a server that accepts no connection."""
    return SparkLost(
        f"backend spark: no Spark Connect server answers at {channel.endpoint}; start it, correct spark.remote or the "
        "connection (with use_ssl=true where the server wants TLS), or open the port for this machine"
    )


def refuse_unanswered(channel: Any) -> None:
    """Raise SparkLost if a server does not accept a connection within seconds; pyspark asks it for minutes."""
    import grpc  # noqa: PLC0415 (an optional extra)

    connection = channel.toChannel()
    try:
        grpc.channel_ready_future(connection).result(timeout=_ANSWER_SECONDS)
    except grpc.FutureTimeoutError:
        raise unanswered(channel) from None
    finally:
        connection.close()


def _aside(call: Callable[[], Any]) -> None:
    """Call Spark in a thread of its own: the connection of this one may still wait for a query that was left."""

    def quietly() -> None:
        with suppress(Exception):
            call()

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(_SECONDS)


def _end_java() -> None:
    """End the Java process that pyspark keeps until Python ends, so that another run may start its own."""
    from pyspark import SparkContext  # noqa: PLC0415 (an optional extra)

    gateway = SparkContext._gateway  # noqa: SLF001 (there is no public way)
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001
    if gateway is None:
        return
    with suppress(Exception):
        gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    with suppress(Exception):
        process.stdin.close()  # it ends with its input
    try:
        process.wait(_SECONDS)
    except Exception:  # noqa: BLE001 (it may be gone or hang)
        process.kill()
        process.wait()


def refuse_missing(*, is_remote: bool) -> None:
    """Raise InvalidJob if the extra is missing, or Java where it is needed."""
    if find_spec("pyspark") is None:
        raise InvalidJob(_EXTRA)
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if home is None else shutil.which("java", path=str(Path(home) / "bin"))
    if not is_remote and java is None:
        raise InvalidJob(_JAVA)
