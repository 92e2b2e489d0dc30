"""Exceptions that nobody expected, as a task may raise them: their texts may quote a cell, a header or a password.

In: an exception. Out: itself if its text is our own, else one that names its kind and place; without what caused it,
because a log prints the texts of causes too.
"""

from __future__ import annotations

import errno
import functools
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.exceptions import AirflowRuntimeError

from airflow_anon.transport.failure import explain
from engine import EngineError

OURS = (AirflowException, AirflowRuntimeError, EngineError)
"""What this package, the engine and Airflow raise on purpose; their texts hold no value of a record."""

_FULL = (
    "; make room where a run writes: in the staging folder (AIRFLOW_ANON_STAGING), in that of temporary files "
    "(TMPDIR), and in the share"
)
_CLOSED = (
    "; let the user that runs the tasks write there, or mount it for writing: the staging folder, that of temporary "
    "files, or the share"
)

Result = TypeVar("Result")


def remedy_of(problem: OSError) -> str:
    """Return what to do about an error of the system, as the end of a sentence; empty where that is not known."""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return _FULL
    return _CLOSED if problem.errno in (errno.EROFS, errno.EACCES, errno.EPERM) else ""


def in_own_words(problem: Exception, log: Any) -> Exception:
    """Return the exception to raise instead, `from None`; the log gets the lines of code that led to it, no text."""
    if isinstance(problem, OURS):
        return problem
    frames = traceback.extract_tb(problem.__traceback__)
    lines = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
    log.error("%s came from\n%s", type(problem).__name__, "\n".join(lines))
    told = ""
    if isinstance(problem, OSError) and problem.errno is not None:
        told = explain(problem) + remedy_of(problem)
    withheld = f"{type(problem).__name__}; its text may hold a value of a record and is not repeated"
    return AirflowException(f"ended unexpectedly with {told or withheld}")


def own_words(execute: Callable[..., Result]) -> Callable[..., Result]:
    """Wrap `execute` of an operator: no exception leaves it with a text that may hold a value of a record."""

    @functools.wraps(execute)
    def wrapper(self: Any, context: Any) -> Result:
        try:
            return execute(self, context)
        except Exception as problem:  # noqa: BLE001 (any of them may quote a cell)
            raise in_own_words(problem, self.log) from None

    return wrapper
