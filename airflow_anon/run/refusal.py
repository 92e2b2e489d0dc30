"""Why an attempt ended without a release: written by the task that ended it, read by the task that records it.

In: an exception. Out: an XCom `refusal` of the failed task: whether it is a refusal, the error's name, its message as
the ledger has it, without a count that is too small, and as parts, which are words alone. It has no value of a record.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.disclosure.messages import message_text
from airflow_anon.run.unexpected import in_own_words, words_for
from engine import EngineError, Message, load_job

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
    """Wrap `execute` of an operator, or the method that resumes it: exceptions also go to who records the attempt.

    One of a foreign kind is raised in our own words, and none with a count that is too small.
    """

    @functools.wraps(execute)
    def wrapper(self: Any, context: Any, **resumed_with: Any) -> Result:
        try:
            return execute(self, context, **resumed_with)
        except Exception as problem:  # noqa: BLE001 (any of them may quote a cell)
            if isinstance(problem, ReleaseRefused):
                self.log.error("%s", problem.details)  # noqa: TRY400 (the trace leads to this package alone)
            refusal = _refusal(problem, smallest_of(self))
            instance = context.get("ti")
            if instance is not None:
                instance.xcom_push(key=XCOM_KEY, value=refusal)
            raise _withholding(in_own_words(problem, self.log), refusal["message"]) from None

    return wrapper


def _withholding(problem: Exception, text: str) -> Exception:
    """Return an exception whose text has no count that is too small: logs, mails and callbacks of Airflow repeat it."""
    said = problem.args[0] if problem.args else None
    if not isinstance(said, Message) or text == said:
        return problem
    return type(problem)(text)


def smallest_of(operator: Any) -> int | None:
    """Return the smallest class that the job of a task allows; None if the task has no job, or one that is invalid."""
    job = getattr(operator, "job", None)
    try:
        return None if job is None else load_job(job).minimum_class_size
    except EngineError:
        return None


def _refusal(problem: Exception, smallest: int | None) -> dict[str, Any]:
    refused = isinstance(problem, ReleaseRefused)
    # This package raises only Airflow's exceptions on purpose; the text of others may contain a value.
    known = isinstance(problem, AirflowException)
    message = _message(problem) if known else Message(_unexpected(problem))
    text = without_small_counts(message, smallest)
    return {"refused": refused, "error": type(problem).__name__, "message": text, "message_parts": [text]}


def without_small_counts(message: Message, smallest: int | None) -> str:
    """Return a message as it may be shown: by the smallest class that its job allows, None if that is not known."""
    return str(message_text(message.parts, smallest))


def _unexpected(problem: Exception) -> str:
    """Return what may be told of a foreign exception: of the system's errors what the system calls them."""
    told = words_for(problem)
    return f"ended unexpectedly: {told}; its log has more" if told else "ended unexpectedly; its log has more"


def _message(problem: Exception) -> Message:
    """Return the message that an exception was raised with; of another one its text, without counts."""
    first = problem.args[0] if problem.args else None
    return first if isinstance(first, Message) else Message(str(problem))


def reason_of(tasks: Sequence[str], states: Mapping[str, str | None], instance: Any) -> tuple[bool, dict[str, Any]]:
    """Return why an attempt ended without a release.

    Parameters
    ----------
    tasks : sequence of str
        Ids of the attempt's tasks in their order.
    states : mapping
        State of each of them, None for none yet.
    instance : RuntimeTaskInstanceProtocol
        Of the task that asks.

    Returns
    -------
    tuple
        Whether it was refused, and the reason: `task`, `error` and `message_parts`.
    """
    task = next((task for task in tasks if states[task] == "failed"), None)
    if task is None:
        task = next((task for task in tasks if states[task] != "success"), tasks[-1])
        message = f"the task has the state {states[task] or 'none'}, and there is no release"
        if states[task] == "skipped":
            message = "the run was ended before this task began, as where somebody marks it as failed or successful"
        return False, _reason(task, "NotPublished", message)
    said = instance.xcom_pull(task_ids=task, key=XCOM_KEY)
    if not isinstance(said, Mapping):
        message = "the task was ended from outside, or before it began; its log may have more"
        return False, _reason(task, "Ended", message)
    return bool(said["refused"]), {"task": task, **{name: said.get(name) for name in ("error", "message_parts")}}


def _reason(task: str, error: str, message: str) -> dict[str, Any]:
    """Return a reason whose message counts nothing."""
    return {"task": task, "error": error, "message_parts": [message]}
