"""A hierarchy from a delimited file: column 0 the leaf, column l its label at level l, no header."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import Self

from engine.errors import InvalidData, InvalidJob, is_file, is_folder
from engine.file_state import FileState
from engine.hierarchy.builder import SUPPRESSED, HierarchyBuilder, Row, builder_names
from engine.hierarchy.utf8_text import utf8_text
from engine.spec import FileName

DELIMITERS = ",;\t|"
"""What separates the fields of most files."""
_MINUS_ZERO = re.compile(r"-0(\.0+)?")


class CsvFile(HierarchyBuilder):
    """The rows of a file."""

    fixed_domain: ClassVar[bool] = True
    file_key: ClassVar[str] = "path"

    builder: Literal["csv"] = "csv"
    path: FileName = Field(description="The file, relative to the job file.")
    delimiter: str = Field(default=";", min_length=1, max_length=1, description="Field separator of the file.")

    def resolved(self, base: Path) -> Self:
        """Make the path absolute."""
        return self.model_copy(update={"path": str(base / self.path)})

    @property
    def level_count(self) -> int:
        """Columns of the file."""
        return len(_read(*self._file())[0])

    def rows(self, values: Sequence[str]) -> list[Row]:
        """All rows of the file, whether or not the data contains their leaf."""
        del values
        return list(_read(*self._file()))

    def definition(self) -> Iterator[Row]:
        """Give its rows; by which delimiter they are read does not matter."""
        yield (self.builder,)
        yield from sorted(self.rows(()))

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return f"the values that its file {Path(self.path).name} lists"

    def check_column(self, name: str, values: Collection[str]) -> None:
        """Refuse a first row that is a header: it would count as a value."""
        rows = self.rows(())
        first, roots = rows[0], {row[-1] for row in rows[1:]}
        if first[0] in values:
            return
        if _bare(first[0]) == _bare(name):
            seems = "is a header (its first field is the name of the column)"
        elif roots == {SUPPRESSED} != {first[-1]}:
            seems = f"looks like a header (it alone does not end in {SUPPRESSED!r}, and its value is not in the table)"
        else:
            return
        raise InvalidData(
            f"hierarchy file {self.path}: row 1 {seems}; remove it, because a hierarchy file has none and the row "
            "would be counted as a value"
        )

    def nearly(self, values: Iterable[str]) -> int:
        """See `HierarchyBuilder.nearly`."""
        listed = {_bare(row[0]) for row in self.rows(())}
        return sum(_bare(value) in listed for value in values)

    @property
    def example_value(self) -> str:
        """The leaf in the middle of the file."""
        rows = _read(*self._file())
        return rows[len(rows) // 2][0]

    def is_label(self, label: str, level: int) -> bool:
        """Look the label up in its column."""
        return label in _labels(*self._file())[level]

    def _file(self) -> tuple[str, str, FileState]:
        """Key of the cached content: a changed file is read again."""
        if not is_file(Path(self.path)):
            raise InvalidJob(f"hierarchy file {self.path}: {self._why_none()}")
        return self.path, self.delimiter, FileState.of(self.path)

    def _why_none(self) -> str:
        """Return why there is no such file, and what may be meant."""
        name = Path(self.path).name
        if is_folder(Path(self.path)):
            return "is a folder; name the file in it"
        if name.lower() in builder_names():
            return f"not found; for the builder {name.lower()} write {{builder: {name.lower()}}}"
        return "not found; the path is relative to the job file"


def _bare(text: str) -> str:
    """Return a text without the blanks, the case and the sign of zero that two spellings of a value may differ in."""
    bare = "".join(text.split()).casefold()
    return "0" if _MINUS_ZERO.fullmatch(bare) else bare


@functools.lru_cache(maxsize=64)
def _read(path: str, delimiter: str, state: FileState) -> tuple[Row, ...]:
    del state  # part of the cache's key
    rows = _told_apart(path, delimiter)
    if not rows:
        raise InvalidData(f"hierarchy file {path}: is empty; it needs one row for each value of the column")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise InvalidData(
                f"hierarchy file {path}: the number of columns of row {number} is {len(row)}, and that of row 1 "
                f"is {len(rows[0])}; every row needs the same, separated by {delimiter!r}"
            )
        wrong = wrong_label(row)
        if wrong is not None:
            raise InvalidData(f"hierarchy file {path}: row {number}: {wrong}")
    return rows


def wrong_label(row: Row) -> str | None:
    """Return why a release could not show a row of a file, without its value; None if it can.

    A blank label would look like a missing value, and `*` like a removed one, unless nothing but `*` is above it.
    """
    for level, label in enumerate(row[1:], start=1):
        if not label.strip():
            return (
                f"its label at level {level} is blank, as if the value were missing; give it a label, or take out the "
                "delimiter at the end of the rows"
            )
    if row[0] == SUPPRESSED and set(row) != {SUPPRESSED}:
        return (
            f"its value is {SUPPRESSED!r}, which stands for removed values; take the row out, and name the value in "
            "missing, or correct it in the source"
        )
    for level, label in enumerate(row):
        if label == SUPPRESSED and set(row[level:]) != {SUPPRESSED}:
            return (
                f"its label at level {level} is {SUPPRESSED!r}, which is reserved for the highest level: choose "
                f"another label, or write {SUPPRESSED!r} at all levels above it too"
            )
    return None


def _told_apart(path: str, delimiter: str) -> tuple[Row, ...]:
    """Read the rows, and refuse a file that has another delimiter: each of its rows would be one value."""
    failed: InvalidData | None = None
    rows: tuple[Row, ...] = ()
    try:
        rows = _rows(path, delimiter)
    except InvalidData as problem:  # of quotes, which are at the ends of other fields than this delimiter's
        failed = problem
    others = _other_delimiters(path, delimiter) if failed or max(map(len, rows), default=0) == 1 else []
    if others:
        # as YAML writes it, where a tab needs double quotes
        shown = '"\\t"' if others[0] == "\t" else f"'{others[0]}'"
        raise InvalidData(
            f"hierarchy file {path}: its rows look separated by {shown} and not by {delimiter!r}: say "
            f"{{builder: csv, path: ..., delimiter: {shown}}}, or put values that hold it in quotes"
        )
    if failed is not None:
        raise failed
    return rows


def _rows(path: str, delimiter: str) -> tuple[Row, ...]:
    text = io.StringIO(utf8_text(path, "hierarchy file"), newline="")
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    return tuple(tuple(row) for row in _complete(path, reader) if row)


def _other_delimiters(path: str, delimiter: str) -> list[str]:
    """Return by which other delimiters all rows of a file have the same number of columns, two or more."""
    found = []
    for other in DELIMITERS:
        # quotes that are wrong with this delimiter only say that it is not the file's
        with contextlib.suppress(InvalidData):
            widths = {len(row) for row in _rows(path, other)} if other != delimiter else set()
            found += [other] if len(widths) == 1 and max(widths) > 1 else []
    return found


def _complete(path: str, reader: Any) -> Iterator[list[str]]:
    """Yield the rows of a reader, and refuse quotes that are not closed: what follows them would be one cell."""
    begin = 1
    try:
        for row in reader:
            yield row
            begin = reader.line_num + 1
    except csv.Error as problem:
        if "field larger" in str(problem):
            raise InvalidData(
                f"hierarchy file {path}: line {begin}: has a text of more than {csv.field_size_limit():,} characters, "
                "or a quote that is not closed; shorten it, or close the quote"
            ) from None
        raise InvalidData(
            f"hierarchy file {path}: line {begin}: a quote is not closed, or a text follows one that is; close it, "
            'and write a quote in a text twice, as in "say ""a"""'
        ) from None


@functools.lru_cache(maxsize=64)
def _labels(path: str, delimiter: str, state: FileState) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(column) for column in zip(*_read(path, delimiter, state), strict=True))
