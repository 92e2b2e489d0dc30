"""Counting and looking up by DuckDB: in parallel, within a memory limit, spilling to a private folder.

In: a `Table`; Parquet files are read by DuckDB itself, anything else it is given as a stream of record batches, so that
a CSV file is parsed alike by every backend. Out: see `engine.backends`. Values that are equal to DuckDB and are not to
the engine (0.0 and -0.0) are told apart by their sign; types that DuckDB changes are refused.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from typing_extensions import Self

from engine.backends.backend import BackendName
from engine.backends.exchange import CHANGED, in_types, is_float, plain_schema, unchanged
from engine.errors import EngineError, InvalidData, InvalidJob
from engine.tables.counting.keyed import REFUSED, KeyedClasses
from engine.tables.counting.provisional_tuples import Tuples
from engine.tables.release.release_order import Placed
from engine.tables.sources.column_types import plain_type, type_name
from engine.tables.sources.data_set import DataSet
from engine.tables.sources.parquet_source import ParquetFile
from engine.tables.sources.table import BATCH_ROWS, Table

_SHARE = 0.4
"""Of the job's memory: DuckDB's own limit leaves out what it reads into, and the frequency table is beside it."""
_LEAST = 250 * 10**6


class DuckDb:
    """A private database in memory, which spills to a folder that is removed when it is closed.

    Parameters
    ----------
    memory : int, optional
        Bytes that the whole process may use.
    folder : path, optional
        Where the folder for spilling is made; else where the system keeps temporary files.

    Raises
    ------
    InvalidJob
        DuckDB is not installed, or the limit is too small.
    """

    name: BackendName = "duckdb"

    def __init__(self, memory: int | None = None, folder: Path | None = None) -> None:
        try:
            import duckdb  # noqa: PLC0415 (an optional extra)
        except ImportError:
            raise InvalidJob(
                "backend: duckdb is not installed; install the extra 'duckdb' (pip install 'airflow-anon[duckdb]'), or "
                "set backend: arrow"
            ) from None
        self.memory = memory
        self._duckdb: Any = duckdb
        self._stack = ExitStack()
        spill = self._stack.enter_context(tempfile.TemporaryDirectory(prefix=".spill-", dir=folder))
        settings: dict[str, Any] = {
            "temp_directory": spill,
            "threads": str(os.cpu_count() or 1),
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        if memory is not None:
            settings["memory_limit"] = f"{max(int(memory * _SHARE), _LEAST) // 10**6}MB"
        try:
            self._connection: Any = self._stack.enter_context(duckdb.connect(config=settings))
            # closing waits for what a statement is still doing that a signal ended, so that is ended first
            self._stack.callback(self._connection.interrupt)
            # else a terminal, or a log, shows the progress of each statement
            self._connection.execute("SET enable_progress_bar = false")
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def tuples(self) -> Tuples | None:
        """See `Backend.tuples`."""
        return self._tuples

    def _tuples(self, table: Table, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        refuse(table.schema, columns)
        schema = plain_schema(table.schema, columns)
        keys = [*map(_quoted, columns), *(f"signbit({_quoted(name)})" for name in columns if is_float(schema, name))]
        selected = ", ".join(map(_quoted, columns))
        with self._failures(), self._reading(table, columns) as source:
            rows = self._connection.execute(
                f"SELECT {selected}, count(*) AS {_quoted(_free(columns))} FROM {source} GROUP BY {', '.join(keys)}"
            )
            for batch in rows.to_arrow_reader(BATCH_ROWS):
                counts = batch.column(batch.num_columns - 1).to_numpy()
                yield in_types(batch, schema), counts.astype(np.int64, copy=False)

    def placed(self, table: Table, keyed: KeyedClasses, others: pa.Schema) -> Iterator[Placed] | None:
        """See `Backend.placed`."""
        refuse(table.schema, [*keyed.keys_of, *others.names])
        return self._placed(table, keyed, others)

    def _placed(self, table: Table, keyed: KeyedClasses, others: pa.Schema) -> Iterator[Placed]:
        columns = [*keyed.keys_of, *(name for name in others.names if name not in keyed.keys_of)]
        schema = plain_schema(table.schema, columns)
        joins, sums = [], []
        for number, (name, keys_of) in enumerate(keyed.keys_of.items()):
            values = self._distinct(table, name)
            self._register(f"map{number}", {"value": values, "part": pa.array(keys_of(values))})
            joins.append(f"LEFT JOIN map{number} ON {_same(f's.{_quoted(name)}', f'map{number}.value', schema, name)}")
            sums.append(f"map{number}.part")
        self._register("classes", {"key": pa.array(keyed.keys), "place": pa.array(keyed.places)})
        key = " + ".join(f"({one} & {REFUSED - 1})" for one in sums)
        refused = " OR ".join(f"{one} >= {REFUSED}" for one in sums)
        selected = "".join(f"s.{_quoted(name)}, " for name in others.names)
        with self._failures(), self._reading(table, columns) as source:
            rows = self._connection.execute(
                f"SELECT {selected} CASE WHEN ({key}) IS NULL THEN -2 WHEN {refused} THEN {keyed.refused_place} "
                f"ELSE coalesce(classes.place, -2) END AS {_quoted(_free(columns))} FROM {source} AS s "
                f"{' '.join(joins)} LEFT JOIN classes ON classes.key = ({key})"
            )
            for batch in rows.to_arrow_reader(_batch_rows(table, columns)):
                places = batch.column(batch.num_columns - 1).to_numpy().astype(np.int64, copy=False)
                if places.size and places.min() < -1:
                    raise InvalidData(CHANGED)
                yield in_types(batch, others), places

    def _distinct(self, table: Table, name: str) -> pa.Array:
        """Return the distinct values of a column."""
        schema = plain_schema(table.schema, [name])
        keys = [_quoted(name), *([f"signbit({_quoted(name)})"] if is_float(schema, name) else [])]
        with self._failures(), self._reading(table, [name]) as source:
            found = self._connection.execute(f"SELECT {_quoted(name)} FROM {source} GROUP BY {', '.join(keys)}")
            batches = [in_types(batch, schema) for batch in found.to_arrow_reader(BATCH_ROWS)]
        return pa.Table.from_batches(batches, schema).column(0).combine_chunks()

    def _register(self, name: str, columns: dict[str, pa.Array]) -> None:
        """Make a table of the engine known to DuckDB."""
        self._connection.register("given", pa.table(columns))
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM given")
        self._connection.unregister("given")

    @contextmanager
    def _reading(self, table: Table, columns: Sequence[str]) -> Iterator[str]:
        """Give an expression of SQL that stands for the table."""
        paths = _parquet_paths(table)
        if paths:
            with unchanged(table):
                yield f"read_parquet([{', '.join(_text(str(path)) for path in paths)}], hive_partitioning = false)"
            return
        stream = _Stream(table, plain_schema(table.schema, columns))
        self._connection.register("stream", stream.reader())
        try:
            yield "stream"
        except self._duckdb.Error:
            # DuckDB keeps of an error in the stream only its text
            if stream.failure is not None:
                raise stream.failure from None
            raise
        finally:
            self._connection.unregister("stream")

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn DuckDB's errors, whose texts quote values, into those of the engine."""
        try:
            yield
        except (self._duckdb.Error, OSError, MemoryError, pa.ArrowException) as problem:
            # what goes wrong while batches are fetched comes as an error of Arrow with the text of DuckDB
            raise self._explained(str(problem), type(problem).__name__) from None
        except RuntimeError as problem:
            # what the handler of a signal raised while DuckDB worked, such as the end of the process
            raise problem if problem.__cause__ is None else problem.__cause__ from None

    def _explained(self, text: str, kind: str) -> EngineError:
        if "No space left" in text or "max_temp_directory_size" in text:
            return InvalidJob(
                "backend duckdb: the disk is full that holds its temporary files; make room beside the output, or "
                "raise memory_limit"
            )
        if "Out of Memory" in text or kind in {"OutOfMemoryException", "MemoryError"}:
            limit = "the memory of the machine" if self.memory is None else f"memory_limit {self.memory // 10**6} MB"
            return InvalidJob(
                f"backend duckdb: {limit} is too small for this table, although it spills to disk; raise memory_limit"
            )
        return InvalidData(
            f"source: cannot be read by DuckDB ({kind}); it is damaged, was removed or changed while it was read, or "
            "holds text that is not UTF-8; set backend: arrow to be told the column"
        )


