"""One session of Spark for all tests of a process: starting Java costs more than what most of them do."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
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


def need_spark() -> None:
    """Skip a test where Spark cannot run."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("needs the extra 'spark'")
    if shutil.which("java") is None:
        pytest.skip("needs Java")


@contextmanager
def running(folder: Path) -> Iterator[Any]:
    """Give a session that every run of this process uses, and end it with its Java process."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 (only tests of Spark need it)

    from engine.backends.spark_session import _end_java  # noqa: PLC0415

    builder = SparkSession.builder
    for name, value in {**QUICK, "spark.local.dir": str(folder)}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        _end_java()
