"""Counting and looking up by Spark: on this machine, or on a cluster that sees the files of the task.

In: a `Table`; Parquet files are read by Spark itself, anything else is first written as Parquet by the engine, so that
a CSV file is parsed alike by every backend. Out: see `engine.backends`. Spark groups, joins and spills; what it finds
it leaves as Parquet files in a private folder, from where it is read batch by batch. Values go there and back as they
are: types that Spark changes are refused, and zeros that differ by their sign are told apart by it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from typing_extensions import Self

from engine.backends.backend import BackendName
from engine.backends.exchange import CHANGED, in_types, is_float, plain_schema, unchanged
from engine.backends.spark_access import CountedApart
from engine.backends.spark_apart import CountApart
from engine.backends.spark_failures import explained, failures
from engine.backends.spark_session import Session
from engine.backends.spark_types import refuse, spark_type
from engine.errors import InvalidData
from engine.tables.counting.keyed import REFUSED, KeyedClasses
from engine.tables.counting.provisional_tuples import Tuples
from engine.tables.release.release_order import Placed
from engine.tables.sources.data_set import DataSet
from engine.tables.sources.parquet_source import ParquetFile
from engine.tables.sources.table import BATCH_ROWS, Table
from engine.tables.sources.valid_batch import valid_batch

_PATTERNS = set("*?[]{}\\:%")
"""What Spark or Hadoop may take for something else than a part of a name."""
_COUNT, _PLACE = "n", "place"
_CHECKSUMS = "parquet.page.verify-checksum.enabled"
_PATH = "`\0path`"
"""A name that no column has."""


class Spark:
    """A session of Spark, and a folder through which it and the engine exchange tables; both are removed at the end.

    Parameters
    ----------
    configuration : mapping
        Settings of Spark; see `engine.backends.spark_session.Session`.
    memory : int, optional
        Bytes that the whole run may use, where Spark is on this machine.
    folder : path, optional
        Where the private folder is made, which a cluster must see too; else where the system keeps temporary files.
    counted : CountedApart, optional
        What Spark counted of the table before; else it is counted here.

    Raises
    ------
    InvalidJob
        The extra or Java is missing.
    """

    name: BackendName = "spark"

    def __init__(
        self,
        configuration: Mapping[str, str] | None = None,
        memory: int | None = None,
        folder: Path | None = None,
        counted: CountedApart | None = None,
    ) -> None:
        self.memory = memory
        self._configuration = dict(configuration or {})
        self._counted_apart = counted
        self._stack = ExitStack()
        self._scratch = Path(tempfile.mkdtemp(prefix=".spill-", dir=folder)).resolve()
        self._stack.callback(shutil.rmtree, self._scratch, ignore_errors=True)
        self._written = 0
        self._counted: tuple[Table, tuple[str, ...], Path] | None = None
        try:
            self._session = Session(self._configuration, memory, self._scratch)
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            self._session.close(interrupted=error is not None and not isinstance(error, Exception))

    @property
    def tuples(self) -> Tuples | None:
        """See `Backend.tuples`."""
        return self._tuples

    def _tuples(self, table: Table, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        refuse(table.schema, columns)
        schema = plain_schema(table.schema, columns)
        if self._counted_apart is None:
            with failures(), self._reading(table, columns) as frame:
                path = self._kept(_grouped(frame, schema))
        else:
            path = _found(self._counted_apart, columns)
        self._counted = (table, tuple(columns), path)
        counted = 0
        for batch in _batches(path):
            counts = batch.column(_COUNT).to_numpy().astype(np.int64, copy=False)
            counted += int(counts.sum())
            yield _restored(batch, schema), counts
        with failures():
            expected = _records(table)
        if expected is not None and counted != expected:
            raise InvalidData("the source changed while it was read: records were added or are gone; run again")

    def apart(self, table: Table, columns: Sequence[str], folder: Path) -> CountApart | None:
        """Return the count of a table that a Spark Connect server may make before a run; None where it cannot.

        Parameters
        ----------
        folder : Path
            Where it writes; the task sees it at the same path.
        """
        if not self._session.is_remote or not isinstance(table, ParquetFile) or not _parquet_paths(table):
            return None
        refuse(table.schema, columns)
        with failures(), self._reading(table, columns) as frame:
            grouped = _grouped(frame, plain_schema(table.schema, columns))
            request = self._session.unsent(lambda: grouped.write.mode("error").parquet(folder.as_uri()))
        settings = {name: value for name, value in self._configuration.items() if name != "spark.remote"}
        return CountApart(request.SerializeToString(), settings, str(folder), tuple(columns))

    def placed(self, table: Table, keyed: KeyedClasses, others: pa.Schema) -> Iterator[Placed] | None:
        """See `Backend.placed`."""
        refuse(table.schema, [*keyed.keys_of, *others.names])
        return self._placed(table, keyed, others)

    def _placed(self, table: Table, keyed: KeyedClasses, others: pa.Schema) -> Iterator[Placed]:
        quasi = list(keyed.keys_of)
        columns = [*quasi, *(name for name in others.names if name not in keyed.keys_of)]
        schema = plain_schema(table.schema, columns)
        maps = [self._map(table, name, keyed) for name in quasi]
        classes = self._given({"key": pa.array(keyed.keys), _PLACE: pa.array(keyed.places)})
        with failures(), self._reading(table, columns) as frame:
            kept = [f"c{columns.index(name)}" for name in others.names]
            joined, parts = frame, []
            for number, name in enumerate(quasi):
                found = self._spark.read.parquet(maps[number].as_uri()).selectExpr(
                    f"value AS v{number}", f"negative AS w{number}", f"part AS p{number}"
                )
                # columns of frames, not functions of pyspark: these are of one kind of session, and there are two
                same = joined[f"c{number}"].eqNullSafe(found[f"v{number}"])
                if is_float(schema, name):
                    same &= joined[f"s{number}"] == found[f"w{number}"]
                joined = joined.join(found, same, "left")
                parts.append(f"p{number}")
            key = " + ".join(f"({part} & {REFUSED - 1}L)" for part in parts)
            refused = " OR ".join(f"{part} >= {REFUSED}L" for part in parts)
            known = self._spark.read.parquet(classes.as_uri()).select("key", _PLACE)
            joined = joined.selectExpr("*", f"{key} AS k")
            joined = joined.join(known, joined["k"] == known["key"], "left")
            place = (
                f"CASE WHEN k IS NULL THEN -2L WHEN {refused} THEN CAST({keyed.refused_place} AS BIGINT) "
                f"ELSE coalesce({_PLACE}, -2L) END AS {_PLACE}"
            )
            path = self._kept(joined.selectExpr(*kept, place))
        names = [f"c{columns.index(name)}" for name in others.names]
        for batch in _batches(path):
            places = batch.column(_PLACE).to_numpy().astype(np.int64, copy=False)
            if places.size and places.min() < -1:
                raise InvalidData(CHANGED)
            yield _cast(batch.select(names), others), places
        shutil.rmtree(path, ignore_errors=True)

    @property
    def _spark(self) -> Any:
        return self._session.spark()

    def _map(self, table: Table, name: str, keyed: KeyedClasses) -> Path:
        """Write the keys of the distinct values of a column, and return where."""
        schema = plain_schema(table.schema, [name])
        values = pa.Table.from_batches(list(_batches(self._distinct(table, name))))
        negative = values.column("s0") if "s0" in values.column_names else pa.nulls(values.num_rows, pa.bool_())
        restored = [_restored(batch, schema) for batch in values.combine_chunks().to_batches()]
        own = pa.Table.from_batches(restored, schema).column(0).combine_chunks()
        return self._given(
            {"value": values.column("c0"), "negative": negative, "part": pa.array(keyed.keys_of[name](own))}
        )

    def _distinct(self, table: Table, name: str) -> Path:
        """Let Spark write the distinct values of a column; from the combinations, if it counted them."""
        schema = plain_schema(table.schema, [name])
        with failures():
            if self._counted is not None and self._counted[0] is table and name in self._counted[1]:
                number = self._counted[1].index(name)
                found = self._spark.read.parquet(self._counted[2].as_uri())
                signs = [f"s{number}"] if is_float(schema, name) else []
                frame = found.selectExpr(f"c{number} AS c0", *(f"{sign} AS s0" for sign in signs)).distinct()
                return self._kept(frame)
            with self._reading(table, [name]) as frame:
                return self._kept(frame.select(*_keys(schema)).distinct())

    @contextmanager
    def _reading(self, table: Table, columns: Sequence[str]) -> Iterator[Any]:
        """Give the table as a frame of Spark, with columns c0, c1, …, and the sign s0, s1, … of those of floats."""
        paths = _parquet_paths(table)
        if not paths:
            staged = self._staged(table, columns)
            try:
                yield self._frame([staged], table.schema, columns)
            finally:
                staged.unlink(missing_ok=True)
            return
        with unchanged(table):
            for path in paths:
                _refuse_rebased(path, columns)
            partitions = {name for name in columns if isinstance(table, DataSet) and name in table.partitions}
            if not partitions:
                yield self._frame(paths, table.schema, columns)
                return
            assert isinstance(table, DataSet)  # noqa: S101 (others have no partitions)
            yield self._partitioned(table, paths, columns, partitions)

    def _frame(self, paths: Sequence[Path], schema: pa.Schema, columns: Sequence[str]) -> Any:
        return self._read(paths, schema, columns).selectExpr(
            *(f"{_quoted(name)} AS c{number}" for number, name in enumerate(columns)), *_signs(schema, columns)
        )

    def _read(self, paths: Sequence[Path], schema: pa.Schema, columns: Sequence[str]) -> Any:
        kinds = ", ".join(f"{_quoted(name)} {spark_type(schema.field(name).type)}" for name in columns)
        return (
            self._spark.read.schema(kinds)
            .option(_CHECKSUMS, "true")
            .parquet(*(f"file://{path.resolve()}" for path in paths))
        )

    def _partitioned(self, table: DataSet, paths: Sequence[Path], columns: Sequence[str], partitions: set[str]) -> Any:
        """Join to each record what the folders of its file name, which Spark would read in a way of its own."""
        inside = [name for name in columns if name not in partitions] or table.schema.names[:1]
        refuse(table.schema, inside)
        source = self._read(paths, table.schema, inside)
        source = source.selectExpr("*", f"_metadata.file_path AS {_PATH}")
        addresses = pa.Table.from_batches(list(_batches(self._kept(source.selectExpr(f"{_PATH} AS c0").distinct()))))
        values = {path.resolve(): value for path, value in zip(table.paths, table.values, strict=True)}
        texts = addresses.column("c0").to_pylist()
        found = [values.get(Path(unquote(urlsplit(text).path))) for text in texts]
        if None in found:
            raise InvalidData(CHANGED)
        named = {name: pa.array([each[name] for each in found if each is not None], pa.string()) for name in partitions}
        order = sorted(partitions)
        given = self._given(
            {"path": pa.array(texts, pa.string()), **{f"t{number}": named[name] for number, name in enumerate(order)}}
        )
        beside = self._spark.read.parquet(given.as_uri())
        joined = source.join(beside.hint("broadcast"), source[_PATH[1:-1]] == beside["path"], "left")
        chosen = [
            f"t{order.index(name)} AS c{number}" if name in partitions else f"{_quoted(name)} AS c{number}"
            for number, name in enumerate(columns)
        ]
        return joined.selectExpr(*chosen, *_signs(table.schema, columns))

    def _staged(self, table: Table, columns: Sequence[str]) -> Path:
        """Write the columns of a table that Spark cannot read itself."""
        schema = plain_schema(table.schema, columns)
        path = self._fresh()
        with pq.ParquetWriter(path, schema) as file:
            for batch in table.batches(columns):
                file.write_batch(_cast(batch, schema))
        return path

    def _given(self, columns: dict[str, pa.Array]) -> Path:
        """Write a table of the engine for Spark."""
        path = self._fresh()
        pq.write_table(pa.table(columns), path)
        return path

    def _kept(self, frame: Any) -> Path:
        """Let Spark write a frame, and return the folder."""
        path = self._fresh()
        frame.write.mode("error").parquet(path.as_uri())
        if not (path / "_SUCCESS").is_file():
            raise explained("the folder is not seen", "")
        return path

    def _fresh(self) -> Path:
        self._written += 1
        return self._scratch / f"{self._written}"


def _grouped(frame: Any, schema: pa.Schema) -> Any:
    """Return the combinations of a frame of `Spark._reading`, each with its number of records."""
    return frame.groupBy(*_keys(schema)).count().withColumnRenamed("count", _COUNT)


def _found(counted: CountedApart, columns: Sequence[str]) -> Path:
    """Return the folder of what was counted before, if it is what is asked."""
    if counted.columns != tuple(columns):
        raise InvalidData("the job changed while Spark counted: other columns are to be counted now; run again")
    if not (counted.folder / "_SUCCESS").is_file():
        raise explained("the folder is not seen", "")
    return counted.folder


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield what Spark wrote into a folder."""
    for file in sorted(path.glob("*.parquet")):
        with failures(), pq.ParquetFile(file) as part:
            yield from part.iter_batches(batch_size=BATCH_ROWS)