class _Stream:
    """The batches of a table, and the engine's error that ended them, if one did."""

    def __init__(self, table: Table, schema: pa.Schema) -> None:
        self._table = table
        self._schema = schema
        self.failure: EngineError | None = None

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self._schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._table.batches(self._schema.names):
                yield in_types(batch, self._schema)
        except EngineError as failure:
            self.failure = failure
            raise


def is_exact(kind: pa.DataType) -> bool:
    """Return whether DuckDB keeps every value of a type."""
    kind = plain_type(kind)
    if pa.types.is_timestamp(kind):
        return kind.unit != "ns" or kind.tz is None
    if pa.types.is_time(kind):
        return bool(kind.unit != "ns")
    if pa.types.is_decimal128(kind):
        return bool(0 <= kind.scale <= kind.precision)
    return any(
        bool(is_kind(kind))
        for is_kind in (
            pa.types.is_boolean,
            pa.types.is_integer,
            pa.types.is_float32,
            pa.types.is_float64,
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_date32,
        )
    )


def unfit(schema: pa.Schema, columns: Sequence[str]) -> str | None:
    """Return why DuckDB cannot keep these columns of a table as they are; None if it can."""
    for name in columns:
        if not is_exact(schema.field(name).type):
            return f"column {name!r}: DuckDB does not keep every value of type {type_name(schema.field(name).type)}"
    seen: dict[str, str] = {}
    for name in schema.names:
        if not name or "\0" in name:
            return f"column {name!r}: DuckDB knows no columns without a name, or with a NUL character in it"
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            return f"columns {other!r} and {name!r}: DuckDB does not tell names apart by case"
    return None


