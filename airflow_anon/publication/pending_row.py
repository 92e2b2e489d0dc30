"""The row by which the ledger knows of a release while it is published.

In: the facts of its attempt, and the folder with its files. Out: the row, written before anybody can read the release,
with every place that will have it: by it a publication that was cut off is completed or taken back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_anon.ledger.released_places import places_of
from airflow_anon.publication.delivered import delivered_now
from airflow_anon.publication.errors import ledger_errors
from airflow_anon.publication.job_table import JobTable
from airflow_anon.publication.one_release import OneRelease
from airflow_anon.publication.places import shares_of
from airflow_anon.publication.series import refuse_settled
from airflow_anon.publication.settle import without_table

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Pending


class PendingRow:
    """The pending row of one release."""

    def __init__(self, release: OneRelease) -> None:
        self._of = release

    def find(self) -> Pending | None:
        """Return the row, if there is one."""
        found = (one for one in self._of.ledger.pending(self._of.job.name) if one.release_id == self._of.release_id)
        return next(found, None)

    def begin(self, folder: Path, manifest_sha256: str, table: JobTable) -> None:
        """Write the pending row of the release to the ledger, before the release is visible."""
        output = self._of.job.output
        with ledger_errors():
            pending = self.find()
        table.refuse_left(pending)
        place, *also = self._places() or [None]
        switched = None if output.conn_id is None else table.written(folder)
        delivered = delivered_now(self._of.ledger, self._of.job.name, self._of.log)
        with ledger_errors():
            document = dataclasses.replace(self._of.attempt, delivered=delivered).released(
                folder,
                self._of.release_id,
                manifest_sha256,
                place=place,
                also=[one for one in also if one is not None],
                table=switched,
            )
            self._of.ledger.begin(document)
        refuse_settled(self._of.job, self._of.release_id)

    def begin_again(
        self, opened: Callable[[], AbstractContextManager[Path]], manifest_sha256: str, table: JobTable
    ) -> None:
        """Write the pending row of a release without an entry, unless the try that made it has done so.

        It is written again if the job has got other shares or another table since: what takes the release back must
        know them.
        """
        with ledger_errors():
            pending = self.find()
        is_same = (
            pending is not None
            and pending.manifest_sha256 == manifest_sha256
            and places_of(pending.document.get("publication")) == self._places()
            and table.is_named_in(pending.document)
        )
        if not is_same:
            with opened() as folder:
                self.begin(folder, manifest_sha256, table)

    def begin_without_table(self, entry: Entry | None) -> None:
        """Write the pending row again, without the table, which has a newer release."""
        if entry is not None:
            return
        with ledger_errors():
            pending = self.find()
            if pending is not None:
                self._of.ledger.begin(without_table(pending.document))

    @contextmanager
    def held(self, manifest_sha256: str) -> Iterator[None]:
        """Prevent that the publication is taken back while it becomes visible."""
        failure: Exception | None = None
        with ledger_errors(), self._of.ledger.holding(self._of.job.name, self._of.release_id, manifest_sha256):
            try:
                yield
            except Exception as problem:  # noqa: BLE001 (of the share: the ledger must not take it for its own)
                failure = problem
        if failure is not None:
            raise failure

    def _places(self) -> list[str]:
        """Return where the files of the release are to be, as its entry will say."""
        shares = shares_of(self._of.job, self._of.umask, self._of.ledger)
        return [absolute(one.release(self._of.release_id)) for one in shares]


def absolute(place: Path | str) -> str:
    """Return where a release is as its entry says it."""
    return str(place.absolute()) if isinstance(place, Path) else place
