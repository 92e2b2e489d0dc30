"""Which backend a run uses.

In: what the job asks for. Out: a backend. `auto` is `arrow` at every size: of no table that was measured DuckDB counts
and places the records in less CPU time or memory (docs/scale.md). It is for machines with more cores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from engine.backends.backend import Arrow, Backend
from engine.backends.duckdb_backend import DuckDb
from engine.backends.spark_access import SparkAccess
from engine.backends.sql_backend import Sql
from engine.backends.warehouse import Warehouse
from engine.errors import InvalidJob


def backend_for(
    wish: Literal["auto", "arrow", "duckdb", "spark", "sql"],
    memory: int | None = None,
    folder: Path | None = None,
    source: Any = None,
    spark: SparkAccess | None = None,
) -> Backend:
    """Return the backend of a run; enter it, so that what it keeps on disk is removed.

    Parameters
    ----------
    memory : int, optional
        Bytes that the process may use.
    folder : path, optional
        Where it may keep files while it runs.
    source : Table or Warehouse, optional
        What is counted; a warehouse counts itself.
    spark : SparkAccess, optional
        Where Spark is, and what it counted before.

    Raises
    ------
    InvalidJob
        The job asks for DuckDB or Spark, which is not installed; or for SQL without a warehouse, or the reverse.
    """
    if wish == "sql":
        if not isinstance(source, Warehouse):
            raise InvalidJob(
                "backend: sql needs the connection of its warehouse, which Airflow's tasks have; run the job there, or "
                "set backend: auto"
            )
        return Sql(source, memory)
    if isinstance(source, Warehouse):
        raise InvalidJob(f"backend: is {wish}, must be sql for a table that stays in its warehouse")
    if wish == "spark":
        from engine.backends.spark_backend import Spark  # noqa: PLC0415 (it loads asyncio, which takes 60 ms)

        access = spark or SparkAccess()
        return Spark(access.configuration, memory, folder, access.counted)
    return DuckDb(memory, folder) if wish == "duckdb" else Arrow(memory)
