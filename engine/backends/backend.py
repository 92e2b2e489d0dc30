"""What a backend is, and the one that is the engine's own: Arrow reads, compiled kernels count."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Literal, Protocol

import pyarrow as pa
from typing_extensions import Self

from engine.tables.counting.keyed import KeyedClasses
from engine.tables.counting.provisional_tuples import Tuples
from engine.tables.release.release_order import Placed
from engine.tables.sources.table import Table

BackendName = Literal["arrow", "duckdb", "spark", "sql"]


class Backend(Protocol):
    """Counts combinations of values, and places records; both may use memory and disk until it is closed.

    Attributes
    ----------
    name : str
        As the report names it.
    memory : int or None
        Bytes that the process may use, if the job says so.
    """

    name: BackendName
    memory: int | None

    @property
    def tuples(self) -> Tuples | None:
        """How a table is counted; None where the engine reads its records one by one."""

    def placed(self, table: Table, keyed: KeyedClasses, others: pa.Schema) -> Iterator[Placed] | None:
        """Return the columns `others` of each record with the place of its class, -1 for one that is left out.

        None where the engine looks the records up itself.

        Raises
        ------
        InvalidData
            The table holds values or combinations that were not counted.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Arrow:
    """The engine's own loops over record batches."""

    name: BackendName = "arrow"
    tuples: Tuples | None = None

    def __init__(self, memory: int | None = None) -> None:
        self.memory = memory

    def placed(self, table: Table, keyed: KeyedClasses, others: pa.Schema) -> Iterator[Placed] | None:
        """See `Backend.placed`."""
        del table, keyed, others
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, error, trace
