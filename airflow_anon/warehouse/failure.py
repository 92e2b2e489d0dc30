"""Errors of a database in which a job runs: what was refused or ended, and what to do, without values and passwords."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.transport.failure import database_errors, explain
from engine import EngineError

_REFUSED = "42501"
_CANCELLED = "57014"
_ENDED = ("25P03", "25P04")


@contextmanager
def warehouse_errors(doing: str, conn_id: str | None, secret: str | None) -> Iterator[None]:
    """Turn an error of the database into one of Airflow, as `database_errors` does, with what to do.

    An error of the engine stays what it is: its text holds no value.

    Raises
    ------
    AirflowFailException
        The role lacks a right.
    AirflowException
        Anything else: a retry may help.
    """
    of_engine: EngineError | None = None
    with database_errors(doing, secret):
        try:
            yield
        except EngineError as problem:
            of_engine = problem
        except Exception as problem:
            told = _told(problem, conn_id)
            if told is None:
                raise
            kind, advice = told
            raise kind(f"{doing}: {explain(problem)}; {advice}") from None
    if of_engine is not None:
        raise of_engine


def _told(problem: Exception, conn_id: str | None) -> tuple[type[AirflowException], str] | None:
    """Return the kind of an error that is known, and what to do; None for another one."""
    origin = getattr(problem, "orig", None)
    state = getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)
    if state == _REFUSED:
        return AirflowFailException, (
            "GRANT SELECT on what source names, and CREATE, USAGE ON SCHEMA of output.table, to the role of connection "
            f"{conn_id!r}"
        )
    if state == _CANCELLED:
        return AirflowException, (
            "somebody cancelled the statement, or it took longer than statement_timeout of the role; nothing of it is "
            "left, and a retry begins anew"
        )
    # a driver that finds the connection closed does not always know why
    if state in _ENDED or getattr(problem, "connection_invalidated", False):
        return AirflowException, (
            "the server ended the transaction, whose snapshot is needed during the search, or stopped; raise "
            "idle_in_transaction_session_timeout and transaction_timeout of the role, or set search.time_limit_seconds"
        )
    return None