def _restored(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the columns c0, c1, … in the types of the source, with the signs that Spark's groups lost."""
    columns = []
    for number, field in enumerate(schema):
        column = batch.column(f"c{number}")
        if pa.types.is_floating(field.type):
            column = pc.if_else(batch.column(f"s{number}"), pa.scalar(-0.0, field.type), column)
        columns.append(column)
    return _cast(pa.RecordBatch.from_arrays(columns, names=schema.names), schema)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the names and in the types of a schema, its texts being valid ones."""
    return in_types(valid_batch(pa.RecordBatch.from_arrays(batch.columns, names=schema.names)), schema)


def _records(table: Table) -> int | None:
    """Return how many records Parquet files say they have."""
    paths = _parquet_paths(table)
    return sum(pq.read_metadata(path).num_rows for path in paths) if paths else None


def _parquet_paths(table: Table) -> list[Path]:
    """Return the Parquet files of a table, if that is what it is and Spark reads files of such names."""
    paths = [table.path] if isinstance(table, ParquetFile) else list(table.paths) if isinstance(table, DataSet) else []
    fits = all(
        path.suffix.lower() in {".parquet", ".pq"}
        and not path.name.startswith((".", "_"))
        and not _PATTERNS & set(str(path.resolve()))
        for path in paths
    )
    return paths if fits else []


def _refuse_rebased(path: Path, columns: Sequence[str]) -> None:
    """Refuse files whose dates and times Spark would read by another calendar or with fewer digits than others do."""
    metadata = pq.read_metadata(path)
    said = metadata.metadata or {}
    old = b"org.apache.spark.legacyDateTime" in said or b"org.apache.spark.legacyINT96" in said
    old |= said.get(b"org.apache.spark.version", b"9")[:2] in {b"1.", b"2."}
    schema = metadata.schema.to_arrow_schema()
    dated = [
        name
        for name in columns
        if name in schema.names
        and (pa.types.is_date(schema.field(name).type) or pa.types.is_timestamp(schema.field(name).type))
    ]
    days96 = {
        metadata.schema.column(n).path
        for n in range(len(metadata.schema.names))
        if metadata.schema.column(n).physical_type == "INT96"
    }
    for name in dated:
        if old or name in days96:
            raise InvalidData(
                f"column {name!r}: its dates are written in a form that Spark reads otherwise than other programs do "
                "(INT96, or by Spark before 3.0); set backend: arrow, or write the source again"
            )


def _keys(schema: pa.Schema) -> list[str]:
    floats = [number for number, field in enumerate(schema) if pa.types.is_floating(field.type)]
    return [*(f"c{number}" for number in range(len(schema))), *(f"s{number}" for number in floats)]


def _signs(schema: pa.Schema, columns: Sequence[str]) -> list[str]:
    """Return expressions that tell the zeros apart, which Spark takes for one in groups and joins."""
    return [
        f"coalesce(CAST({_quoted(name)} AS STRING) = '-0.0', false) AS s{number}"
        for number, name in enumerate(columns)
        if is_float(schema, name)
    ]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
