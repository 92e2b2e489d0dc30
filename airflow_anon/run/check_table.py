"""Tries a job on the table of its connection, and releases nothing.

In: a job, and the table of its connection, which is staged in a private temporary folder; with `backend: sql` it stays
in its warehouse (`check_inside`). Out: a `Check`; the folder is gone when it is made, and nothing is published or
recorded.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.run.check_inside import check_inside
from airflow_anon.run.checked_columns import present_roles, relation_to_check, repeats_to_ask
from airflow_anon.transport.address import path_of
from airflow_anon.transport.connection import PLAIN, WAIT_SECONDS, engine_of, hook_of, password_of
from airflow_anon.transport.database_read import look_at
from airflow_anon.transport.failure import database_errors
from airflow_anon.transport.parquet import write_parquet
from airflow_anon.transport.person_keys import passwords_of, places_of
from airflow_anon.transport.relation import Relation, describe
from airflow_anon.transport.repeats import repeating
from engine import Check, InvalidJob, Job, Message, check

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 65_536


def check_job(job: Job, most: int | None = None, problems: Sequence[Message] = (), folder: Path | None = None) -> Check:
    """Check a job whose source is a connection.

    Parameters
    ----------
    most : int, optional
        Records to read, the first ones; by default all.
    problems : sequence of Message
        What is known to be wrong already; it is told first.
    folder : Path, optional
        A private folder, in which the temporary ones are made; by default that of the system.

    Raises
    ------
    InvalidJob
        It has no such source, or what it names beside it is in a database too; or its records must stay there.
    AirflowFailException
        There is no such connection or table, or no connection that holds a key of the job.
    AirflowException
        The database cannot be reached, or failed.
    """
    problems = list(problems)
    if job.backend == "sql":
        return _with_problems(problems, check_inside(job, most, folder))
    keys = passwords_of(places_of(job))
    if job.tables is not None:
        return _checked_tables(job, most, problems, keys, folder)
    with tempfile.TemporaryDirectory(prefix="airflow-anon-check-", dir=folder) as private:
        staged = _staged(job, Path(private) / "source.parquet", most)
        if not staged.is_readable:
            return Check((*problems, *staged.problems), InvalidJob.exit_code, is_sample=False)
        source = job.with_source(Path(private) / "source.parquet")
        found = check(source, repeats=staged.repeats, keys=keys, folder=folder)
    problems += staged.problems
    return _with_problems(problems, replace(found, is_sample=staged.is_sample))


def _with_problems(problems: Sequence[Message], found: Check) -> Check:
    """Return a check with what was known to be wrong already."""
    if not problems:
        return found
    # figures of a release that would not be made are of no use
    return replace(found, problems=(*problems, *found.problems), exit_code=InvalidJob.exit_code, published=None)


def _checked_tables(
    job: Job, most: int | None, problems: list[Message], keys: Mapping[str, bytes], folder: Path | None
) -> Check:
    """Check linked tables, each of which is read on its own."""
    with tempfile.TemporaryDirectory(prefix="airflow-anon-check-", dir=folder) as private:
        files, is_sample = {}, False
        for name in job.tables or ():
            files[name] = str(Path(private) / f"{name}.parquet")
            is_sample |= _staged_table(job, name, files[name], most)
        found = check(job, files, keys=keys, folder=folder)
    return _with_problems(problems, replace(found, is_sample=is_sample))


def _staged_table(job: Job, name: str, target: str, most: int | None) -> bool:
    """Read one of the linked tables into a file; tell whether there were more records than were read."""
    table = (job.tables or {})[name]
    source = table.source
    if source is None or source.conn_id is None:
        raise InvalidJob(f"tables.{name}.source: names no connection; check the job where its file is")
    relation = Relation(table=source.table, query=source.query)
    hook = hook_of(source.conn_id)
    read = {job.subject, *job.pseudonymized}
    roles = {column: "insensitive" if column in read else one.role for column, one in table.attributes.items()}
    with database_errors(f"reading {relation} over connection {source.conn_id!r}", password_of(hook), reads=True):
        reading = look_at(hook, relation, roles, "auto", _BATCH)
        limited = _Limited(most)
        with closing(reading.batches()) as batches:
            rows = write_parquet(limited.of(batches), path_of(target))
    if not rows:
        raise AirflowFailException(f"{relation}: is empty, so nothing can be said of it; check the source")
    return limited.is_cut


@dataclass(frozen=True)
class _Staged:
    """What was read of the table; `is_readable`: whether there is a file of it."""

    problems: list[Message]
    repeats: dict[str, bool | None]
    is_readable: bool
    is_sample: bool = False


def _staged(job: Job, target: Path, most: int | None) -> _Staged:
    source = job.source
    if source is None or source.conn_id is None:
        raise InvalidJob("source: names no connection; check the job where its file is")
    if job.population_query is not None:
        raise InvalidJob(
            "frontier.population: is in a connection; a check reads the table alone, so take it out for it"
        )
    relation = relation_to_check(source.table, source.query)
    hook = hook_of(source.conn_id)
    with database_errors(f"reading {relation} over connection {source.conn_id!r}", password_of(hook), reads=True):
        with engine_of(hook, wait_seconds=WAIT_SECONDS).connect().execution_options(**PLAIN) as connection:
            present = [entry[0] for entry in describe(connection, relation)]
        roles, problems = present_roles(job, present)
        if not any(role != "identifying" for role in roles.values()):
            return _Staged(problems, {}, is_readable=False)
        reading = look_at(hook, relation, roles, "auto", _BATCH)
        limited = _Limited(most)
        with closing(reading.batches()) as batches:
            rows = write_parquet(limited.of(batches), path_of(str(target)))
        repeats = repeating(reading, repeats_to_ask(job)) if rows else {}
    if not rows:
        raise AirflowFailException(f"{relation}: is empty, and an empty release would hide that; check the source")
    return _Staged(problems, repeats, is_readable=True, is_sample=limited.is_cut)


class _Limited:
    """The first records of a stream of batches, at most so many."""

    def __init__(self, most: int | None) -> None:
        self._left = most
        self.is_cut = False

    def of(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield them, and note whether there were others."""
        for batch in batches:
            if self._left is None:
                yield batch
                continue
            if batch.num_rows > self._left:
                self.is_cut = True
                yield batch.slice(0, self._left)
                return
            yield batch
            self._left -= batch.num_rows
