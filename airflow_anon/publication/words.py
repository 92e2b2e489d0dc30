"""What a person says for the ledger: who does something, and why."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import AirflowFailException

LONGEST = 500
"""Characters of a reason, and of a name."""


def refuse_words(*, by: str, why: str) -> None:
    """Refuse a reason or a name that no page could show.

    Raises
    ------
    AirflowFailException
        One is empty, too long, or not one line.
    """
    for what, text in (("reason", why), ("name of who says it", by)):
        if not text.strip() or len(text) > LONGEST or not text.isprintable():
            raise AirflowFailException(f"the {what}: must be one line of 1 to {LONGEST} characters")
