"""What went wrong in Spark, in words of the engine.

In: an error of Spark, of the bridge to Java, or of the network. Out: an error of the engine, without the text of the
first one, which may quote values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import EngineError, InvalidData, InvalidJob, SparkLost

_GONE = (
    "Py4JNetworkError",
    "ConnectionRefusedError",
    "ConnectionResetError",
    "BrokenPipeError",
    "Answer from Java side is empty",
    "SparkContext was shut down",
    "SparkContext has been shutdown",
    "stopped SparkContext",
    "StatusCode.UNAVAILABLE",
    "INVALID_HANDLE.SESSION",
)
_CANCELLED = ("OPERATION_CANCELED", "JOB_CANCELLED", "cancelled part of", "was cancelled", "INTERRUPTED")


@contextmanager
def failures() -> Iterator[None]:
    """Turn errors of Spark, whose texts quote values, into those of the engine."""
    try:
        yield
    except EngineError:
        raise
    except Exception as problem:
        kind = type(problem).__name__
        if not _is_of_spark(problem):
            raise
        raise explained(f"{kind}: {problem}", kind) from None


def _is_of_spark(problem: Exception) -> bool:
    rooms = ("pyspark", "py4j", "grpc", "pyarrow")
    return isinstance(problem, OSError | MemoryError) or any(
        one.__module__.split(".", 1)[0] in rooms for one in type(problem).__mro__
    )


def explained(text: str, kind: str) -> EngineError:
    """Return the error of the engine for the text of one of Spark."""
    if any(sign in text for sign in _CANCELLED):
        return SparkLost("backend spark: its query was cancelled; run again")
    if any(sign in text for sign in _GONE):
        return SparkLost(
            "backend spark: Spark ended while it worked (killed, out of memory, or the connection was lost); look at "
            "its log, give it more memory by memory_limit or spark.config, and run again"
        )
    if "No space left" in text or "disk quota" in text.lower():
        return InvalidJob(
            "backend spark: a disk is full that holds its temporary files; make room beside the output, or where "
            "spark.local.dir is"
        )
    if "OutOfMemoryError" in text or "SparkOutOfMemoryError" in text or kind == "MemoryError":
        return InvalidJob(
            "backend spark: its memory is too small for this table, although it spills to disk; raise memory_limit, or "
            "spark.driver.memory and spark.executor.memory in spark.config"
        )
    if "the folder is not seen" in text or "PATH_NOT_FOUND" in text or "FileNotFoundException" in text:
        return InvalidData(
            "source: Spark does not see the files of this task; mount the folders of source and output at the same "
            "paths on every machine of the cluster, or, if the source changed while it was read, run again"
        )
    return InvalidData(
        f"source: cannot be read by Spark ({kind or 'unknown'}); it is damaged, or was changed while it was read; set "
        "backend: arrow to be told the column"
    )
