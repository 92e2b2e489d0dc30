"""`airflow-anon place`: a custodian gives new values their place in the file of a hierarchy.

In: a job, a column whose hierarchy is a file, and rows of new values. Out: the file with these rows at its end, in one
step; the file as it was stays beside it under the next number. Nothing is written unless the whole is a hierarchy with
the same levels and the same highest labels.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.errors import InvalidData, InvalidJob, unreadable
from engine.hierarchy.builder import Row
from engine.hierarchy.builders.csv_file import CsvFile, wrong_label
from engine.hierarchy.hierarchy import Hierarchy
from engine.hierarchy.utf8_text import utf8_text
from engine.job.job import Job
from engine.job.load import load_job

FROM_INPUT = "-"


def add_place(commands: Any) -> argparse.ArgumentParser:
    """Add the command `place` to a parser."""
    place: argparse.ArgumentParser = commands.add_parser("place", help="add new values to the file of a hierarchy")
    place.add_argument("job", metavar="JOB.yaml")
    place.add_argument("column", metavar="COLUMN")
    place.add_argument(
        "rows",
        metavar="ROWS",
        help="file of rows as in the hierarchy's own, a value and its label at each level; - for the standard input",
    )
    return place


def run_place(options: argparse.Namespace) -> str:
    """Add the rows; return what was done, without a value.

    Raises
    ------
    InvalidJob
        The column has no hierarchy in a file, or a file cannot be read or written.
    InvalidData
        A row does not fit: too few or too many labels, a value that has its place or comes twice, or a label that
        would belong to two others.
    """
    builder = _hierarchy(load_job(options.job), options.column)
    new = _rows(options.rows, builder.delimiter)
    path = Path(builder.path).resolve()
    known = builder.rows(())
    _check(options.column, known, new)
    before = _replace(path, _text(new, builder.delimiter))
    placed = "1 value was placed" if len(new) == 1 else f"{len(new)} values were placed"
    return f"{placed} in {path.name}; as it was before, it is {before.name}"


def _hierarchy(job: Job, column: str) -> CsvFile:
    attribute = job.attributes.get(column)
    if attribute is None:
        names = ", ".join(map(repr, job.attributes))
        raise InvalidJob(f"column {column!r}: is not one of the job's; name one of {names}")
    found = attribute.hierarchy
    if isinstance(found, CsvFile):
        return found
    if found is None:
        raise InvalidJob(f"column {column!r}: has no hierarchy")
    raise InvalidJob(
        f"column {column!r}: its hierarchy is made by the builder {found.builder}, which places values itself; change "
        "the job file, correct the value in the source, or say unseen"
    )


def _rows(source: str, delimiter: str) -> list[Row]:
    named = "the standard input" if source == FROM_INPUT else f"file {source}"
    try:
        text = sys.stdin.read().removeprefix("\ufeff") if source == FROM_INPUT else utf8_text(source, "file")
        found = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise InvalidJob(f"{named}: cannot be read as UTF-8 delimited text ({unreadable(problem)})") from None
    if not found:
        raise InvalidData(f"{named}: has no rows, so there is nothing to place")
    return found


def _check(column: str, known: Sequence[Row], new: Sequence[Row]) -> None:
    """Refuse rows that do not fit; they are named by their number, never by their value."""
    width, values, roots = len(known[0]), {row[0] for row in known}, {row[-1] for row in known}
    for number, row in enumerate(new, start=1):
        if len(row) != width:
            raise InvalidData(
                f"row {number}: its number of columns is {len(row)}, must be {width}: the value, then its "
                "label at each level"
            )
        if row[0] in values:
            raise InvalidData(f"row {number}: its value has a place already, or comes twice; take the row out")
        if row[-1] not in roots:
            raise InvalidData(f"row {number}: its highest label is not one of the hierarchy's; take one of those")
        wrong = wrong_label(row)
        if wrong is not None:
            raise InvalidData(f"row {number}: {wrong}")
        values.add(row[0])
    Hierarchy(column, [*known, *new])


def _text(rows: Sequence[Row], delimiter: str) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _replace(path: Path, added: bytes) -> Path:
    """Append to a file in one step; return where it is as it was, under the next free number."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        content = path.read_bytes()
        between = b"" if content.endswith(b"\n") else b"\n"
        mode = path.stat().st_mode & 0o777
        try:
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(content + between + added)
                file.flush()
                os.fsync(file.fileno())
            before = _kept(path)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as problem:
        raise InvalidJob(f"hierarchy file {path}: cannot be written ({unreadable(problem)})") from None
    return before


def _kept(path: Path) -> Path:
    """Give the file as it is a second name, which no other version has."""
    for number in itertools.count(1):
        name = path.with_name(f"{path.name}.v{number}")
        try:
            os.link(path, name)
        except FileExistsError:
            continue
        return name
    raise AssertionError
