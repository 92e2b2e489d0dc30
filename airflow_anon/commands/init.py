"""`airflow-anon init --conn ID --table T`: drafts the job file of a table of a warehouse.

In: the first records of the table, which stay in the memory of this process. Out: a job file without a value of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.connection import PLAIN, WAIT_SECONDS, engine_of, hook_of, password_of
from airflow_anon.transport.database_read import look_at
from airflow_anon.transport.failure import database_errors
from airflow_anon.transport.relation import Relation, describe, split_table
from engine import check_target, draft_job, draft_linked_job, job_name

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 20_000


def add_init(commands: Any) -> None:
    """Add the command, whose options `engine.cli` has checked."""
    parser = commands.add_parser("init")
    parser.add_argument("--conn", required=True)
    parser.add_argument("--table", required=True)
    parser.add_argument("--name")
    parser.add_argument("--output")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--omop", action="store_true")
    parser.set_defaults(command=_init)


def _init(options: argparse.Namespace) -> int:
    tables = options.table.split(",") if options.omop else []
    if len(tables) > 1:
        return _init_linked(options, tables)
    if "," in options.table and '"' not in options.table:
        raise AirflowFailException(
            f"--table {options.table}: only tables of OMOP (--omop) are drafted as one job; draft each, and put "
            "what is under source and attributes of each under tables of one job (docs/linked-tables.md)"
        )
    name = options.name or split_table(options.table)[-1]
    target = Path(options.output or f"{job_name(name)}.yaml")
    check_target(target)
    table = first_records(options.conn, options.table, options.rows)
    draft = draft_job(
        table,
        {"conn_id": options.conn, "table": options.table},
        {"path": "share"},
        name=name,
        omop=options.table if options.omop else None,
        most=options.rows,
    )
    sys.stdout.write(draft.write(target) + "\n")
    return 0


def _init_linked(options: argparse.Namespace, tables: Sequence[str]) -> int:
    """Draft the job of several tables of OMOP CDM, which share their persons."""
    name = options.name or "omop"
    target = Path(options.output or f"{job_name(name)}.yaml")
    check_target(target)
    named = {split_table(table)[-1].lower(): table for table in tables}
    draft = draft_linked_job(
        {table: first_records(options.conn, written, options.rows) for table, written in named.items()},
        {table: {"conn_id": options.conn, "table": written} for table, written in named.items()},
        {"path": "share"},
        name=name,
        most=options.rows,
    )
    sys.stdout.write(draft.write(target) + "\n")
    return 0


def first_records(conn_id: str, table: str, most: int) -> pa.Table:
    """Return the first records of a table, all columns.

    Raises
    ------
    AirflowFailException
        There is no such connection or table, the table has no columns, or the user may read none.
    AirflowException
        The database cannot be reached, or failed.
    """
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)

    relation = Relation(table=table)
    split_table(table)
    hook = hook_of(conn_id)
    doing = f"reading {relation} over connection {conn_id!r}"
    with database_errors(doing, password_of(hook), reads=True):
        with engine_of(hook, wait_seconds=WAIT_SECONDS).connect().execution_options(**PLAIN) as connection:
            present = [entry[0] for entry in describe(connection, relation)]
        if not present:
            raise AirflowFailException(f"{relation}: has no column that can be read; name another table")
        reading = look_at(hook, relation, dict.fromkeys(present, "insensitive"), "auto", _BATCH)
        with closing(reading.batches()) as batches:
            read = list(_first(batches, most))
    if not read:
        raise AirflowFailException(
            f"{relation}: has no records, so nothing is known of its columns; draft the job once it has some"
        )
    return (
        pa.Table.from_batches(read)
        if len({batch.schema for batch in read}) == 1
        else pa.concat_tables([pa.Table.from_batches([batch]) for batch in read], promote_options="permissive")
    )


def _first(batches: Iterator[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    left = most
    for batch in batches:
        if batch.num_rows:
            yield batch.slice(0, left)
        left -= batch.num_rows
        if left <= 0:
            return
