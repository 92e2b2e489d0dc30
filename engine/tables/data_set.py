"""Several files as one table: a folder, a pattern of names, or a partitioned data set (`year=2025/part-0.parquet`).

In: the path of a folder, or one whose last name has `*`. Out: a `Table` of all files, in the order of their paths. All
have the same columns of the same types. Names of folders of the form `column=value` are further columns, of text; a
missing value is written as Hive does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from engine.errors import InvalidData, is_file
from engine.tables.source import Table, open_path, type_name

_MISSING = "__HIVE_DEFAULT_PARTITION__"


class DataSet:
    """A table in several files.

    Attributes
    ----------
    paths : tuple of Path
    files : tuple of Table
    schema : pyarrow Schema
        The columns of the files, then those that folders name.
    partitions : tuple of str
        Columns that are not in the files: folders name their values.
    values : sequence of mapping
        Of each file, the values that its folders name; None is a missing one.
    """

    def __init__(self, root: Path, files: Mapping[Path, Table]) -> None:
        self.paths = tuple(files)
        self.files = tuple(files.values())
        self.values: Sequence[Mapping[str, str | None]] = [_partitions(root, path) for path in self.paths]
        self.partitions = tuple(self.values[0])
        first = self.files[0].schema
        for path, file, values in zip(self.paths, self.files, self.values, strict=True):
            _same(root, path, first, file.schema)
            if tuple(values) != self.partitions:
                raise InvalidData(
                    f"source {root}: {_short(root, path)} is in folders that name other columns than those of "
                    f"{_short(root, self.paths[0])}; name one column per level of folders, the same in all"
                )
        twice = sorted(set(self.partitions) & set(first.names))
        if twice:
            raise InvalidData(
                f"source {root}: columns {', '.join(map(repr, twice))} are in the files and named by folders as well; "
                "rename one of them"
            )
        self.schema: pa.Schema = pa.schema([*first, *(pa.field(name, pa.string()) for name in self.partitions)])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        inside = [name for name in columns if name not in self.partitions]
        # without a column of the file, its rows could not be told
        read = inside or self.files[0].schema.names[:1]
        for file, values in zip(self.files, self.values, strict=True):
            for batch in file.batches(read):
                made = [
                    _constant(values[name], batch.num_rows) if name in values else batch.column(name)
                    for name in columns
                ]
                yield pa.RecordBatch.from_arrays(made, names=list(columns))


def open_source_path(path: str | Path, delimiter: str = ",") -> Table:
    """Open a file, a folder of files, or the files of a pattern such as `visits-*.parquet`.

    Raises
    ------
    InvalidData
        There is none, one is not readable, or they are not alike.
    """
    path = Path(path)
    is_pattern = "*" in path.name and not is_file(path)
    if not is_pattern and not path.is_dir():
        return open_path(path, delimiter)
    files = _files_of(path)
    if not files:
        raise InvalidData(f"source {path}: holds no file whose name ends in .csv, .csv.gz or .parquet")
    return DataSet(path if path.is_dir() else path.parent, {one: open_path(one, delimiter) for one in files})


def _files_of(path: Path) -> list[Path]:
    """Return the files of a folder, or of a pattern, sorted; names that begin with a dot or `_` are no data."""
    root = path if path.is_dir() else path.parent
    found = path.rglob("*") if path.is_dir() else root.glob(path.name)
    return sorted(
        one
        for one in found
        if one.is_file() and not any(part.startswith((".", "_")) for part in one.relative_to(root).parts)
    )


def _partitions(root: Path, path: Path) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for part in path.relative_to(root).parts[:-1]:
        name, equals, value = part.partition("=")
        if equals:
            found[unquote(name)] = None if value == _MISSING else unquote(value)
    return found


def _same(root: Path, path: Path, first: pa.Schema, schema: pa.Schema) -> None:
    if schema.equals(first):
        return
    kinds, others = ({field.name: field.type for field in one} for one in (first, schema))
    differ = [name for name in dict.fromkeys([*kinds, *others]) if kinds.get(name) != others.get(name)]
    told = ", ".join(f"{name!r} ({_kind(kinds.get(name))} and {_kind(others.get(name))})" for name in differ)
    raise InvalidData(
        f"source {root}: {_short(root, path)} has not the columns of the first file: "
        f"{told or 'they are in another order'}; write all files alike"
    )


def _kind(kind: pa.DataType | None) -> str:
    return "absent" if kind is None else type_name(kind)


def _short(root: Path, path: Path) -> str:
    """Name a file without the values that its folders name."""
    parts = path.relative_to(root).parts
    return "/".join(part.partition("=")[0] + "=..." if "=" in part else part for part in parts)


def _constant(value: str | None, rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(rows, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value], pa.string()))
