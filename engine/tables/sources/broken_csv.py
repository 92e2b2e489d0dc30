"""Why a CSV file cannot be read, told by rows, columns and numbers of fields, never by what stands in them.

Arrow's own messages quote the line, and a header may be a record where somebody left it out.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from engine.errors import unreadable
from engine.tables.sources.csv_form import UTF_8

_NO_TEXT = re.compile(r"In CSV column #(\d+): .*invalid UTF8")
_SAVE = "save the file as UTF-8, or name its encoding, such as source: {encoding: cp1252} (init: --encoding)"
_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""Bytes with which a file of UTF-16 begins."""
_OTHER_KINDS = {
    b"\x1f\x8b": "is compressed by gzip; give it a name that ends in .csv.gz",
    b"BZh": "is compressed by bzip2; unpack it",
    b"\x28\xb5\x2f\xfd": "is compressed by Zstandard; unpack it",
    b"PK\x03\x04": "is an Excel workbook or a ZIP archive; save its sheet as CSV UTF-8, or unpack it",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save its sheet as CSV UTF-8",
    b"PAR1": "is a Parquet file; give it a name that ends in .parquet",
}
"""How files begin that are no text, whatever their names say."""
_LONGEST_HEADER = 1 << 16
_AFTER_HEADER = 2
_LONGEST_MARK = 64
"""Bytes; some encodings have four of each character, and a mark of their own before it."""


def why(path: Path, read: pa.csv.ReadOptions, parse: pa.csv.ParseOptions, problem: Exception) -> str:
    """Return what is wrong with a file, and what to do.

    Parameters
    ----------
    read, parse : pyarrow.csv.ReadOptions, pyarrow.csv.ParseOptions
        How it was read.
    problem : Exception
        What Arrow raised while it did.
    """
    return _of_beginning(path, read) or _of_problem(path, read, parse, problem)


def _of_problem(path: Path, read: pa.csv.ReadOptions, parse: pa.csv.ParseOptions, problem: Exception) -> str:
    if isinstance(problem, UnicodeError):
        return _wrong_encoding(read)
    if isinstance(problem, PermissionError):
        return f"cannot be read ({unreadable(problem)}); let the user who runs the job read it"
    if isinstance(problem, OSError):
        return f"cannot be read to its end ({unreadable(problem)}); check that the file is whole"
    row = None if (told := _of_text(str(problem), read)) else _first_ragged_row(path, read, parse)
    if row is not None:
        return _of_row(path, read, parse, row)
    return told or (
        f"is not {_named(read)} text with a header and as many fields in every row, separated by {parse.delimiter!r}; "
        "check the delimiter, the quoting and the encoding"
    )


def _of_text(told: str, read: pa.csv.ReadOptions) -> str | None:
    """Return what is wrong with a file, if Arrow's own words tell it."""
    column = _NO_TEXT.match(told)
    if column is not None:
        return f"has text in column {int(column[1]) + 1} that is not UTF-8; {_SAVE}"
    if told.startswith("Empty CSV file"):
        return "is empty; its first row must name the columns"
    if "Empty CSV file or block" in told:
        # not read once more: where Arrow finds no header, what was to be told of its rows may keep Python from ending
        return "has no line but empty ones where its header must be; its first row must name the columns"
    if "straddling object" in told:
        return (
            f'has a row of more than {read.block_size >> 20} MB, or a quote (") that is not closed, so its cell is '
            "that long; close it, double it where it is meant as a character, or write the table as Parquet"
        )
    return None


def _of_row(path: Path, read: pa.csv.ReadOptions, parse: pa.csv.ParseOptions, row: pa.csv.InvalidRow) -> str:
    """Return what is wrong with the first row that has other fields than the header."""
    if row.number == _AFTER_HEADER and _is_mark(path, read):
        return "has the mark of Excel, sep=, in its first line, and no header there; delete that line"
    if row.number == _AFTER_HEADER and row.expected_columns == 1:
        return (
            f"has {row.actual_columns} fields separated by {parse.delimiter!r} in row 2, and one in row 1, which must "
            "be the header; delete what stands before the header, such as a title"
        )
    return (
        f"has {row.actual_columns} instead of {row.expected_columns} fields separated by {parse.delimiter!r} in "
        f"row {row.number} (the header is row 1); check the delimiter, the quoting, and that the file is "
        f"{_named(read)} text"
    )


def _is_mark(path: Path, read: pa.csv.ReadOptions) -> bool:
    """Return whether a file begins as Excel marks the delimiter of one."""
    try:
        with pa.input_stream(path, compression="detect") as file:
            begins: str = file.read(_LONGEST_MARK).decode(str(read.encoding), "replace")
    except (OSError, pa.ArrowException):
        return False
    return begins.lstrip('\ufeff"').lower().startswith("sep=")


def _of_beginning(path: Path, read: pa.csv.ReadOptions) -> str | None:
    """Return what the first bytes of a file tell of it, unless it is compressed."""
    try:
        with path.open("rb") as file:
            begins = b"" if path.suffix == ".gz" else file.read(_LONGEST_HEADER)
    except OSError:
        return None
    other = next((told for begin, told in _OTHER_KINDS.items() if begins.startswith(begin)), None)
    if other is not None:
        return other
    if begins[:2] in _MARKS and read.encoding == UTF_8:
        return "is UTF-16 text; save it as UTF-8, or say source: {encoding: utf-16} (init: --encoding)"
    if begins and len(begins) < _LONGEST_HEADER and not {*b"\r\n"} & {*begins}:
        return "is one line without an end, and has no record; end the header with a line break if that is right"
    return None


def _wrong_encoding(read: pa.csv.ReadOptions) -> str:
    if read.encoding == UTF_8:
        return f"has a header that is not UTF-8 text; {_SAVE}"
    # its columns are only known once the text is made into UTF-8
    return f"is not text in the encoding {read.encoding}, which source.encoding names; name that of the file"


def _named(read: pa.csv.ReadOptions) -> str:
    return "UTF-8" if read.encoding == UTF_8 else str(read.encoding)


def _first_ragged_row(path: Path, read: pa.csv.ReadOptions, parse: pa.csv.ParseOptions) -> pa.csv.InvalidRow | None:
    """Return the first row that has other fields than the header; rows are numbered only when one thread reads."""
    found: list[pa.csv.InvalidRow] = []

    def noted(row: pa.csv.InvalidRow) -> str:
        if row.number is not None:
            found.append(row)
        return "error"

    parse = pa.csv.ParseOptions(
        delimiter=parse.delimiter, newlines_in_values=parse.newlines_in_values, invalid_row_handler=noted
    )
    # no column is converted: the rows are only told apart
    convert = pa.csv.ConvertOptions(include_columns=["\0"], include_missing_columns=True)
    # Arrow hands over the text of a row; where that is not UTF-8, Python would print a traceback, which may quote it
    encoding = "latin-1" if read.encoding == UTF_8 else read.encoding
    read = pa.csv.ReadOptions(block_size=read.block_size, encoding=encoding, use_threads=False)
    try:
        with pa.csv.open_csv(path, read_options=read, parse_options=parse, convert_options=convert) as reader:
            for _ in reader:
                pass
    except (OSError, ValueError, pa.ArrowException):
        pass
    return found[0] if found else None