def refuse(schema: pa.Schema, columns: Sequence[str]) -> None:
    """Raise InvalidData if DuckDB cannot keep these columns as they are."""
    reason = unfit(schema, columns)
    if reason is not None:
        raise InvalidData(f"{reason}; set backend: arrow, or convert it in the source")


def _parquet_paths(table: Table) -> list[Path]:
    """Return the Parquet files of a table, if that is what it is.

    DuckDB would take some names for patterns, reads INT96 with fewer digits, and of what folders name takes other
    values: those of folders above the table too, and some texts for missing.
    """
    if isinstance(table, DataSet) and table.partitions:
        return []
    files = [table] if isinstance(table, ParquetFile) else table.files if isinstance(table, DataSet) else []
    parquet = [file for file in files if isinstance(file, ParquetFile) and not file.int96]
    paths = [file.path for file in parquet]
    fits = len(paths) == len(files) and not any(set(str(path)) & set("*?[]{}") for path in paths)
    return paths if fits else []


def _batch_rows(table: Table, columns: Sequence[str]) -> int:
    """Return the rows of a batch of some columns: fewer of long texts, or of many columns."""
    files = table.files if isinstance(table, DataSet) else [table]
    return min((file.batch_rows(columns) for file in files if isinstance(file, ParquetFile)), default=BATCH_ROWS)


def _same(left: str, right: str, schema: pa.Schema, name: str) -> str:
    same = f"{left} IS NOT DISTINCT FROM {right}"
    return f"{same} AND signbit({left}) IS NOT DISTINCT FROM signbit({right})" if is_float(schema, name) else same


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _free(columns: Sequence[str]) -> str:
    """Return a name that no column has."""
    name = "n"
    while name in {column.casefold() for column in columns}:
        name += "n"
    return name
