"""Sentences as they may be told: each count in them is judged by the rule of `counts`, as the number that it is.

In: the parts of a message, words and counts (`engine.Message`), and the smallest class that the job allows. Out: text.
No sentence is searched for numbers: a text that comes without its parts is not told.
"""

from __future__ import annotations

from typing import Any

from airflow_anon.disclosure.counts import is_few
from engine import Message


def message_text(parts: Any, smallest: int) -> str | None:
    """Return a message with `[fewer than k]` in the place of each count that is few.

    Parameters
    ----------
    parts : list
        Words, and counts as `{"count": n}`: `engine.Message.parts`, from JSON.
    smallest : int
        *k*: the smallest class allowed, in records.

    Returns
    -------
    str or None
        None where there are no such parts, so that nobody knows which numbers of the text are counts.
    """
    try:
        known = Message.from_parts(parts).parts
    except ValueError:
        return None
    return "".join(part if isinstance(part, str) else _count(part["count"], smallest) for part in known)


def reason_text(parts: Any, smallest: int, *, task: str, error: str) -> str:
    """Return why a task ended an attempt: its message, or without parts that its log has more.

    Parameters
    ----------
    parts, smallest
        As of `message_text`.
    task : str
        The task's id.
    error : str
        The kind of error.
    """
    text = message_text(parts, smallest)
    return f"{error} in task {task}; its log has more" if text is None else text


def _count(count: int, smallest: int) -> str:
    return f"[fewer than {smallest}]" if is_few(count, smallest) else str(count)
