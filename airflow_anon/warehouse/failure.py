"""Errors of a database in which a job runs: what was refused or ended, and what to do, without values and passwords."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.transport.failure import database_errors, explain

_REFUSED = "42501"
_CANCELLED = "57014"
_ENDED = ("25P03", "25P04")


@contextmanager
def warehouse_errors(doing: str, conn_id: str | None, secret: str | None) -> Iterator[None]:
    """Turn an error of the database into one of Airflow, as `database_errors` does, with what to do.

    Raises
    ------
    AirflowFailException
        The role lacks a right.
    AirflowException
        Anything else: a retry may help.
    """
    with database_errors(doing, secret):
        try:
            yield
        except Exception as problem:
            state = getattr(getattr(problem, "orig", None), "sqlstate", None) or getattr(
                getattr(problem, "orig", None), "pgcode", None
            )
            if state == _REFUSED:
                raise AirflowFailException(
                    f"{doing}: {explain(problem)}; GRANT SELECT on what source names, and CREATE, USAGE ON SCHEMA of "
                    f"output.table, to the role of connection {conn_id!r}"
                ) from None
            if state == _CANCELLED:
                raise AirflowException(
                    f"{doing}: {explain(problem)}: somebody cancelled the statement, or it took longer than "
                    "statement_timeout of the role; nothing of it is left, and a retry begins anew"
                ) from None
            if state in _ENDED:
                raise AirflowException(
                    f"{doing}: the server ended the transaction ({state}), whose snapshot is needed during the search; "
                    "raise idle_in_transaction_session_timeout and transaction_timeout of the role"
                ) from None
            raise
