"""Sentences as they may be shown: the rule of `counts` judges each count in them.

In: the parts of a message, words and counts (`engine.Message`), and the smallest class that the job allows. Out: text.
No sentence is searched for numbers: a text without its parts is not shown.
"""

from __future__ import annotations

from typing import Any

from airflow_anon.disclosure.counts import is_few
from engine import Message


def message_text(parts: Any, smallest: int | None) -> str | None:
    """Return a message with `[fewer than k]` in place of each count that is too small.

    Parameters
    ----------
    parts : list
        Words, and counts as `{"count": n}`: `engine.Message.parts`, from JSON.
    smallest : int or None
        *k*: the smallest class allowed, in records. None if it is not known: then no count but 0 is shown.

    Returns
    -------
    str or None
        None without such parts: then it is not known which numbers in the text are counts.
    """
    try:
        known = Message.from_parts(parts).parts
    except ValueError:
        return None
    return "".join(part if isinstance(part, str) else _count(part["count"], smallest) for part in known)


def reason_text(parts: Any, smallest: int, *, task: str, error: str) -> str:
    """Return why a task ended an attempt: its message, or a pointer to its log if there are no parts.

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


def _count(count: int, smallest: int | None) -> str:
    if smallest is None:
        return "[a number]" if count else "0"
    return f"[fewer than {smallest}]" if is_few(count, smallest) else str(count)
