"""Cells of a CSV file that begin within one record and end within another: two quotes that were meant as characters.

In: batches of its text. Out: the first column with such a cell. All that stands between the two quotes is one cell: the
rest of a record, whole records with their identifiers, and the beginning of a further one. Such a cell of column c has
on its first line the fields from c on, and on its last line those up to c; that these are fields of a record, and no
commas of a text, is told by the values that the columns have elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from engine.tables.sources.csv_form import CsvForm

_FEWEST_COLUMNS = 4
"""From which on a line of text with as many delimiters as a record is unlikely, twice in a cell."""
_MOST_REPEATED = 1000
"""By Arrow's regular expressions."""


def swallowing(batch: pa.RecordBatch, places: Sequence[int], form: CsvForm, columns: int) -> int | None:
    """Return the place of a column that has a cell with parts of several records; None if none has.

    Parameters
    ----------
    places : sequence of int
        Of the batch's columns among those of the file, from 0.
    columns : int
        Of the file.
    """
    known = {place: _Known(column) for place, column in zip(places, batch.columns, strict=True)}
    for place, column in zip(places, batch.columns, strict=True):
        if not _may_hold_breaks(column):
            continue
        cells = column.filter(pc.match_substring(column, "\n"))
        if len(cells) and (_holds_records(cells, form, columns) or _joins_records(cells, place, form, columns, known)):
            return place
    return None


def _may_hold_breaks(column: pa.Array) -> bool:
    """Return whether a line break is among the bytes of a column: all at once, in a tenth of the time of each cell."""
    data = column.buffers()[2]
    return data is not None and b"\n" in data.to_pybytes()


def _holds_records(cells: pa.Array, form: CsvForm, columns: int) -> bool:
    """Return whether a cell holds two lines, one after the other, with as many fields as a record."""
    if not _FEWEST_COLUMNS <= columns <= _MOST_REPEATED:
        return False
    mark = re.escape(form.delimiter)
    line = rf"\n[^{mark}\n]*(?:{mark}[^{mark}\n]*){{{columns - 1}}}"
    return bool(pc.any(pc.match_substring_regex(cells, f"(?:{line}){{2}}(?:\n|$)")).as_py())


def _joins_records(cells: pa.Array, place: int, form: CsvForm, columns: int, known: dict[int, _Known]) -> bool:
    """Return whether a cell begins with the end of a record, and ends with the beginning of one."""
    if columns == 1:
        return False
    # the fields that a cell holds too many are whole records
    marks = pc.count_substring(cells, form.delimiter).to_numpy(zero_copy_only=False)
    likely = cells.filter(pa.array((marks > 0) & (marks % (columns - 1) == 0)))
    for cell in likely.to_pylist():
        first, *_, last = _text(cell).split("\n")
        end, begin = first.rstrip("\r").split(form.delimiter), last.split(form.delimiter)
        if len(end) == columns - place and len(begin) == place + 1:
            fields = {**dict(enumerate(end[1:], place + 1)), **dict(enumerate(begin[:-1]))}
            separate = [*end[1:], *begin[1:]]
            if _are_fields(fields, known) and not any(one.startswith(" ") for one in separate):
                return True
    return False


def _are_fields(fields: dict[int, str], known: dict[int, _Known]) -> bool:
    """Return whether texts are values of their columns, as far as that can be told, and of one column for sure."""
    found = [known[place].has(text) for place, text in fields.items() if place in known]
    return True in found and False not in found


class _Known:
    """What the cells of a column of a batch look like."""

    def __init__(self, column: pa.Array) -> None:
        self._column = column
        self._values: set[str] | None = None
        self._forms: set[str] = set()

    def has(self, text: str) -> bool | None:
        """Return whether a text is a value of the column, or a number or code like one; None where few repeat."""
        if self._values is None:
            self._values = {_text(value) for value in self._column.unique().to_pylist()}
            self._forms = set(map(_form, self._values))
        if text in self._values:
            return True if text.strip() else None
        if any(map(str.isdigit, text)) and _form(text) in self._forms:
            return True
        return None if 2 * len(self._values) > len(self._column) else False


def _form(text: str) -> str:
    """Return a text with 9 for its digits, and a for its letters."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text))


def _text(cell: str | bytes) -> str:
    return cell if isinstance(cell, str) else cell.decode("utf-8", "surrogateescape")
