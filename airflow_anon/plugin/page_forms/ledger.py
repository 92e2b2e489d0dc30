"""The form of the page of the ledger."""

from __future__ import annotations

from typing import TypedDict

from airflow_anon.plugin.page_forms.history import Filters
from airflow_anon.plugin.page_forms.parts import Outline, State


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


class LedgerList(TypedDict):
    """One page of the entries that the user may see; `jobs` to filter by."""

    jobs: list[str]
    filters: Filters
    states: dict[State, str]
    total: int
    page: int
    pages: int
    attempts: list[Outline]


class LedgerPage(TypedDict):
    """The state of the ledger, and its entries."""

    exists: bool
    documents_checked: bool
    intact: bool
    entries: int
    newest: Newest | None
    breaks: list[ShownBreak]
    jobs: int
    listed: LedgerList
