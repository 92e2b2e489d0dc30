"""Exceptions that nobody expected, as a task may raise them: their texts may quote a cell, a header or a password.

In: an exception. Out: itself if its text is our own, else one that names its kind and place; without what caused it,
because a log prints the texts of causes too.
"""

from __future__ import annotations

import errno
import functools
import os
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
_NO_MEMORY = (
    "there was not enough memory; give the task more, let fewer tasks work at once on its machine, or see "
    "docs/scale.md for large tables"
)

Result = TypeVar("Result")


def words_for(problem: BaseException) -> str | None:
    """Return what may be told of an error of the system: what the system calls it, and what to do; None of another."""
    if isinstance(problem, MemoryError):
        return _NO_MEMORY
    if not isinstance(problem, OSError) or problem.errno is None:
        return None
    return os.strerror(problem.errno) + _remedy_of(problem)


def _remedy_of(problem: OSError) -> str:
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
    told = "its text may hold a value of a record and is not repeated"
    if isinstance(problem, OSError) and problem.errno is not None:
        return AirflowException(f"ended unexpectedly with {explain(problem)}{_remedy_of(problem)}")
    return AirflowException(f"ended unexpectedly with {type(problem).__name__}; {words_for(problem) or told}")


def own_words(execute: Callable[..., Result]) -> Callable[..., Result]:
    """Wrap `execute` of an operator: no exception leaves it with a text that may hold a value of a record."""

    @functools.wraps(execute)
    def wrapper(self: Any, context: Any) -> Result:
        try:
            return execute(self, context)
        except Exception as problem:  # noqa: BLE001 (any of them may quote a cell)
            raise in_own_words(problem, self.log) from None

    return wrapper
