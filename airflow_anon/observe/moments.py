"""Moments of the ledger: read, and as people are told of them."""

from __future__ import annotations

import datetime as dt
from typing import Any


def moment_of(text: Any) -> dt.datetime | None:
    """Return a moment of a row; None if the row was changed to something else."""
    try:
        found = dt.datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else None


def moment_words(text: Any) -> str:
    """Write a moment of a row as the pages do, to the second, with its zone: `2026-03-01 02:15:00 UTC`."""
    found = moment_of(text)
    return "an unknown time" if found is None else f"{found.astimezone(dt.timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
