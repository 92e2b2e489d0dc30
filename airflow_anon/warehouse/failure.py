"""Errors of a database in which a job runs: what was refused or ended, and what to do, without values and passwords."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.dialects.mariadb import MARIADB
from airflow_anon.dialects.postgresql import POSTGRESQL
from airflow_anon.transport.failure import database_errors, explain
from engine import EngineError


@contextmanager
def warehouse_errors(doing: str, conn_id: str | None, secret: str | None) -> Iterator[None]:
    """Turn an error of the database into one of Airflow, as `database_errors` does, with what to do.

    An error of the engine stays what it is: its text holds no value.

    Raises
    ------
    AirflowFailException
        The role lacks a right, or the server cannot do what is needed.
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
    code = _code(getattr(problem, "orig", None))
    # databases number their errors in ways that have nothing in common
    known = (MARIADB if isinstance(code, int) else POSTGRESQL).told
    if code in known.refused:
        return AirflowFailException, f"{known.grants}, to the role of connection {conn_id!r}"
    if code in known.unfit:
        return AirflowFailException, known.unfit[code]
    passing = (
        (known.busy, "another session uses the table, perhaps of a try that was killed; a retry begins anew"),
        (known.full, f"make room in {known.room}; nothing of the statement is left, and a retry begins anew"),
        (
            known.cancelled,
            (
                f"somebody cancelled the statement, or it took longer than {known.longest_statement}; nothing of it is "
                "left, and a retry begins anew"
            ),
        ),
    )
    for codes, advice in passing:
        if code in codes:
            return AirflowException, advice
    # a driver that finds the connection closed does not always know why
    if code in known.ended or getattr(problem, "connection_invalidated", False):
        return AirflowException, (
            "the server ended the transaction, which is needed during the search, or stopped; raise "
            f"{known.longest_transaction}, or set search.time_limit_seconds"
        )
    return None


def _code(origin: BaseException | None) -> str | int | None:
    """Return the number that drivers of MariaDB give an error, which says more than its SQLSTATE; else that."""
    match getattr(origin, "args", ()):
        case (int(number), *_):
            return number
    return getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)
