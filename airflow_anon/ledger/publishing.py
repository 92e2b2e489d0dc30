"""The steps of a publication, as the ledger sees them: begun, visible, complete; or revoked and taken back.

A release becomes visible, and is hidden again, only while the ledger is locked and its pending row says so. Whoever
takes a publication back first revokes it: from then on no process that still publishes can change the share, so that
what is found there stays as it was found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import sqlalchemy as sa

from airflow_anon.ledger import entries, pending
from airflow_anon.ledger.entry import Entry, Pending, columns_of
from airflow_anon.ledger.errors import LedgerError


class Publishing(ABC):
    """What a ledger offers to those who publish, and to those who settle what was cut off."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[tuple[sa.Connection, Mapping[str, Any]]]:
        """Give a connection that writes alone, and the head as the writer before left it."""

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep out every other writer of the ledger, and with them every other publisher."""
        with self._writing():
            yield

    def begin(self, document: Mapping[str, Any]) -> None:
        """Write down that a publication begins, again if it was cut off before; nothing where it has its entry.

        Parameters
        ----------
        document : mapping
            Of the entry to be, with the outcome `released`.

        Raises
        ------
        LedgerError
            The document is not that of a release; another run has begun this one; it is being taken back; or its
            attempt has ended, and was recorded as refused or failed.
        """
        decided = columns_of(document)
        with self._writing() as (connection, _):
            if decided["outcome"] == "released" and entries.released(connection, decided["job"], decided["release_id"]):
                return
            ended = entries.not_released(connection, decided)
            if ended is not None:
                raise LedgerError(
                    f"release {decided['release_id']!r} of job {decided['job']!r}: its attempt has ended, as "
                    f"{ended.outcome} (entry {ended.sequence}), so it is not published; clear the run"
                )
            pending.begin(connection, document)

    @contextmanager
    def holding(self, job: str, release_id: str, manifest_sha256: str) -> Iterator[None]:
        """Keep a publication from being taken back, for the moment in which it becomes visible.

        Raises
        ------
        LedgerError
            It was taken back, or begun again with another release.
        """
        with self._writing() as (connection, _):
            if entries.released(connection, job, release_id) is None:
                pending.begun(connection, job, release_id, manifest_sha256)
            yield

    def complete(self, job: str, release_id: str, manifest_sha256: str) -> Entry:
        """Write the entry of a publication that has begun, and forget that it is pending.

        Returns
        -------
        Entry
            The new one, or the one that is there already.

        Raises
        ------
        LedgerError
            The publication was taken back, or the entry that is there is of another release; or the ledger's head was
            tampered with.
        """
        with self._writing() as (connection, head):
            entry = entries.released(connection, job, release_id)
            if entry is None:
                return entries.append(connection, head, pending.begun(connection, job, release_id, manifest_sha256))
            if entry.manifest_sha256 != manifest_sha256:
                raise LedgerError(f"release {release_id!r} of {job!r}: entry {entry.sequence} is of another release")
            return entry

    def revoke(self, publication: Pending) -> bool:
        """Let nobody go on with a publication; False if it is not pending any more, or was begun again."""
        with self._writing() as (connection, _):
            return pending.revoke(connection, publication)

    def complete_revoked(self, publication: Pending, document: Mapping[str, Any]) -> Entry:
        """Write the entry of a revoked publication that proved to be whole.

        Raises
        ------
        LedgerError
            Somebody else has taken it back.
        """
        with self._writing() as (connection, head):
            entry = entries.released(connection, publication.job, publication.release_id)
            if entry is None and not pending.is_revoked(connection, publication):
                raise LedgerError(
                    f"release {publication.release_id!r} of job {publication.job!r}: its publication was taken back "
                    f"meanwhile; clear the run"
                )
            return entry or entries.append(connection, head, document)

    @contextmanager
    def taking_back(self, publication: Pending) -> Iterator[bool]:
        """Forget a revoked publication at the end of the block that hides its release; all of it, or nothing.

        Yields
        ------
        bool
            Whether it is still there to be taken back; else nothing may be hidden.
        """
        with self._writing() as (connection, _):
            there = pending.is_revoked(connection, publication)
            # A release that has its entry is followed, whatever a pending row says.
            yield there and entries.released(connection, publication.job, publication.release_id) is None
            if there:
                pending.withdraw(connection, publication.job, publication.release_id)

    def withdraw(self, job: str, release_id: str) -> None:
        """Forget a publication of which nothing became visible; harmless where none is pending."""
        with self._writing() as (connection, _):
            pending.withdraw(connection, job, release_id)

    def append(self, document: Mapping[str, Any]) -> Entry:
        """Write an entry, and remove the pending row of its release in the same transaction.

        Parameters
        ----------
        document : mapping
            As docs/ledger.md says, plain JSON.

        Returns
        -------
        Entry
            The new one; or the one that is there: of this release, or else of this attempt.

        Raises
        ------
        StillPending
            The document says that its attempt ended without a release, and a publication of its run is pending.
        LedgerError
            The document is not plain JSON or lacks something; or the ledger's head was tampered with.
        """
        columns = columns_of(document)
        with self._writing() as (connection, head):
            if columns["outcome"] == "released":
                known = entries.released(connection, columns["job"], columns["release_id"])
            else:
                known = entries.not_released(connection, columns)
                if known is None:
                    pending.refuse_open(connection, columns)
            return known or entries.append(connection, head, document)
