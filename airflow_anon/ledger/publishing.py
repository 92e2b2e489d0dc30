"""The steps of a publication in the ledger: begun, visible, complete; or revoked and taken back.

A release becomes visible, or is hidden again, only while the ledger is locked and its pending row allows it. A process
that takes a publication back revokes it first: from then on no other process can change the release in the share.
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
    """The methods of a ledger for publishing, and for settling publications that were cut off."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[tuple[sa.Connection, Mapping[str, Any]]]:
        """Give a connection in a write transaction, and the head as the last writer left it."""

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep out all other writers of the ledger, and so all other publishers."""
        with self._writing():
            yield

    def begin(self, document: Mapping[str, Any]) -> None:
        """Record that a publication begins, or begins again after a cut; do nothing if it has its entry.

        Parameters
        ----------
        document : mapping
            The document of the future entry, with the outcome `released`.

        Raises
        ------
        LedgerError
            The document is not of a release; another run has begun this release; it is being taken back; or its
            attempt was recorded as refused or failed.
        """
        decided = columns_of(document)
        with self._writing() as (connection, _):
            if decided["outcome"] == "released" and entries.released(connection, decided["job"], decided["release_id"]):
                return
            ended = entries.not_released(connection, decided)
            if ended is not None:
                raise LedgerError(
                    f"release {decided['release_id']!r} of job {decided['job']!r}: its attempt was recorded as "
                    f"{ended.outcome} (entry {ended.sequence}), so it is not published; clear the run"
                )
            pending.begin(connection, document)

    @contextmanager
    def holding(self, job: str, release_id: str, manifest_sha256: str) -> Iterator[None]:
        """Keep a publication from being taken back while it becomes visible.

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
        """Write the entry of a publication that has begun, and remove its pending row.

        Returns
        -------
        Entry
            The new one, or the existing one.

        Raises
        ------
        LedgerError
            The publication was taken back, the existing entry is of another release, or the ledger's head was tampered
            with.
        """
        with self._writing() as (connection, head):
            entry = entries.released(connection, job, release_id)
            if entry is None:
                return entries.append(connection, head, pending.begun(connection, job, release_id, manifest_sha256))
            if entry.manifest_sha256 != manifest_sha256:
                raise LedgerError(f"release {release_id!r} of {job!r}: entry {entry.sequence} is of another release")
            return entry

    def revoke(self, publication: Pending) -> bool:
        """Revoke a publication, so that no process continues it; False if it is not pending or was begun again."""
        with self._writing() as (connection, _):
            return pending.revoke(connection, publication)

    def complete_revoked(self, publication: Pending, document: Mapping[str, Any]) -> Entry:
        """Write the entry of a revoked publication whose release is complete.

        Raises
        ------
        LedgerError
            Another process has taken it back.
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
        """Keep out all other writers while the block hides the release of a revoked publication.

        The row stays until `taken_back`: whoever is cut off before leaves it to the next one.

        Yields
        ------
        bool
            Whether it is still to be taken back; if not, hide nothing.
        """
        with self._writing() as (connection, _):
            there = pending.is_revoked(connection, publication)
            # A release with an entry stays visible even if it has a pending row.
            yield there and entries.released(connection, publication.job, publication.release_id) is None

    def taken_back(self, publication: Pending, document: Mapping[str, Any] | None = None) -> Entry | None:
        """Remove the pending row of a revoked publication, and write the entry of its attempt, in one transaction.

        Parameters
        ----------
        document : mapping, optional
            Of its attempt, which failed; without it whoever ended the attempt writes the entry.

        Returns
        -------
        Entry or None
            That of the release, where another process has completed it; else that of the attempt.

        Raises
        ------
        StillPending
            The attempt has begun to publish again.
        LedgerError
            The document is not plain JSON or lacks a key, or the ledger's head was tampered with.
        """
        columns = None if document is None else columns_of(document)
        with self._writing() as (connection, head):
            if pending.is_revoked(connection, publication):
                pending.withdraw(connection, publication.job, publication.release_id)
            known = entries.released(connection, publication.job, publication.release_id)
            if known is not None or columns is None or document is None:
                return known
            known = entries.not_released(connection, columns)
            if known is None:
                pending.refuse_open(connection, columns)
            return known or entries.append(connection, head, document)

    def withdraw(self, job: str, release_id: str) -> None:
        """Remove the pending row of a publication that never became visible; harmless if none is pending."""
        with self._writing() as (connection, _):
            pending.withdraw(connection, job, release_id)

    def append(self, document: Mapping[str, Any]) -> Entry:
        """Write an entry, and remove the pending row of its release in the same transaction.

        Parameters
        ----------
        document : mapping
            Plain JSON as in docs/ledger.md.

        Returns
        -------
        Entry
            The new one, or the existing one of this release or this attempt.

        Raises
        ------
        StillPending
            The document is of an attempt without a release, but a publication of its run is pending.
        LedgerError
            The document is not plain JSON or lacks a key, or the ledger's head was tampered with.
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
