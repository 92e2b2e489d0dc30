"""Steps 1 to 6 of docs/flow.md inside the warehouse: no record of the source leaves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.operators.deidentify import engine_errors, told_release
from airflow_anon.operators.ended import EndedWhenKilled
from airflow_anon.operators.what_was_read import note_what_was_read
from airflow_anon.run.earlier_results import refuse_missing
from airflow_anon.run.progress import LoggedProgress
from airflow_anon.run.refusal import told
from airflow_anon.run.release_id import release_id
from airflow_anon.transport.address import path_of
from airflow_anon.transport.connection import hook_of, names_of, password_of
from airflow_anon.transport.database_read import Reading, canceller, look_at
from airflow_anon.transport.fingerprint_key import fingerprint_key
from airflow_anon.transport.killed_task import cancelling_when_killed
from airflow_anon.transport.local_staging import staged_release
from airflow_anon.transport.query_text import what_was_read
from airflow_anon.transport.relation import Relation
from airflow_anon.transport.release_files import COUNTED
from airflow_anon.transport.repeats import repeating
from airflow_anon.transport.same_job import stage_job
from airflow_anon.transport.staged_files import write_json
from engine import Job, load_job, write_manifest

if TYPE_CHECKING:
    from airflow.sdk import Context
    from sqlalchemy import Connection

    from airflow_anon.dialects.dialect import Dialect
    from airflow_anon.share.sql_share import SqlShare
    from engine import Result


class DeidentifyInWarehouseOperator(EndedWhenKilled):
    """De-identify a table of a database into another table of it, as its job says, and verify that one.

    In one transaction, which sees one snapshot, or of a copy of the source made by one statement where CREATE TABLE
    commits: the distinct values of columns and the combinations of quasi-identifiers with their numbers of records are
    counted, the task searches, the release is written into a table that only its owner may read, and that is counted
    again. `PublishReleaseOperator` makes it the job's table. The staging folder gets the documents of the release, and
    no record.

    Parameters
    ----------
    job : path, mapping or Job
        With ``backend: sql``. A path and the texts of a mapping are templates; a ``Job`` is not rendered.
    staging : str
        The run's staging folder, local or remote; the release folder goes to ``release/`` in it.
    table : str, optional
        Table or view to read; by default that of the job.
    query : str, optional
        One SELECT statement instead of a table; by default that of the job.
    fingerprint_key : str, optional
        See `ExtractTableOperator`.

    Returns
    -------
    dict
        As of `DeidentifyTableOperator`; and of what `ExtractTableOperator` returns ``columns``, ``transport`` ("sql"),
        ``fingerprint``, ``fingerprint_key_id`` and ``read``.

    Examples
    --------
    >>> DeidentifyInWarehouseOperator(
    ...     task_id="deidentify",
    ...     job="/opt/airflow/dags/jobs/stays_in_warehouse.yaml",
    ...     staging=prepare.output,
    ... )  # doctest: +SKIP
    """

    template_fields: Sequence[str] = ("job", "staging", "table", "query")
    template_fields_renderers: ClassVar[dict[str, str]] = {"job": "yaml", "query": "sql"}
    ui_color = "#f5e6d0"

    def __init__(
        self,
        *,
        job: str | Path | Mapping[str, Any] | Job,
        staging: str,
        table: str | None = None,
        query: str | None = None,
        fingerprint_key: str | None = None,
        **kwargs: Any,
    ) -> None:
        # Each key of the result is a separate XCom, so that `deidentify.output["release"]` can be passed on.
        kwargs.setdefault("multiple_outputs", True)
        super().__init__(**kwargs)
        self.job = job
        self.staging = staging
        self.table = table
        self.query = query
        self.fingerprint_key = fingerprint_key
        self._cancel: Callable[[], None] | None = None
        self._reading: Reading | None = None

    @told
    def execute(self, context: Context) -> dict[str, Any]:
        """Make the release; return where its folder is, its metrics, and what was read.

        Raises
        ------
        ReleaseRefused
            No transformation satisfies the criteria, or the verification failed.
        AirflowFailException
            The job, the data or a right of the role does not fit: a retry would fail too.
        AirflowException
            The database failed; a retry may help.
        """
        from airflow_anon.dialects.registry import proven_dialect  # noqa: PLC0415 (heavy imports belong into execute)
        from airflow_anon.share.sql_share import SqlShare  # noqa: PLC0415
        from airflow_anon.warehouse.failure import warehouse_errors  # noqa: PLC0415

        refuse_missing(staging=self.staging)
        with engine_errors():
            job = load_job(self.job)
        if job.backend != "sql" or job.source is None or job.output is None:
            raise AirflowFailException(
                f"job {job.name!r}: backend is {job.backend}, must be sql to stay in a warehouse"
            )
        relation = self._relation(job)
        hook = hook_of(str(job.source.conn_id))
        doing = f"de-identifying {relation} inside connection {job.source.conn_id!r}"
        with (
            engine_errors(),
            warehouse_errors(doing, job.source.conn_id, password_of(hook)),
            cancelling_when_killed(self._cancelled),
            self._work.going_on(),
            self._statements(),
        ):
            roles = {name: attribute.role for name, attribute in job.attributes.items()}
            reading = self._reading = look_at(hook, relation, roles, "sqlalchemy", 1)
            share = SqlShare(hook, str(job.output.table), made_inside=True)
            how = proven_dialect(share.engine.dialect.name)
            share.remove_leftovers(release_id(context))
            with staged_release(self.staging) as staged, share.kept_if_whole(release_id(context)):
                made, manifest_sha256, extracted = self._made(
                    job, reading, share, how, release_id(context), staged.folder
                )
        told_of = told_release(made.published, staged.address, manifest_sha256, self.log)
        return {**told_of, **extracted}

    def _relation(self, job: Job) -> Relation:
        assert job.source is not None  # noqa: S101 (the job's own validation)
        if self.table is None and self.query is None:
            return Relation(table=job.source.table, query=job.source.query)
        return Relation(table=self.table, query=self.query)

    def _made(
        self, job: Job, reading: Reading, share: SqlShare, how: Dialect, identity: str, folder: Path
    ) -> tuple[Result, str, dict[str, Any]]:
        """Make the table of the release and its folder; the table is there when the transaction is committed."""
        import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

        from airflow_anon.share.made_table import write_made  # noqa: PLC0415
        from airflow_anon.share.sql_constraints import refuse_constraints  # noqa: PLC0415
        from airflow_anon.warehouse.fingerprint import fingerprint_inside  # noqa: PLC0415
        from airflow_anon.warehouse.warehouse import SqlWarehouse  # noqa: PLC0415
        from engine import run  # noqa: PLC0415 (compiles kernels; a DAG file imports this module)

        key = fingerprint_key(self.fingerprint_key)
        names = [column.name for column in reading.columns]
        asked = job.unit is None and job.subject is None
        repeats = repeating(reading, job.identifying if asked else ())
        with share.engine.connect().execution_options(isolation_level=how.isolation) as connection:
            self._cancel = canceller(connection)
            share.refuse_unfit(connection)
            refuse_constraints(connection, share.name, share.schema, job)
            table = sa.Table(share.staging_name(identity), sa.MetaData(), schema=share.waiting)
            warehouse = SqlWarehouse(connection, reading.relation, names, table, job.subject)
            with engine_errors():
                result = run(
                    job,
                    warehouse,
                    output=folder,
                    progress=LoggedProgress(self.log),
                    repeats=repeats or None,
                    fingerprint_key=key.secret,
                )
            made = _described(connection, warehouse, table, result, how)
            extracted = {
                "columns": names,
                "transport": "sql",
                **fingerprint_inside(warehouse, key),
                "read": what_was_read(reading.relation.table, reading.relation.query, connection.dialect.name),
            }
            write_made(folder, made)
            note_what_was_read(folder, job, extracted)
            manifest_sha256 = write_manifest(folder, {"name": job.name})
            types = {field.name: str(field.type) for field in warehouse.schema}
            write_json(path_of(self.staging) / COUNTED, {"rows": warehouse.rows, "types": types})
            stage_job(self.staging, job)
            connection.commit()
        return result, manifest_sha256, extracted

    @contextmanager
    def _statements(self) -> Iterator[None]:
        """Forget at the end what cancels the statements of the block."""
        try:
            yield
        finally:
            self._cancel = self._reading = None

    def _cancelled(self) -> None:
        """Cancel the running statement in the database."""
        before = None if self._reading is None else self._reading.cancel
        for cancel in (before, self._cancel):
            if cancel is not None:
                cancel()

    def on_kill(self) -> None:
        """Cancel the running statement in the database, and end the task between two statements too.

        Raises
        ------
        SystemExit
            The task works; its transaction is rolled back on the way out.
        """
        self._cancelled()
        super().on_kill()


def _described(connection: Connection, warehouse: Any, table: Any, result: Result, how: Dialect) -> Any:
    """Close the table of the release to others, where that is possible, and describe it."""
    import sqlalchemy as sa  # noqa: PLC0415 (heavy imports belong into execute)

    from airflow_anon.share.made_table import made_table  # noqa: PLC0415
    from airflow_anon.share.sql_grants import close_to_others, refuse_other_owner  # noqa: PLC0415

    for name in warehouse.made if how.closes_tables else ():
        helper = sa.Table(name, sa.MetaData(), schema=table.schema)
        quoted = names_of(connection.dialect).format_table(helper)
        close_to_others(connection, quoted)
        # an event trigger may see this, too
        refuse_other_owner(connection, quoted)
    return made_table(
        connection, table.name, table.schema, warehouse.released, result.report["released"], warehouse.content
    )
