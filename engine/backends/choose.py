"""Which backend a run uses.

In: what the job asks for. Out: a backend. `auto` is `arrow` at every size: of no table that was measured DuckDB counts
and places the records in less CPU time or memory (docs/scale.md). It is for machines with more cores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from engine.backends.backend import Arrow, Backend
from engine.backends.duckdb_backend import DuckDb


def backend_for(
    wish: Literal["auto", "arrow", "duckdb"], memory: int | None = None, folder: Path | None = None
) -> Backend:
    """Return the backend of a run; enter it, so that what it keeps on disk is removed.

    Parameters
    ----------
    memory : int, optional
        Bytes that the process may use.
    folder : path, optional
        Where it may keep files while it runs.

    Raises
    ------
    InvalidJob
        The job asks for DuckDB, which is not installed.
    """
    return DuckDb(memory, folder) if wish == "duckdb" else Arrow(memory)
