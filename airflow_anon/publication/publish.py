"""A release is written to all of its shares and the ledger, or to none.

In: a staged release that was proven, and the facts of its attempt. Out: the release folders, the switched table and the
ledger's entry. The order is that of docs/ledger.md: the next try completes an interrupted publication, and one that no
try completes is taken back.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.expectations.linked_release import stacked_release
from airflow_anon.ledger.released_places import places_of
from airflow_anon.publication.delivered import delivered_now
from airflow_anon.publication.errors import ledger_errors, table_errors
from airflow_anon.publication.places import Share, refuse_unmounted, shares_of
from airflow_anon.publication.series import refuse_settled
from airflow_anon.publication.settle import settle, without_table
from airflow_anon.share.folder_share import file_sha256
from airflow_anon.share.made_table import read_made
from airflow_anon.share.sql_comments import Comments
from airflow_anon.share.sql_content import content_of, salt_of
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.relation import table_key
from airflow_anon.transport.release_files import DATA, MANIFEST, VALIDATION
from engine import column_notes

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger, Pending
    from airflow_anon.ledger.document import Attempt
    from airflow_anon.share.made_table import MadeTable
    from airflow_anon.share.staged_release import StagedRelease
    from engine import Job

OUTCOMES = {
    "loaded": "holds the release now",
    "present": "has had this release already and was not changed",
    "older": "holds a newer release and was not changed",
}


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
class Publication:
    """The publication of one release of one job.

    Attributes
    ----------
    job : Job
        With its output.
    release_id : str
    ledger : Ledger
    attempt : Attempt
        For the entry.
    umask : int
        Permission bits that files in the share do not get.
    log : Logger
    """

    job: Job
    release_id: str
    ledger: Ledger
    attempt: Attempt
    umask: int
    log: Logger

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
        self._refuse_table()
        entry = self._entry()
        self._refuse_withdrawn()
        self._refuse_given_up(entry)
        if self.job.output.path is None:
            return self._table_alone(staged, dict(metrics), entry)
        share, *further = shares_of(self.job, self.umask, self.ledger, staged.folder.parent)
        refuse_unmounted([share, *further], self.ledger, self.job.name)
        for one in further:
            # whoever takes the release back looks there, and what cannot be used ends the try before anything is there
            one.prepare()
        manifest = share.published(self.release_id)
        if entry is not None:
            self._agrees(share, entry, there=manifest is not None)
            for one in further:
                self._agrees(one, entry, there=one.published(self.release_id) is not None)
        gets_table = self._gets_table(entry)
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
            self._begin_again(lambda: share.opened(self.release_id), manifest_sha256)
            for one in further:
                self._copy(share, one, manifest_sha256)
        if gets_table:
            with share.opened(self.release_id) as folder:
                outcome = self._switch_table(manifest_sha256, folder)
            if outcome == "older":
                self._begin_without_table(entry)
        entry = entry or self._record(manifest_sha256)
        self._lead_readers((share, *further))
        told = manifest.get("metrics", dict(metrics))
        return Published(entry, str(share.release(self.release_id)), told, self._is_staged(entry, staged))

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
            return self._held(manifest_sha256)

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
        self._gets_table(entry)
        with tempfile.TemporaryDirectory(dir=staged.folder.parent) as temporary:
            folder = Path(temporary)
            staged.copy_to(folder)
            loaded = self._loaded_manifest()
            if entry is not None and loaded != entry.manifest_sha256:
                raise self._disagreement(entry, "is another one now" if loaded else "is no longer in the share")
            if loaded is None:
                self._begin(folder, staged.manifest_sha256)
                loaded = staged.manifest_sha256
            elif entry is None and loaded == staged.manifest_sha256:
                self._begin_again(lambda: nullcontext(folder), str(loaded))
            outcome = self._switch_table(loaded, folder)
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

    def _gets_table(self, entry: Entry | None) -> bool:
        """Whether the table of the job is to have the release.

        An entry stays as it was written, and a recall takes the release out of the table that it names. So a run that
        is cleared after its job got a table, or another one, does not load it.

        Raises
        ------
        AirflowFailException
            The entry does not name the table, which has no newer release either.
        """
        output = self.job.output
        if output.conn_id is None or entry is None:
            return output.conn_id is not None
        with ledger_errors():
            document = self.ledger.document(entry.sequence)
        if self._names_table(document):
            return True
        with table_errors(output.conn_id, output.table) as hook:
            newest = self._sql_share(hook).newest()
        if newest is not None and newest > self.release_id:
            self.log.info("Table %s: %s", output.table, OUTCOMES["older"])
            return False
        raise AirflowFailException(
            f"release {self.release_id} of {self.job.name}: entry {entry.sequence} of the ledger names "
            f"{'no' if _table_in(document) is None else 'another'} table, so a recall would leave the records in table "
            f"{output.table}, which does not get them; trigger a new run"
        )

    def _names_table(self, document: Mapping[str, Any]) -> bool:
        """Whether a document of a release names the table that the job has now; or none, as the job."""
        output, table = self.job.output, _table_in(document)
        if table is None or output.conn_id is None:
            return table is None and output.conn_id is None
        return table_key(table["conn_id"], table["table"]) == table_key(output.conn_id, output.table)

    def _refuse_left_table(self) -> None:
        """Refuse to begin again without the table that an earlier try has loaded: nobody would know of it any more.

        Raises
        ------
        AirflowFailException
            The job does not name that table any more, and it has the release.
        """
        with ledger_errors():
            pending = self._pending()
        table = None if pending is None else _table_in(pending.document)
        if pending is None or table is None or self._names_table(pending.document):
            return
        with table_errors(table["conn_id"], table["table"]) as hook:
            loaded = SqlShare(hook, table["table"], made_inside=None).manifest_of(self.release_id)
        if loaded is not None:
            raise AirflowFailException(
                f"release {self.release_id} of {self.job.name}: an earlier try has loaded it into table "
                f"{table['table']} of {table['conn_id']!r}, which the job does not name any more; the end of the run "
                "completes it there, so trigger a new run"
            )

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
        place = _absolute(share.release(self.release_id))
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
            pending = self._pending()
        if entry is None and pending is not None and pending.revoked:
            return settle(pending, self.ledger, self.umask)
        return entry

    @property
    def _is_inside(self) -> bool:
        """Whether the release is made in the database of its share."""
        return self.job.backend == "sql"

    def _refuse_table(self) -> None:
        """Refuse a table that could not get the release, before anything of it is in a share.

        Raises
        ------
        AirflowFailException
            It has releases of another job; or it is in the SQLite file of the ledger: SQLite locks whole files, and
            both need a lock.
        """
        if self.job.output.conn_id is None:
            return
        with table_errors(self.job.output.conn_id, self.job.output.table) as hook:
            share = self._sql_share(hook)
            of_share = share.sqlite_file()
            file = self.ledger.sqlite_file
            if of_share is not None and file is not None and of_share.resolve() == file.resolve():
                raise AirflowFailException(
                    f"the release ledger (AIRFLOW_ANON_LEDGER): is in the SQLite file of connection "
                    f"{self.job.output.conn_id!r}, into which releases are loaded; use a separate file for the ledger"
                )
            share.refuse_other_job()

    def _sql_share(self, hook: Any, **told: Any) -> SqlShare:
        return SqlShare(
            hook,
            self.job.output.table,
            made_inside=self._is_inside,
            job=self.job.name,
            job_of=self._job_of,
            **told,
        )

    def _job_of(self, release_id: str, manifest_sha256: str) -> str | None:
        """Return the job of a release that the ledger knows."""
        with ledger_errors():
            entry = self.ledger.of_release(release_id, manifest_sha256)
        return None if entry is None else entry.job

    def _fill(self, folder: Path, staged: StagedRelease, metrics: Mapping[str, Any]) -> dict[str, Any]:
        staged.copy_to(folder)
        created = dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
        return {"release_id": self.release_id, "name": self.job.name, "created": created, "metrics": dict(metrics)}

    def _announced(self, folder: Path) -> AbstractContextManager[None]:
        manifest_sha256 = file_sha256(folder / MANIFEST)
        self._begin(folder, manifest_sha256)
        return self._held(manifest_sha256)

    @contextmanager
    def _held(self, manifest_sha256: str) -> Iterator[None]:
        """Prevent that the publication is taken back while it becomes visible."""
        failure: Exception | None = None
        with ledger_errors(), self.ledger.holding(self.job.name, self.release_id, manifest_sha256):
            try:
                yield
            except Exception as problem:  # noqa: BLE001 (of the share: the ledger must not take it for its own)
                failure = problem
        if failure is not None:
            raise failure

    def _places(self) -> list[str]:
        """Return where the files of the release are to be, as its entry will say."""
        return [_absolute(one.release(self.release_id)) for one in shares_of(self.job, self.umask, self.ledger)]

    def _begin(self, folder: Path, manifest_sha256: str) -> None:
        """Write the pending row of the release to the ledger, before the release is visible."""
        output = self.job.output
        self._refuse_left_table()
        place, *also = self._places() or [None]
        table = None if output.conn_id is None else self._table_of(folder)
        delivered = delivered_now(self.ledger, self.job.name, self.log)
        with ledger_errors():
            document = dataclasses.replace(self.attempt, delivered=delivered).released(
                folder,
                self.release_id,
                manifest_sha256,
                place=place,
                also=[one for one in also if one is not None],
                table=table,
            )
            self.ledger.begin(document)
        refuse_settled(self.job, self.release_id)

    def _made(self, folder: Path) -> MadeTable | None:
        """Return the table of a release that was made in the warehouse; None for one in a file.

        Raises
        ------
        AirflowFailException
            The release is not of the kind that its job makes, or its share is not where it was made.
        """
        made = read_made(folder)
        if (made is not None) != self._is_inside:
            raise AirflowFailException(
                f"release {self.release_id} of {self.job.name}: was made by another backend than the job's, "
                f"{self.job.backend}; clear the run from the de-identification on"
            )
        if made is not None and self.job.output.conn_id != self.job.source.conn_id:
            raise AirflowFailException(
                "publish_to: a release with backend sql stays in its warehouse; name the connection of the source"
            )
        return made

    def _table_of(self, folder: Path) -> dict[str, Any]:
        """Return the table of the SQL share as it stands in the entry, with the hash of what it will hold."""
        output = self.job.output
        made = self._made(folder)
        if made is not None:
            content_of_made = {"sha256": made["sha256"], "columns": made["columns"]}
            return {"conn_id": output.conn_id, "table": output.table, "content": content_of_made}
        with table_errors(output.conn_id, output.table) as hook:
            dialect = SqlShare(hook, output.table).engine.dialect.name
        with self._data(folder) as data:
            content = content_of(data, dialect, salt_of(folder))
        columns = [{"name": name, "kind": kind} for name, kind in content.kinds.items()]
        told = {"sha256": content.hexdigest(), "columns": columns}
        return {"conn_id": output.conn_id, "table": output.table, "content": told}

    def _begin_without_table(self, entry: Entry | None) -> None:
        """Write the pending row again, without the table, which has a newer release."""
        if entry is not None:
            return
        with ledger_errors():
            pending = self._pending()
            if pending is not None:
                self.ledger.begin(without_table(pending.document))

    def _pending(self) -> Pending | None:
        found = (one for one in self.ledger.pending(self.job.name) if one.release_id == self.release_id)
        return next(found, None)

    def _begin_again(self, opened: Callable[[], AbstractContextManager[Path]], manifest_sha256: str) -> None:
        """Write the pending row of a release without an entry, unless the try that made it has done so.

        It is written again if the job has got other shares or another table since: what takes the release back must
        know them.
        """
        with ledger_errors():
            pending = self._pending()
        is_same = (
            pending is not None
            and pending.manifest_sha256 == manifest_sha256
            and places_of(pending.document.get("publication")) == self._places()
            and self._names_table(pending.document)
        )
        if not is_same:
            with opened() as folder:
                self._begin(folder, manifest_sha256)

    def _loaded_manifest(self) -> str | None:
        with table_errors(self.job.output.conn_id, self.job.output.table) as hook:
            return self._sql_share(hook).manifest_of(self.release_id)

    def _switch_table(self, manifest_sha256: str, folder: Path) -> str:
        output = self.job.output
        made = self._made(folder)
        with table_errors(output.conn_id, output.table) as hook:
            share = self._sql_share(hook, linked=self.job.released_of_tables, comments=self._comments(folder))
            if made is not None:
                outcome = share.publish_made(
                    self.release_id, manifest_sha256, made, held=lambda: self._held(manifest_sha256)
                )
            else:
                with self._data(folder) as data:
                    outcome = share.publish(
                        self.release_id,
                        manifest_sha256,
                        data,
                        salt=salt_of(folder),
                        held=lambda: self._held(manifest_sha256),
                    )
        if outcome == "older":
            self.log.warning(
                "Table %s: %s; if the date of that one is wrong, recall it", output.table, OUTCOMES[outcome]
            )
        else:
            self.log.info("Table %s: %s", output.table, OUTCOMES[outcome])
        return outcome

    def _comments(self, folder: Path) -> Comments:
        """Return what the table says of itself and of its columns."""
        table = f"table {self.job.name}, release {self.release_id}; cite both, and who released it"
        return Comments(table, column_notes(folder, self.job))

    @contextmanager
    def _data(self, folder: Path) -> Iterator[Path]:
        """Give the file of a release; of linked tables a private one with the records of all."""
        if self.job.tables is None:
            yield folder / DATA
            return
        with tempfile.TemporaryDirectory(prefix="tables-") as private:
            yield stacked_release(folder, self.job.released_of_tables, Path(private) / DATA)

    def _record(self, manifest_sha256: str) -> Entry:
        with ledger_errors():
            entry = self.ledger.complete(self.job.name, self.release_id, manifest_sha256)
        self.log.info("Entry %d of the ledger: %s", entry.sequence, entry.entry_sha256)
        return entry


def _absolute(place: Path | str) -> str:
    """Return where a release is as its entry says it."""
    return str(place.absolute()) if isinstance(place, Path) else place


def _table_in(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the table that a document of a release names."""
    table: Mapping[str, Any] | None = (document.get("publication") or {}).get("table")
    return table
