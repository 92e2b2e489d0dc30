"""Tries a job with `backend: sql` inside its warehouse, in one transaction that is rolled back.

In: the job. Out: a `Check`. What a release is made of, helper tables among it, is seen by this transaction alone, and
is gone with it, or of this session where CREATE TABLE commits: also where the process is killed. Values without a
hierarchy entry leave the warehouse as in a run, which reads the distinct values of counted columns; no record does.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.dialects.registry import proven_dialect
from airflow_anon.run.checked_columns import present_roles, relation_to_check, repeats_to_ask
from airflow_anon.share.sql_constraints import refuse_constraints
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import PLAIN, WAIT_SECONDS, engine_of, hook_of, password_of
from airflow_anon.transport.database_read import look_at
from airflow_anon.transport.relation import describe
from airflow_anon.transport.repeats import repeating
from airflow_anon.warehouse.failure import warehouse_errors
from airflow_anon.warehouse.warehouse import SqlWarehouse
from engine import Check, InvalidJob, Job, check


def check_inside(job: Job, most: int | None, folder: Path | None) -> Check:
    """Check a job inside its warehouse.

    Parameters
    ----------
    most : int or None
        Records to read; only None is possible here.
    folder : Path or None
        A private folder, in which the temporary one is made, which gets documents and no record.

    Raises
    ------
    InvalidJob
        It names no source and table in a connection, or a part of the table is asked for.
    AirflowFailException
        There is no such connection or table, it is empty, or the role lacks a right.
    AirflowException
        The database cannot be reached, or failed.
    """
    source, output = job.source, job.output
    if source is None or source.conn_id is None or output is None or output.table is None:
        raise InvalidJob("backend sql: source and output must name a connection and a table")
    if most is not None:
        raise InvalidJob(
            "backend: sql counts all records where they are, and a check of it does too; leave the sample out"
        )
    relation = relation_to_check(source.table, source.query)
    hook = hook_of(source.conn_id)
    doing = f"checking {relation} inside connection {source.conn_id!r}"
    with warehouse_errors(doing, source.conn_id, password_of(hook)):
        with engine_of(hook, wait_seconds=WAIT_SECONDS).connect().execution_options(**PLAIN) as connection:
            present = [entry[0] for entry in describe(connection, relation)]
        roles, problems = present_roles(job, present, with_persons=False)
        names = [name for name, role in roles.items() if role != "identifying"]
        if not names:
            return Check(tuple(problems), InvalidJob.exit_code, is_sample=False)
        repeats = repeating(look_at(hook, relation, roles, "sqlalchemy", 1), repeats_to_ask(job))
        share = SqlShare(hook, output.table, made_inside=True)
        how = proven_dialect(share.engine.dialect.name)
        # no other transaction sees the name, and no release ever has it
        table = sa.Table(share.staging_name(f"check {secrets.token_hex(16)}"), sa.MetaData(), schema=share.waiting)
        with share.engine.connect().execution_options(isolation_level=how.isolation) as connection:
            try:
                share.refuse_unfit(connection)
                refuse_constraints(connection, share.name, share.schema, job)
                warehouse = SqlWarehouse(connection, relation, names, table, job.subject, is_kept=False)
                if not warehouse.rows:
                    raise AirflowFailException(
                        f"{relation}: is empty, and an empty release would hide that; check the source"
                    )
                found = check(job, warehouse, repeats=repeats or None, folder=folder)
            finally:
                connection.rollback()
    if not problems:
        return found
    return replace(found, problems=(*problems, *found.problems), exit_code=InvalidJob.exit_code, published=None)
