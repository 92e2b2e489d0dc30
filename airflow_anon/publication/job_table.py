"""The table of a SQL share that a job releases into: whether it gets a release, what it will hold, and its switch.

In: a release that is complete in a folder, and the ledger. Out: the table with the release, in one transaction.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.expectations.linked_release import stacked_release
from airflow_anon.publication.errors import ledger_errors, table_errors
from airflow_anon.publication.new_ledger import refuse_new_ledger_of_table
from airflow_anon.share.made_table import read_made
from airflow_anon.share.sql_comments import Comments
from airflow_anon.share.sql_content import content_of, salt_of
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.content_hash import ContentDocument
from airflow_anon.transport.relation import table_key
from airflow_anon.transport.release_files import DATA
from engine import column_notes

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger, Pending
    from airflow_anon.share.made_table import MadeTable
    from engine import Job

OUTCOMES = {
    "loaded": "holds the release now",
    "present": "has had this release already and was not changed",
    "older": "holds a newer release and was not changed",
}


@dataclass(frozen=True, kw_only=True)
class JobTable:
    """The table of a job, for one release; of a job without one only `gets` and `is_named_in` may be asked.

    Attributes
    ----------
    job : Job
        With its output.
    release_id : str
    ledger : Ledger
    log : Logger
    held : callable
        Given the hash of the manifest; prevents that the publication is taken back while it becomes visible.
    """

    job: Job
    release_id: str
    ledger: Ledger
    log: Logger
    held: Callable[[str], AbstractContextManager[None]]

    def refuse(self) -> None:
        """Refuse a table that could not get the release, before anything of it is in a share.

        Raises
        ------
        AirflowFailException
            It has releases of another job; or it is in the SQLite file of the ledger: SQLite locks whole files, and
            both need a lock.
        AirflowException
            Its books name the job, and the ledger has no release of it.
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
            newest = share.newest_of_job()
        if newest is not None:
            refuse_new_ledger_of_table(self.job.output.table, newest, self.ledger, self.job.name)

    def gets(self, entry: Entry | None) -> bool:
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
        if self.is_named_in(document):
            return True
        with table_errors(output.conn_id, output.table) as hook:
            newest = self._sql_share(hook).newest()
        if newest is not None and newest > self.release_id:
            self.log.info("Table %s: %s", output.table, OUTCOMES["older"])
            return False
        raise AirflowFailException(
            f"release {self.release_id} of {self.job.name}: entry {entry.sequence} of the ledger names "
            f"{'no' if table_in(document) is None else 'another'} table, so a recall would leave the records in table "
            f"{output.table}, which does not get them; trigger a new run"
        )

    def is_named_in(self, document: Mapping[str, Any]) -> bool:
        """Whether a document of a release names the table that the job has now; or none, as the job."""
        output, table = self.job.output, table_in(document)
        if table is None or output.conn_id is None:
            return table is None and output.conn_id is None
        return table_key(table["conn_id"], table["table"]) == table_key(output.conn_id, output.table)

    def refuse_left(self, pending: Pending | None) -> None:
        """Refuse to begin again without the table that an earlier try has loaded: nobody would know of it any more.

        Parameters
        ----------
        pending : Pending or None
            The publication that the earlier try has begun.

        Raises
        ------
        AirflowFailException
            The job does not name that table any more, and it has the release.
        """
        table = None if pending is None else table_in(pending.document)
        if pending is None or table is None or self.is_named_in(pending.document):
            return
        with table_errors(table["conn_id"], table["table"]) as hook:
            loaded = SqlShare(hook, table["table"], made_inside=None).manifest_of(self.release_id)
        if loaded is not None:
            raise AirflowFailException(
                f"release {self.release_id} of {self.job.name}: an earlier try has loaded it into table "
                f"{table['table']} of {table['conn_id']!r}, which the job does not name any more; the end of the run "
                "completes it there, so trigger a new run"
            )

    def written(self, folder: Path) -> dict[str, Any]:
        """Return the table of the SQL share as it stands in the entry, with the hash of what it will hold."""
        output = self.job.output
        made = self._made(folder)
        if made is not None:
            content_of_made = {name: made[name] for name in ContentDocument.__annotations__ if name in made}
            return {"conn_id": output.conn_id, "table": output.table, "content": content_of_made}
        with table_errors(output.conn_id, output.table) as hook:
            dialect = SqlShare(hook, output.table).engine.dialect.name
        with self._data(folder) as data:
            content = content_of(data, dialect, salt_of(folder))
        return {"conn_id": output.conn_id, "table": output.table, "content": content.document()}

    def manifest(self) -> str | None:
        """Return the hash of the manifest with which the table has the release; None if it does not have it."""
        with table_errors(self.job.output.conn_id, self.job.output.table) as hook:
            return self._sql_share(hook).manifest_of(self.release_id)

    def switch(self, manifest_sha256: str, folder: Path) -> str:
        """Load a release from its folder; return what became of the table, one of `OUTCOMES`.

        Raises
        ------
        AirflowFailException
            The release is not of the kind that its job makes, or its share is not where it was made.
        AirflowException
            The database failed; a retry completes what is missing.
        """
        output = self.job.output
        made = self._made(folder)
        with table_errors(output.conn_id, output.table) as hook:
            share = self._sql_share(hook, linked=self.job.released_of_tables, comments=self._comments(folder))
            if made is not None:
                outcome = share.publish_made(
                    self.release_id, manifest_sha256, made, held=lambda: self.held(manifest_sha256)
                )
            else:
                with self._data(folder) as data:
                    outcome = share.publish(
                        self.release_id,
                        manifest_sha256,
                        data,
                        salt=salt_of(folder),
                        held=lambda: self.held(manifest_sha256),
                    )
        if outcome == "older":
            self.log.warning(
                "Table %s: %s; if the date of that one is wrong, recall it", output.table, OUTCOMES[outcome]
            )
        else:
            self.log.info("Table %s: %s", output.table, OUTCOMES[outcome])
        return outcome

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

    @property
    def _is_inside(self) -> bool:
        """Whether the release is made in the database of its share."""
        return self.job.backend == "sql"

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


def table_in(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the table that a document of a release names."""
    table: Mapping[str, Any] | None = (document.get("publication") or {}).get("table")
    return table
