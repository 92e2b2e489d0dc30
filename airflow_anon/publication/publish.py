"""A release is written to all of its shares and the ledger, or to none.

In: a staged release that was proven, and the facts of its attempt. Out: the release folders, the switched table and the
ledger's entry. The order is that of docs/ledger.md: the next try completes an interrupted publication, and one that no
try completes is taken back.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.ledger.released_places import places_of
from airflow_anon.publication.errors import ledger_errors
from airflow_anon.publication.job_table import JobTable
from airflow_anon.publication.new_ledger import refuse_new_ledger
from airflow_anon.publication.one_release import OneRelease
from airflow_anon.publication.pending_row import PendingRow, absolute
from airflow_anon.publication.places import Share, refuse_unmounted, shares_of
from airflow_anon.publication.settle import settle
from airflow_anon.share.folder_share import file_sha256
from airflow_anon.transport.release_files import MANIFEST, VALIDATION

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry
    from airflow_anon.share.staged_release import StagedRelease


@dataclass(frozen=True)
class Published:
    """A release that is in the share and in the ledger.

    Attributes
    ----------
    entry : Entry
        Of the ledger.
    place : str or None
        In the share, a path or an address in a store; None without either.
    metrics : dict
        Metrics of the published release: an earlier try of the run may have published another one.
    is_staged : bool
        Whether it is the one that is staged now, and no other one of an earlier try.
    """

    entry: Entry
    place: str | None
    metrics: dict[str, Any]
    is_staged: bool


@dataclass(frozen=True, kw_only=True)
class Publication(OneRelease):
    """The publication of one release of one job."""

    def complete(self, staged: StagedRelease, metrics: Mapping[str, Any]) -> Published:
        """Do the missing steps of the publication.

        Raises
        ------
        AirflowFailException
            The release is not the validated one, or the share or the ledger has something of another origin: a retry
            does not help.
        AirflowException
            A database failed; a retry completes what is missing.
        """
        self._table.refuse()
        entry = self._entry()
        self._refuse_withdrawn()
        self._refuse_given_up(entry)
        if self.job.output.path is None:
            return self._table_alone(staged, dict(metrics), entry)
        share, *further = shares_of(self.job, self.umask, self.ledger, staged.folder.parent)
        refuse_unmounted([share, *further], self.ledger, self.job.name)
        refuse_new_ledger([share, *further], self.ledger, self.job.name)
        for one in further:
            # whoever takes the release back looks there, and what cannot be used ends the try before anything is there
            one.prepare()
        manifest = share.published(self.release_id)
        if entry is not None:
            self._agrees(share, entry, there=manifest is not None)
            for one in further:
                self._agrees(one, entry, there=one.published(self.release_id) is not None)
        gets_table = self._table.gets(entry)
        if manifest is None:
            self._refuse_copies(further)
            manifest = share.add(
                self.release_id,
                lambda folder: self._fill(folder, staged, metrics),
                announced=self._announced,
            )
            self.log.info("Release %s of %s written", self.release_id, self.job.name)
        else:
            staged.check()
            self.log.info("Release %s of %s is in the share already and is not changed", self.release_id, self.job.name)
        manifest_sha256 = str(share.manifest_sha256(self.release_id))
        if entry is None:
            self._row.begin_again(lambda: share.opened(self.release_id), manifest_sha256, self._table)
            for one in further:
                self._copy(share, one, manifest_sha256)
        if gets_table:
            with share.opened(self.release_id) as folder:
                outcome = self._table.switch(manifest_sha256, folder)
            if outcome == "older":
                self._row.begin_without_table(entry)
        entry = entry or self._record(manifest_sha256)
        self._lead_readers((share, *further))
        told = manifest.get("metrics", dict(metrics))
        return Published(entry, str(share.release(self.release_id)), told, self._is_staged(entry, staged))

    @property
    def _table(self) -> JobTable:
        return JobTable(job=self.job, release_id=self.release_id, ledger=self.ledger, log=self.log, held=self._row.held)

    @property
    def _row(self) -> PendingRow:
        return PendingRow(self)

    def _copy(self, share: Share, further: Share, manifest_sha256: str) -> None:
        """Write the release of the first share into another one, file by file the same, unless it is there.

        Raises
        ------
        AirflowFailException
            Something else has its name there.
        """
        if further.published(self.release_id) is not None:
            if further.manifest_sha256(self.release_id) != manifest_sha256:
                raise self._another(further)
            return

        def fill(folder: Path) -> dict[str, Any]:
            with share.opened(self.release_id) as source:
                document: dict[str, Any] = json.loads((source / MANIFEST).read_bytes())
                for name in document["files"]:
                    shutil.copyfile(source / name, folder / name)
            return {key: told for key, told in document.items() if key != "files"}

        def announced(folder: Path) -> AbstractContextManager[None]:
            if file_sha256(folder / MANIFEST) != manifest_sha256:
                raise AirflowException(f"{share.release(self.release_id)}: changed while it was copied; try again")
            return self._row.held(manifest_sha256)

        further.add(self.release_id, fill, announced=announced)
        self.log.info("Release %s of %s written to %s", self.release_id, self.job.name, further.folder)

    def _refuse_copies(self, further: Sequence[Share]) -> None:
        """Refuse a release in a further share that the first one does not have: nobody can tell whose it is."""
        for one in further:
            if one.published(self.release_id) is not None:
                raise self._another(one)

    def _another(self, share: Share) -> AirflowFailException:
        return AirflowFailException(
            f"{share.release(self.release_id)}: has the name of this run's release, and is another one; find out who "
            "made it, then remove it"
        )

    def _lead_readers(self, shares: Sequence[Share]) -> None:
        """Switch `current` of every share, of the others also where one fails.

        Raises
        ------
        AirflowException
            A share failed; the retry switches it.
        """
        failed: AirflowException | OSError | None = None
        for share in shares:
            try:
                with ledger_errors(), self.ledger.alone():
                    self._refuse_withdrawn()
                    is_current = share.make_current(self.release_id)
            except (AirflowException, OSError) as problem:
                failed = failed or problem
                continue
            if not is_current:
                self.log.warning(
                    "Release %s is older than the current one, which stays current; if the date of that one is wrong, "
                    "recall it",
                    self.release_id,
                )
        if failed is not None:
            raise failed

    def _table_alone(self, staged: StagedRelease, metrics: dict[str, Any], entry: Entry | None) -> Published:
        """Publish to a SQL share, without a folder."""
        self._table.gets(entry)
        with tempfile.TemporaryDirectory(dir=staged.folder.parent) as temporary:
            folder = Path(temporary)
            staged.copy_to(folder)
            loaded = self._table.manifest()
            if entry is not None and loaded != entry.manifest_sha256:
                raise self._disagreement(entry, "is another one now" if loaded else "is no longer in the share")
            if loaded is None:
                self._row.begin(folder, staged.manifest_sha256, self._table)
                loaded = staged.manifest_sha256
            elif entry is None and loaded == staged.manifest_sha256:
                self._row.begin_again(lambda: nullcontext(folder), str(loaded), self._table)
            outcome = self._table.switch(loaded, folder)
        if outcome == "older" and entry is None:
            with ledger_errors():
                self.ledger.withdraw(self.job.name, self.release_id)
            raise AirflowFailException(
                f"release {self.release_id} of {self.job.name}: is not published, because table "
                f"{self.job.output.table} holds a newer release and the job's output has no path; if the date of that "
                "one is wrong, recall it, and clear the run"
            )
        entry = entry or self._record(loaded)
        return Published(entry, None, metrics, self._is_staged(entry, staged))

    def _is_staged(self, entry: Entry, staged: StagedRelease) -> bool:
        """Whether an entry is of the staged release: each of its files is the released one, and there is no other.

        Their manifests differ, since a share adds the validation result.
        """
        with ledger_errors():
            released = self.ledger.document(entry.sequence)["publication"]["files"]
        made = json.loads((staged.folder / MANIFEST).read_bytes())["files"]
        return {name: one for name, one in released.items() if name != VALIDATION} == made

    def _refuse_withdrawn(self) -> None:
        """Refuse to publish again what was taken back."""
        with ledger_errors():
            found = self.ledger.withdrawal(self.job.name, self.release_id)
        if found is not None:
            raise AirflowFailException(
                f"release {self.release_id} of {self.job.name}: was {found.outcome} (entry {found.sequence} of the "
                "ledger), and is not published again; trigger a new run"
            )

    def _refuse_given_up(self, entry: Entry | None) -> None:
        """Refuse to begin a release whose share was given up while it was published: nobody would miss it there."""
        from airflow_anon.ledger.given_up import given_up  # noqa: PLC0415 (heavy imports belong into execute)

        if entry is not None:
            return
        with ledger_errors():
            found = [one for one in given_up(self.ledger, self.job.name) if self.release_id in one.told.releases]
        if found:
            raise AirflowFailException(
                f"release {self.release_id} of {self.job.name}: {found[0].share} was {found[0].words} while it was "
                "published; trigger a new run"
            )

    def _agrees(self, share: Share, entry: Entry, *, there: bool) -> None:
        """Refuse to publish over an entry whose release is missing or different."""
        if there and share.manifest_sha256(self.release_id) == entry.manifest_sha256:
            return
        self._refuse_other_place(share, entry)
        found = "is another one now" if there else "is no longer in the share"
        raise self._disagreement(entry, found)

    def _refuse_other_place(self, share: Share, entry: Entry) -> None:
        """Refuse a share that cannot have the release: the job got it later, or it was given up.

        Raises
        ------
        AirflowFailException
            The entry does not name the share, or somebody gave it up.
        """
        from airflow_anon.ledger.given_up import given_up, gone_from  # noqa: PLC0415 (heavy imports belong into execute)

        with ledger_errors():
            publication = self.ledger.document(entry.sequence)["publication"]
            gone = gone_from(given_up(self.ledger, self.job.name), publication)
        place = absolute(share.release(self.release_id))
        if place not in places_of(publication):
            why = "the job's output got this share later"
        elif place in gone:
            why = f"it was {gone[place].words}"
        else:
            return
        raise AirflowFailException(
            f"release {self.release_id} of {self.job.name}: was published (entry {entry.sequence} of the ledger), and "
            f"{share.folder} does not have it, since {why}; a published release gets no further share, so trigger a "
            "new run"
        )

    def _disagreement(self, entry: Entry, found: str) -> AirflowFailException:
        return AirflowFailException(
            f"release {self.release_id} of {self.job.name}: was published (entry {entry.sequence} of the ledger) and "
            f"{found}; find out who changed the share, and trigger a new run"
        )

    def _entry(self) -> Entry | None:
        """Return the entry of the release; a publication that is being taken back is settled first."""
        with ledger_errors():
            entry = self.ledger.released(self.job.name, self.release_id)
            pending = self._row.find()
            if pending is not None:
                pending.refuse_another(self.attempt.run)
        if entry is None and pending is not None and pending.revoked:
            return settle(pending, self.ledger, self.umask)
        return entry

    def _fill(self, folder: Path, staged: StagedRelease, metrics: Mapping[str, Any]) -> dict[str, Any]:
        staged.copy_to(folder)
        created = dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
        return {"release_id": self.release_id, "name": self.job.name, "created": created, "metrics": dict(metrics)}

    def _announced(self, folder: Path) -> AbstractContextManager[None]:
        manifest_sha256 = file_sha256(folder / MANIFEST)
        self._row.begin(folder, manifest_sha256, self._table)
        return self._row.held(manifest_sha256)

    def _record(self, manifest_sha256: str) -> Entry:
        with ledger_errors():
            entry = self.ledger.complete(self.job.name, self.release_id, manifest_sha256)
        self.log.info("Entry %d of the ledger: %s", entry.sequence, entry.entry_sha256)
        return entry
