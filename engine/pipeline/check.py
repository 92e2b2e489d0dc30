"""A run that releases nothing: all that is wrong with a job and its table at once, and what a release would be.

In: a job, and optionally a table in place of the job's source, or a number of records to read. Out: a `Check`. The
release is made and verified in a private temporary folder, which is gone when the check ends.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from engine.backends.warehouse import Warehouse
from engine.errors import DriftRefused, EngineError, InvalidData, InvalidJob
from engine.job.counting import column_problems, open_source_unchecked
from engine.job.job import Job
from engine.job.linked_source import linked_source
from engine.job.load import load_job
from engine.message import Message
from engine.pipeline.column_check import check_columns
from engine.pipeline.document import PublishedReport, Report
from engine.pipeline.run import run
from engine.search.problem import Progress
from engine.tables.release_files import CODEBOOK
from engine.tables.sources.linked import LinkedTables
from engine.tables.sources.source import open_data
from engine.tables.sources.table import Table

_UNKEPT = "; a check keeps nothing of the table, so run the job first, which refuses it too, and then accept it"


@dataclass(frozen=True)
class Check:
    """What a check found.

    Attributes
    ----------
    problems : tuple of Message
        Everything for which a run would end; empty where it would release.
    exit_code : int
        0, or the exit status of a run that ends for the first of them.
    is_sample : bool
        Whether there may be more records than were read.
    published : PublishedReport or None
        Figures of the release that would be made, as far as they may leave the run; None if there are problems.
    unseen : mapping of column to sequence of str
        Values without a hierarchy entry: for the eyes of whoever has the source only.
    emptied : tuple of str
        Columns of which nothing would be left, in the order of the release: all of their records have one label.
    left_out : tuple of str
        Sections of the job that were not looked at, because a run writes by them.
    """

    problems: tuple[Message, ...]
    exit_code: int
    is_sample: bool
    published: PublishedReport | None = None
    unseen: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    emptied: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def check(
    job: str | Path | Mapping[str, Any] | Job,
    table: Any = None,
    most: int | None = None,
    repeats: Mapping[str, bool | None] | None = None,
    progress: Progress | None = None,
    keys: Mapping[str, bytes] | None = None,
    folder: Path | None = None,
) -> Check:
    """Check a job and its table without releasing anything.

    Parameters
    ----------
    job, table, repeats, progress, keys
        As of `engine.run`. What a check writes into a `Warehouse` is never committed by it: whoever made it rolls back.
    most : int, optional
        Records to read, the first ones, of each table if the job has several; by default all.
    folder : Path, optional
        A private folder, in which the temporary one is made; by default that of the system.

    Raises
    ------
    InvalidJob, InvalidData
        The job cannot be loaded, or its source cannot be opened: then nothing more is known; or `most` is below 1.
    """
    if most is not None and most < 1:
        raise InvalidJob(f"most: is {most}, must be at least 1, or None for all records")
    job = load_job(job)
    source = open_source_unchecked(job, table)
    is_sample = False
    if most is not None:
        source, is_sample = _sample(job, source, most)
    problems = [Message(text) for text in column_problems(job, source)]
    columns = check_columns(job, source, repeats)
    problems += columns.problems
    if problems:
        return Check(tuple(problems), InvalidData.exit_code, is_sample, unseen=columns.unseen)
    try:
        # a sample has fewer records than a night, and a run with a series writes its vault
        left_out = () if job.series is None else ("series",)
        job = job.model_copy(update={"series": None, **({"drift": None} if is_sample else {})})
        with tempfile.TemporaryDirectory(prefix="airflow-anon-check-", dir=folder) as private:
            release = Path(private) / "release"
            result = run(job, source, release, progress, repeats, keys=keys, keep_facts=False)
            emptied = _at_root(job, result.report) if isinstance(source, Warehouse) else _emptied(release)
            return Check((), 0, is_sample, result.published, columns.unseen, emptied, left_out)
    except EngineError as problem:
        told = Message(problem.message, _UNKEPT) if isinstance(problem, DriftRefused) else problem.message
        return Check((told,), problem.exit_code, is_sample, unseen=columns.unseen)


def _emptied(release: Path) -> tuple[str, ...]:
    """Return the columns of a release that have one label in all records."""
    described = json.loads((release / CODEBOOK).read_text(encoding="utf-8"))
    tables = [described, *described.get("tables", ())]
    columns = [column for table in tables for column in table["columns"]]
    return tuple(dict.fromkeys(column["column"] for column in columns if column["what"] == "one-label"))


def _at_root(job: Job, report: Report) -> tuple[str, ...]:
    """Return the same of a release in a warehouse, which has no codebook."""
    levels = report["solution"]["levels"] or {}
    highest = {name: one.hierarchy.level_count - 1 for name, one in job.attributes.items() if one.hierarchy is not None}
    return tuple(name for name, level in levels.items() if 0 < level == highest[name])


def _sample(job: Job, source: Table, most: int) -> tuple[Table, bool]:
    """Return the first records of a source, of each of its tables if it has several; and whether there are others."""
    if not isinstance(source, LinkedTables):
        table, is_sample = _first(source, most)
        return open_data(table), is_sample
    found = {name: _first(table, most) for name, table in source.tables.items()}
    return linked_source(job, {name: table for name, (table, _) in found.items()}), any(
        more for _, more in found.values()
    )


def _first(source: Table, most: int) -> tuple[pa.Table, bool]:
    table = pa.concat_tables([source.schema.empty_table(), *_taken(source, most + 1)])
    return table.slice(0, min(most, table.num_rows)), table.num_rows > most


def _taken(source: Table, most: int) -> Iterator[pa.Table]:
    for batch in source.batches(source.schema.names):
        yield pa.Table.from_batches([batch.slice(0, min(most, batch.num_rows))]).cast(source.schema)
        most -= batch.num_rows
        if most <= 0:
            return
