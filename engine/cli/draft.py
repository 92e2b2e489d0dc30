"""The command `init` of the command line: its options, checks, the job file, and what it says.

In: parsed arguments. Out: a job file, and the text that the command line prints. Tables of a connection are drafted by
`airflow_anon.commands`, with the same options.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.number_of_records import number_of_records
from engine.errors import InvalidData, InvalidJob, is_file
from engine.hierarchy.builders.csv_file import DELIMITERS
from engine.tables.sources.csv_form import CSV, UTF_8, CsvForm, encoding_of, is_csv

if TYPE_CHECKING:
    from engine.tables.sources.table import Table

_ROWS = 200_000
_LONGEST_LINE = 1 << 20
_LOOKED_AT = 20
"""Lines of a file that tell whether the first one is a title."""
_NO_WORD = re.compile(r"[-+.,:/ 0-9]+")
"""Numbers, dates and times."""


def add_init(commands: Any) -> argparse.ArgumentParser:
    """Add the command and its options."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "init", help="draft the job file of a table that has none yet"
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="a .csv or .parquet file with the table")
    parser.add_argument("--conn", metavar="ID", help="Airflow connection of the warehouse, instead of a file")
    parser.add_argument(
        "--table",
        metavar="T",
        help="table or view of the connection: clinic.person; with --omop also person,death",
    )
    parser.add_argument("--delimiter", metavar="C", help="field separator of a CSV file (default: found in its header)")
    parser.add_argument(
        "--encoding", metavar="E", default=UTF_8, help="encoding of a CSV file: cp1252 (default: utf-8)"
    )
    parser.add_argument("--name", help="name of the job (default: that of the file or table)")
    parser.add_argument("--output", metavar="JOB.yaml", help="where the job file goes (default: NAME.yaml, here)")
    parser.add_argument(
        "--rows", metavar="N", type=number_of_records, default=_ROWS, help=f"records to read (default: {_ROWS})"
    )
    parser.add_argument(
        "--omop", action="store_true", help="the table is of OMOP CDM 5.4, whose columns are known by their names"
    )
    return parser


def init_arguments(options: argparse.Namespace) -> list[str]:
    """Return the arguments of a table of a connection again, for the process that has Airflow.

    Raises
    ------
    InvalidJob
        Arguments do not go together.
    """
    if options.file is not None or options.delimiter is not None or options.encoding != UTF_8:
        raise InvalidJob("--conn: a table is drafted, or a file; leave out the file, --delimiter and --encoding")
    if options.table is None:
        raise InvalidJob("--conn: needs --table TABLE, with its schema if it has one")
    named = ("conn", "table", "name", "output", "rows")
    given = [f"--{name}={getattr(options, name)}" for name in named if getattr(options, name) is not None]
    return [*given, *(["--omop"] if options.omop else [])]


def run_init(options: argparse.Namespace) -> str:
    """Draft the job file of a file, write it, and return what is said of it.

    Raises
    ------
    InvalidJob, InvalidData
        The file or an option is invalid, or there is a job file already.
    """
    if options.file is None or options.table is not None:
        raise InvalidJob("init: name a FILE, or --conn ID with --table TABLE")
    from engine.draft.draft import check_target, draft_job, job_name  # noqa: PLC0415 (other commands need no pyarrow)
    from engine.tables.sources.source import open_path  # noqa: PLC0415

    path = Path(options.file)
    if not path.exists():
        raise InvalidJob(f"FILE {path}: not found; its path is relative to the working directory")
    if path.is_dir():
        raise InvalidJob(
            f"FILE {path}: is a folder; draft by one of its files, and name the folder in source.path then"
        )
    name = options.name or _stem(path)
    target = Path(options.output or f"{job_name(name)}.yaml")
    check_target(target)
    form = _form(path, options)
    table = open_path(path, form)
    if is_csv(path):
        _refuse_title(path, table.schema.names, form, is_found=options.delimiter is None)
        _refuse_record(path, table)
    source = {"path": os.path.relpath(path, target.resolve().parent)}
    source |= {key: value for key, value in form._asdict().items() if value != CSV._asdict()[key]}
    draft = draft_job(
        table, source, {"path": "release"}, name=name, omop=name if options.omop else None, most=options.rows
    )
    return draft.write(target)


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name


def _form(path: Path, options: argparse.Namespace) -> CsvForm:
    try:
        encoding = encoding_of(options.encoding)
    except ValueError as problem:
        raise InvalidJob(f"--encoding: {problem}") from None
    delimiter = options.delimiter or _delimiter(path, encoding)
    if len(delimiter) != 1 or not delimiter.isascii():
        raise InvalidJob("--delimiter: must be one ASCII character")
    return CsvForm(delimiter, encoding)


def _delimiter(path: Path, encoding: str) -> str:
    """Return the delimiter that the header of a CSV file has most often.

    Raises
    ------
    InvalidData
        The file cannot be read.
    """
    (header,) = _first_lines(path, encoding, 1) or [""]
    return max(DELIMITERS, key=header.count)


def _first_lines(path: Path, encoding: str, most: int) -> list[str]:
    """Return the first lines of a CSV file that are not empty; none of a file of another kind."""
    if path.suffix.lower() != ".csv" or not is_file(path):
        return []
    try:
        with path.open(encoding=encoding, errors="replace") as file:
            lines = (file.readline(_LONGEST_LINE) for _ in range(most))
            return [line for line in lines if line.strip()]
    except UnicodeError:
        return []  # that the encoding is another one is told where the table is opened
    except OSError as problem:
        raise InvalidData(f"source {path}: cannot be read ({problem.strerror})") from None


def _refuse_title(path: Path, names: Sequence[str], form: CsvForm, *, is_found: bool) -> None:
    """Refuse a file whose first line is no header, without the words of that line: they may be those of a record.

    Parameters
    ----------
    is_found : bool
        Whether the delimiter was found in the first line, and not named.
    """
    named = [name for name in names if name.strip()]
    # an index column may have no name
    if named[:1] != names[:1]:
        return
    if len(named) == 1 and names[0].lower().startswith("sep="):
        raise InvalidData(f"source {path}: its first line, sep=, is a mark of Excel and no header; delete that line")
    lines = _first_lines(path, form.encoding, _LOOKED_AT) if len(names) == 1 and is_found else []
    further = {delimiter for delimiter in DELIMITERS if lines[2:] and all(delimiter in line for line in lines[1:])}
    if further or len(named) == 1 < len(names):
        raise InvalidData(
            f"source {path}: its first line has one name for all columns, so it looks like a title; delete the lines "
            "above the header, whose fields name the columns"
            + (", or name the --delimiter of a file with one column" if further else "")
        )


def _refuse_record(path: Path, table: Table) -> None:
    """Refuse a CSV file whose first line is a record: its cells would be written into the job file as names.

    They then are values of their columns as well, as long as these have few. Of names that are words one alone may be.
    """
    names = table.schema.names
    batches = table.batches(names)
    first = next(iter(batches), None)
    values = {} if first is None else {name: set(first.column(name).to_pylist()) for name in names}
    found = [place for place, name in enumerate(names, start=1) if name.strip() and name in values.get(name, ())]
    if len(found) > 1 or any(_NO_WORD.fullmatch(names[place - 1]) for place in found):
        raise InvalidData(
            f"source {path}: the names of its columns {', '.join(map(str, found))} of {len(names)} are values of them "
            "as well, so its first line looks like a record, or the header stands among the records; write the header "
            "once, above all of them"
        )
