"""The release ledger: one entry per attempt to release a table, chained by hash (docs/ledger.md).

Names are imported on first use, so that DAG files can import this package without loading SQLAlchemy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_anon.ledger.address import open_ledger
    from airflow_anon.ledger.delivery import Delivery, delivered, delivery_of
    from airflow_anon.ledger.entry import Entry, Pending
    from airflow_anon.ledger.errors import LedgerError, LedgerUnreachable, StillPending
    from airflow_anon.ledger.share_check import FileState, check_files
    from airflow_anon.ledger.share_orphans import Orphan, orphans
    from airflow_anon.ledger.store import Ledger
    from airflow_anon.ledger.verify import Break

_HOMES = {
    "Break": "verify",
    "Delivery": "delivery",
    "Entry": "entry",
    "FileState": "share_check",
    "Ledger": "store",
    "LedgerError": "errors",
    "LedgerUnreachable": "errors",
    "Orphan": "share_orphans",
    "Pending": "entry",
    "StillPending": "errors",
    "check_files": "share_check",
    "delivered": "delivery",
    "delivery_of": "delivery",
    "open_ledger": "address",
    "orphans": "share_orphans",
}

__all__ = [
    "Break",
    "Delivery",
    "Entry",
    "FileState",
    "Ledger",
    "LedgerError",
    "LedgerUnreachable",
    "Orphan",
    "Pending",
    "StillPending",
    "check_files",
    "delivered",
    "delivery_of",
    "open_ledger",
    "orphans",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'airflow_anon.ledger' has no attribute {name!r}")
    return getattr(importlib.import_module(f"airflow_anon.ledger.{_HOMES[name]}"), name)
