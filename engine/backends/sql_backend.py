"""Counting and writing inside a warehouse: the backend of a `Warehouse`, which does both by SQL.

In: the warehouse. Out: see `engine.backends`. The engine maps the distinct values to codes and labels; the warehouse
joins by them and writes the release itself, so no record is placed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from typing_extensions import Self

from engine.backends.backend import BackendName
from engine.backends.warehouse import Warehouse
from engine.tables.counting.keyed import KeyedClasses
from engine.tables.counting.provisional_tuples import Tuples
from engine.tables.release.release_order import Placed
from engine.tables.sources.table import Table


class Sql:
    """The backend of a warehouse.

    Parameters
    ----------
    memory : int, optional
        Bytes that the process may use.
    """

    name: BackendName = "sql"

    def __init__(self, warehouse: Warehouse, memory: int | None = None) -> None:
        self.memory = memory
        self._warehouse = warehouse

    @property
    def tuples(self) -> Tuples | None:
        """See `Backend.tuples`."""
        return self._tuples

    def _tuples(self, table: Table, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        del table
        return self._warehouse.tuples(columns)

    def placed(self, table: Table, keyed: KeyedClasses, others: pa.Schema) -> Iterator[Placed] | None:
        """See `Backend.placed`; the release is written in the warehouse, so nobody asks."""
        del table, keyed
        self._warehouse.batches(others.names)
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, error, trace
