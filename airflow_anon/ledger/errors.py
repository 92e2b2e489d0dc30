"""Errors of the ledger; their texts hold no password and no value of a record."""

from __future__ import annotations


class LedgerError(Exception):
    """The ledger refuses what it was given, or does not have what it was asked for."""


class LedgerUnreachable(LedgerError):  # noqa: N818 (named for what happened)
    """The database of the ledger cannot be opened, read or written; a retry may help."""


class StillPending(LedgerError):  # noqa: N818 (named for what is found)
    """A publication of the run is pending, so its attempt has not ended; settle the publication first."""
