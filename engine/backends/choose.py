"""Which backend a run uses.

In: the job's wish, the opened table. Out: a backend. `auto` is DuckDB only where it is worth it: see docs/scale.md.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from engine.backends.backend import Arrow, Backend
from engine.backends.duckdb_backend import DuckDb, unfit
from engine.tables.data_set import DataSet
from engine.tables.source import ParquetFile, Table

LARGE = 2 * 10**9
"""Bytes of Parquet from which DuckDB's threads are worth what it costs more."""


def backend_for(
    wish: Literal["auto", "arrow", "duckdb"],
    table: Table,
    columns: Sequence[str],
    memory: int | None = None,
    folder: Path | None = None,
) -> Backend:
    """Return the backend of a run; enter it, so that what it keeps on disk is removed.

    Parameters
    ----------
    columns : sequence of str
        The released columns.
    memory : int, optional
        Bytes that the process may use.
    folder : path, optional
        Where it may keep files while it runs.

    Raises
    ------
    InvalidJob
        The job asks for DuckDB, which is not installed.
    """
    wanted = wish == "duckdb" or (wish == "auto" and _is_large(table) and _fits(table, columns))
    return DuckDb(memory, folder) if wanted else Arrow(memory)


def _is_large(table: Table) -> bool:
    paths = [table.path] if isinstance(table, ParquetFile) else table.paths if isinstance(table, DataSet) else ()
    parquet = [path for path in paths if path.suffix.lower() in {".parquet", ".pq"}]
    return sum(path.stat().st_size for path in parquet) >= LARGE


def _fits(table: Table, columns: Sequence[str]) -> bool:
    return importlib.util.find_spec("duckdb") is not None and unfit(table.schema, columns) is None
