"""Why an attempt ended without a release: written by the task that ended it, read by the task that records it.

In: an exception. Out: an XCom `refusal` of the failed task: whether it is a refusal, the error's name, its message and
`Message.parts` of it, without a value of a record.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from engine import Message

XCOM_KEY = "refusal"

Result = TypeVar("Result")


class ReleaseRefused(AirflowFailException):
    """A criterion, the verification or the validation did not hold.

    Parameters
    ----------
    message : Message or str
        For whoever is told of the failure, outside of Airflow too: it has no figure about few records.
    details : str, optional
        The findings, for the task's log.
    """

    def __init__(self, message: str, details: str | None = None) -> None:
        super().__init__(message)
        self.details = details or message


def told(execute: Callable[..., Result]) -> Callable[..., Result]:
    """Wrap `execute` of an operator: exceptions are passed to the task that records the attempt, and raised again."""

    @functools.wraps(execute)
    def wrapper(self: Any, context: Any) -> Result:
        try:
            return execute(self, context)
        except Exception as problem:
            if isinstance(problem, ReleaseRefused):
                self.log.error("%s", problem.details)  # noqa: TRY400 (the trace leads to this package alone)
            instance = context.get("ti")
            if instance is not None:
                instance.xcom_push(key=XCOM_KEY, value=_refusal(problem))
            raise

    return wrapper


def _refusal(problem: Exception) -> dict[str, Any]:
    refused = isinstance(problem, ReleaseRefused)
    # This package raises only Airflow's exceptions on purpose; the text of others may contain a value.
    known = isinstance(problem, AirflowException)
    message = _message(problem) if known else Message("ended unexpectedly; its log has more")
    said = {"message": str(message), "message_parts": message.parts}
    return {"refused": refused, "error": type(problem).__name__, **said}


def _message(problem: Exception) -> Message:
    """Return the message that an exception was raised with; of another one its text, without counts."""
    first = problem.args[0] if problem.args else None
    return first if isinstance(first, Message) else Message(str(problem))
