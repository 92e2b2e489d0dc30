"""The form of the page of the ledger."""

from __future__ import annotations

from typing import TypedDict


class Newest(TypedDict):
    """The newest entry."""

    sequence: int
    recorded_at: str
    entry_sha256: str


class ShownBreak(TypedDict):
    """Something that was changed or removed, with its entry if that can be read."""

    sequence: int | None
    dag_id: str | None
    what: str


class LedgerPage(TypedDict):
    """The state of the ledger."""

    exists: bool
    documents_checked: bool
    intact: bool
    entries: int
    newest: Newest | None
    breaks: list[ShownBreak]
    jobs: int
