"""The table that a job inside its warehouse made, opened for the validation: one snapshot, compared with its hash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_anon.share.made_table import check_made
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of, password_of
from airflow_anon.warehouse.failure import warehouse_errors

if TYPE_CHECKING:
    from airflow_anon.expectations.in_database import ReleasedTable
    from airflow_anon.share.made_table import MadeTable
    from engine import Job


@contextmanager
def made_release(job: Job, made: MadeTable) -> Iterator[ReleasedTable]:
    """Give the table of a release, of one moment.

    Raises
    ------
    AirflowFailException
        It is gone, or is not what was made.
    AirflowException
        The database failed.
    """
    # heavy imports belong into execute
    from airflow_anon.dialects.registry import DIALECTS  # noqa: PLC0415
    from airflow_anon.expectations.in_database import ReleasedTable  # noqa: PLC0415

    assert job.output is not None  # noqa: S101 (the job's own validation)
    hook = hook_of(str(job.output.conn_id))
    with warehouse_errors(f"validating table {made['name']}", job.output.conn_id, password_of(hook)):
        share = SqlShare(hook, str(job.output.table), made_inside=True)
        with share.engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
            check_made(connection, share.waiting, made)
            for setting in DIALECTS[connection.dialect.name].grouping:
                connection.exec_driver_sql(setting)
            yield ReleasedTable(connection, made["name"], share.waiting)
