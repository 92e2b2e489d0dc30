"""Several files as one table: a folder, a pattern of names, or a partitioned data set (`year=2025/part-0.parquet`).

In: the path of a folder, or one whose last name has `*`. Out: a `Table` of all files, in the order of their paths. All
have the same columns of the same types. Names of folders of the form `column=value` are further columns, of text; a
missing value is written as Hive does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from engine.errors import InvalidData, is_file
from engine.tables.sources.column_types import type_name
from engine.tables.sources.csv_form import CSV, CsvForm
from engine.tables.sources.source import open_path
from engine.tables.sources.table import Table

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


def open_source_path(path: str | Path, form: CsvForm = CSV) -> Table:
    """Open a file, a folder of files, or the files of a pattern such as `visits-*.parquet`.

    Raises
    ------
    InvalidData
        There is none, one is not readable, or they are not alike.
    """
    path = Path(path)
    is_pattern = "*" in path.name and not is_file(path)
    if not is_pattern and not path.is_dir():
        return open_path(path, form)
    files = _files_of(path)
    if not files:
        raise InvalidData(f"source {path}: holds no file whose name ends in .csv, .csv.gz or .parquet")
    root = path if path.is_dir() else path.parent
    return DataSet(root, {one: open_path(one, form, f"{root}: {_short(root, one)}") for one in files})


def reads(path: Path, other: Path) -> bool:
    """Whether a folder, or a pattern, would come across another path when it is read."""
    is_folder = path.is_dir()
    root, other = (path if is_folder else path.parent).resolve(), other.resolve()
    if is_file(path) or root not in other.parents:
        return False
    below = other.relative_to(root).parts
    if any(_is_no_data(name) for name in below):
        return False
    return is_folder or (len(below) == 1 and fnmatch(below[0], path.name))


def _files_of(path: Path) -> list[Path]:
    """Return the files of a folder, or of a pattern, sorted; names that begin with a dot or `_` are no data.

    Whatever might hide a file, or show it twice, is refused: a record that is missing would be no error to anybody, and
    who is counted twice would be half of a class of two.
    """
    is_folder = path.is_dir()
    root = path if is_folder else path.parent
    found = _below(path, root) if is_folder else (one for one in _entries(path, root) if fnmatch(one.name, path.name))
    files: dict[tuple[int, int], Path] = {}
    for one in sorted(found):
        if one.is_dir():
            raise InvalidData(
                f"source {path}: {_short(root, one)} is a {'link to a ' if one.is_symlink() else ''}folder, whose "
                "files would be left out; name it as a source of its own, or put its files here"
            )
        if one.is_symlink() and not one.exists():
            raise InvalidData(
                f"source {path}: {_short(root, one)} is a link to nothing; remove it, or put the file back"
            )
        if not one.is_file():
            raise InvalidData(
                f"source {path}: {_short(root, one)} is a pipe, a device or a socket, which is not read; remove it, or "
                "put a file in its place"
            )
        status = one.stat()
        same = files.setdefault((status.st_dev, status.st_ino), one)
        if same != one:
            raise InvalidData(
                f"source {path}: {_short(root, same)} and {_short(root, one)} are one file, whose records would be "
                "counted twice; remove one of them"
            )
    return list(files.values())


def _below(source: Path, folder: Path) -> Iterator[Path]:
    """Yield what is in a folder and in the folders in it, but these; links to folders are not followed."""
    for one in _entries(source, folder):
        if one.is_dir() and not one.is_symlink():
            yield from _below(source, one)
        else:
            yield one


def _entries(source: Path, folder: Path) -> list[Path]:
    """Return what is in a folder, without names that are no data."""
    try:
        with os.scandir(folder) as found:
            entries = [folder / one.name for one in found if not _is_no_data(one.name)]
        for one in entries:
            one.lstat()
    except OSError as problem:
        name = _short(source, folder) if folder.is_relative_to(source) else ""
        raise InvalidData(
            f"source {source}: {name or 'its folder'} cannot be read ({problem.strerror}); give the account of the run "
            "the right to read and enter it"
        ) from None
    return entries


def _is_no_data(name: str) -> bool:
    return name.startswith((".", "_"))


def _partitions(root: Path, path: Path) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for part in path.relative_to(root).parts[:-1]:
        name, equals, value = part.partition("=")
        if not equals:
            continue
        try:
            name, told = (unquote(one, errors="strict") for one in (name, value))
        except UnicodeDecodeError:
            raise InvalidData(
                f"source {root}: the name of a folder of {_short(root, path)} has bytes after % that are no UTF-8; "
                "name it in UTF-8"
            ) from None
        if name in found:
            raise InvalidData(
                f"source {root}: {_short(root, path)} has two folders that name column {name!r}; name each once"
            )
        found[name] = None if value == _MISSING else told
    return found


def _same(root: Path, path: Path, first: pa.Schema, schema: pa.Schema) -> None:
    """Refuse a file with other columns; those of one file alone by place: without a header their names are cells."""
    kinds, others = ({field.name: field.type for field in one} for one in (first, schema))
    if list(kinds.items()) == list(others.items()):
        return
    both = [name for name in kinds if name in others]
    told = [
        f"{name!r} ({' and '.join(_told_apart(kinds[name], others[name]))})"
        for name in both
        if kinds[name] != others[name]
    ]
    for whose, names in (("its", others), ("the first file's", kinds)):
        places = [str(place) for place, name in enumerate(names, start=1) if name not in both]
        if places:
            told.append(f"{whose} columns {', '.join(places)} of {len(names)} are in this file alone")
    raise InvalidData(
        f"source {root}: {_short(root, path)} has not the columns of the first file: "
        f"{', '.join(told) or 'they are in another order'}; write all files alike, those of CSV with the same header"
    )


def _told_apart(one: pa.DataType, other: pa.DataType) -> list[str]:
    """Name two types: with unit, zone or digits where only these differ, never with the names of nested fields."""
    names = [type_name(one), type_name(other)]
    if names[0] != names[1]:
        return names
    if pa.types.is_nested(one) or pa.types.is_dictionary(one):
        return [names[0], f"another {names[0]}"]
    return [str(one), str(other)]


def _short(root: Path, path: Path) -> str:
    """Name a file without the values that its folders name."""
    parts = path.relative_to(root).parts
    return "/".join(part.partition("=")[0] + "=..." if "=" in part else part for part in parts)


def _constant(value: str | None, rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(rows, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value], pa.string()))
