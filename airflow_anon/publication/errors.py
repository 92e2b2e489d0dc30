"""Errors of the databases that a publication writes to, as a task raises them: without passwords, without values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.transport.connection import hook_of, password_of
from airflow_anon.transport.failure import database_errors


@contextmanager
def ledger_errors() -> Iterator[None]:
    """Turn an error of the ledger's database into an `AirflowException` without passwords."""
    from airflow_anon.ledger import LedgerError, LedgerUnreachable  # noqa: PLC0415 (heavy imports belong into execute)

    try:
        yield
    except LedgerUnreachable as problem:
        raise AirflowException(f"the release ledger (AIRFLOW_ANON_LEDGER): {problem}") from None
    except LedgerError as problem:
        raise AirflowFailException(f"the release ledger: {problem}") from None


@contextmanager
def table_errors(conn_id: str, table: str) -> Iterator[Any]:
    """Yield the hook of a SQL share, and turn its errors into an `AirflowException` without values and passwords."""
    hook = hook_of(conn_id)
    with database_errors(f"publishing to table {table} of {conn_id!r}", password_of(hook)):
        yield hook


@contextmanager
def noted(problems: list[AirflowException]) -> Iterator[None]:
    """Note what ends the block, and go on after it: a share that is away holds up no other.

    An error of a file system is noted in our own words.
    """
    try:
        yield
    except AirflowException as problem:
        problems.append(problem)
    except OSError as problem:
        # of a rename or a link the second name is the place that is written; the first one may be relative to it
        where = problem.filename2 or problem.filename or "a share"
        said = f"{where}: cannot be written ({problem.strerror}); let the user that runs this write there"
        problems.append(AirflowException(f"{said}, and try again"))


def raise_all(problems: Sequence[AirflowException]) -> None:
    """Raise what was noted, if anything was.

    Raises
    ------
    AirflowException
        The one problem, or all of them in one text.
    """
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise AirflowException("; ".join(map(str, problems)))
