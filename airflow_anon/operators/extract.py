"""Step 1 of docs/flow.md: copies a table or query of an Airflow connection to a Parquet file in staging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import BaseOperator

from airflow_anon.observe.lineage import ExtractLineage
from airflow_anon.run.earlier_results import refuse_missing
from airflow_anon.run.refusal import told
from airflow_anon.transport.address import is_local, path_of
from airflow_anon.transport.changed_rows import Told, told_by
from airflow_anon.transport.connection import hook_of, password_of
from airflow_anon.transport.database_read import Reading, look_at
from airflow_anon.transport.failure import database_errors
from airflow_anon.transport.fingerprint import RecordHashes, fingerprint, folder_of
from airflow_anon.transport.fingerprint_key import fingerprint_key
from airflow_anon.transport.incremental_read import IncrementalRead, Staged
from airflow_anon.transport.killed_task import cancelling_when_killed
from airflow_anon.transport.parquet import stored_schema, write_parquet
from airflow_anon.transport.person_keys import opened_keys
from airflow_anon.transport.query_text import what_was_read
from airflow_anon.transport.relation import ROLES, Relation, one_select, split_table
from airflow_anon.transport.release_files import SOURCE
from airflow_anon.transport.repeats import repeating

if TYPE_CHECKING:
    from airflow.sdk import Context, ObjectStoragePath

    from airflow_anon.transport.person_keys import Places
    from engine import FingerprintKey

TRANSPORTS = ("auto", "adbc", "sqlalchemy")


class ExtractTableOperator(ExtractLineage, BaseOperator):
    """Copy the declared columns of a warehouse table into the run's staging folder, without the identifying ones.

    An identifying column is copied only if the file of a research subset lists released records by it, if it says
    whose a record is (`subject`), if it is the key of rows that are kept (`incremental`), or if pseudonyms of it are
    released; it is needed to find or to count them, stays in the staging folder, and is not released.

    Records are written in batches to a Parquet file that appears when it is complete. ADBC reads them if the connection
    has a driver, otherwise SQLAlchemy with a server-side cursor.

    Parameters
    ----------
    conn_id : str
        Airflow connection of the warehouse.
    table : str, optional
        Table or view, with its schema if it has one: ``clinic.person``.
    query : str, optional
        One SELECT statement instead of a table.
    attributes : mapping of str to str
        Role of every column, as in the job file. A column without a role is an error; identifying columns stay in the
        warehouse and may be absent from a query.
    subset : str, optional
        The .csv or .parquet file that lists the records to be released; its identifying columns are copied as well.
    delimiter, encoding : str
        Field separator of a CSV file, and its encoding.
    staging : str
        Folder of the run, a local path or an address such as ``s3://conn_id@bucket/folder``.
    prepared : bool
        Whether other tasks of the run make and remove the folder: a local folder must exist then.
    filename : str
        Name of the file in the folder.
    population : bool
        Whether this is the population of a job, not its table; error texts say which.
    batch_rows : int
        Records per batch; memory grows with it, not with the table.
    transport : {"auto", "adbc", "sqlalchemy"}
        How to read; ``auto`` takes ADBC if there is a driver.
    unit : str, optional
        What is counted, as in the job file. Without it and `subject` the warehouse is asked whether several records
        have the same value in an identifying column.
    subject : str, optional
        The identifying column that says whose a record is, as in the job file; it is copied as well.
    pseudonymized : sequence of str
        The identifying columns of which pseudonyms are released; they are copied as well.
    keys : mapping, optional
        Where the keys of pseudonyms and shifted dates are that stay the same over releases, by key of the job, such as
        ``{"shift": {"key_conn_id": "deid_key", "key_id": "…"}}``; they are opened before anything is read.
    fingerprint_key : str, optional
        Where the key of fingerprints is: the id of a connection, whose password is the key, or the absolute path of a
        private file, which is made if it is missing; by default ``AIRFLOW_ANON_FINGERPRINTS``.
    incremental : mapping, optional
        How the source tells what changed, the section `incremental` of the job file with absolute paths: then only that
        is read, as docs/incremental-nights.md says; the result is that of reading all rows.
    counted : sequence of str
        With `incremental`: columns whose combinations of values are counted, by what changed, for the task after this.

    Returns
    -------
    dict
        ``path`` (str), ``columns`` (list of names), ``transport`` ("adbc" or "sqlalchemy"), ``fingerprint`` (str): 64
        hexadecimal digits of the columns and records of the file under the key, independent of the order in which the
        database returned them, ``fingerprint_key_id`` (str): 16 hexadecimal digits that name the key; ``read`` (dict):
        ``table`` and ``query`` as they were rendered, the query without its literals, and ``query_sha256`` of the whole
        query; ``repeats`` (dict), if there are any: the identifying columns in which several records have the same
        value, with true, and those of which the database cannot tell it, with null; ``incremental`` (str), with
        that argument: whether all rows were read, and why. Not how many records there are: with the released file that
        tells how few were left out.

    Examples
    --------
    >>> ExtractTableOperator(
    ...     task_id="extract",
    ...     conn_id="warehouse",
    ...     table="clinic.person",
    ...     attributes={"patient_id": "identifying", "age": "quasi-identifying", "diagnosis": "sensitive"},
    ...     staging="/var/lib/deidentification/{{ dag.dag_id }}/{{ run_id }}",
    ... )  # doctest: +SKIP
    """

    template_fields: Sequence[str] = ("conn_id", "table", "query", "staging", "filename")
    template_fields_renderers: ClassVar[dict[str, str]] = {"query": "sql"}
    ui_color = "#d6e9f5"

    def __init__(
        self,
        *,
        conn_id: str,
        attributes: Mapping[str, str],
        staging: str,
        prepared: bool = False,
        table: str | None = None,
        query: str | None = None,
        subset: str | None = None,
        delimiter: str = ",",
        encoding: str = "utf-8",
        filename: str = SOURCE,
        population: bool = False,
        batch_rows: int = 65_536,
        transport: Literal["auto", "adbc", "sqlalchemy"] = "auto",
        unit: str | None = None,
        subject: str | None = None,
        pseudonymized: Sequence[str] = (),
        keys: Places | None = None,
        fingerprint_key: str | None = None,
        incremental: Mapping[str, Any] | None = None,
        counted: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        # Each key of the result is a separate XCom, so that `extract.output["path"]` can be passed on.
        kwargs.setdefault("multiple_outputs", True)
        super().__init__(**kwargs)
        self.conn_id = conn_id
        self.table = table
        self.query = query
        self.attributes = dict(attributes)
        self.staging = staging
        self.prepared = prepared
        self.subset = subset
        self.delimiter = delimiter
        self.encoding = encoding
        self.filename = filename
        self.population = population
        self.batch_rows = batch_rows
        self.transport = transport
        self.unit = unit
        self.subject = subject
        self.pseudonymized = list(pseudonymized)
        self.keys = {where: dict(place) for where, place in (keys or {}).items()}
        self.fingerprint_key = fingerprint_key
        self.incremental = None if incremental is None else dict(incremental)
        self.counted = list(counted)
        self._told: Told | None = None
        self._reading: Reading | None = None
        self._check_arguments()

    def _check_arguments(self) -> None:
        self._check_relation()
        foreign = {name: role for name, role in self.attributes.items() if role not in ROLES}
        if foreign:
            raise ValueError(f"attributes {foreign}: allowed roles are {', '.join(ROLES)}")
        if self.subject is not None and self.attributes.get(self.subject) != "identifying":
            raise ValueError(f"subject is {self.subject!r}, must be a column with role identifying")
        foreign_names = [name for name in self.pseudonymized if self.attributes.get(name) != "identifying"]
        if foreign_names:
            raise ValueError(f"pseudonymized is {foreign_names}, must be columns with role identifying")
        if self.batch_rows < 1:
            raise ValueError(f"batch_rows is {self.batch_rows}, must be at least 1")
        if self.transport not in TRANSPORTS:
            raise ValueError(f"transport is {self.transport!r}, allowed are {', '.join(TRANSPORTS)}")

    def _check_relation(self) -> None:
        if (self.table is None) == (self.query is None):
            raise ValueError("name either a table or a query")

    @told
    def execute(self, context: Context) -> dict[str, Any]:  # noqa: ARG002 (Airflow's signature)
        """Extract the table and return its path and figures.

        Raises
        ------
        AirflowFailException
            The table is missing, the connection, its columns or their types do not fit the job, the subset's file
            cannot be read, the table is empty, the folder was not prepared, or a key is missing or not the one of the
            job.
        AirflowException
            The database failed; a retry may help.
        """
        refuse_missing(staging=self.staging)
        what = self._what()
        # before the table is read, which may take long
        key = fingerprint_key(self.fingerprint_key)
        opened_keys(self.keys)
        hook = hook_of(self.conn_id)
        path = path_of(self.staging) / self.filename
        self._open_folder(path)
        doing = f"extracting {what} over connection {self.conn_id!r}"
        with database_errors(doing, password_of(hook), reads=True), cancelling_when_killed(self.on_kill):
            self._reading = self._looked_at(hook)
            self.log.info(
                "Reading %d of %d columns of %s by %s",
                len(self._reading.columns),
                len(self.attributes),
                what,
                self._reading.transport,
            )
            rows, how, found = self._staged(path, key)
            repeats = repeating(self._reading, self._identifying()) if rows else {}
        if rows == 0:
            hidden = "everybody would be unique in it" if self.population else "an empty release would hide that"
            raise AirflowFailException(f"{what}: is empty, and {hidden}; check the source")
        return {
            "path": path.path if path.protocol in {"", "file", "local"} else str(path),
            "columns": [column.name for column in self._reading.columns],
            "transport": self._reading.transport,
            "fingerprint": found or fingerprint(path, key),
            "fingerprint_key_id": key.id,
            "read": self._read(self._reading.engine.dialect.name),
            **({"repeats": repeats} if repeats else {}),
            **({"incremental": how} if how else {}),
        }

    def _staged(self, path: ObjectStoragePath, key: FingerprintKey) -> Staged:
        """Write the file; its fingerprint is known then, unless its types became wider in the middle of it."""
        assert self._reading is not None  # noqa: S101 (it was looked at)
        if self._told is not None:
            return IncrementalRead(self._told, self._reading, key, self.counted).stage(path)
        with closing(RecordHashes(key, folder_of(path))) as hashes:
            with closing(self._reading.batches()) as batches:
                rows = write_parquet(batches, path, hashes.add)
            return Staged(rows, "", (hashes.fingerprint(stored_schema(path)) or "") if rows else "")

    def _what(self) -> str:
        """Say in words what is read."""
        return str(self._relation())

    def _looked_at(self, hook: Any) -> Reading:
        """Inspect what is read; no record leaves the database."""
        relation = self._relation()
        if self.incremental is not None:
            self._told = told_by(hook, relation, self.incremental)
            relation = self._told.present
        return look_at(hook, relation, self._roles(), self.transport, self.batch_rows)

    def _read(self, dialect: str) -> Mapping[str, Any]:
        """Return what may be told of what was read."""
        return what_was_read(self.table, self.query, dialect)

    def _identifying(self) -> list[str]:
        """Return the identifying columns of which it matters whether they repeat."""
        is_asked = self.unit is None and self.subject is None and not self.population
        known = set() if self._told is None else self._told.settings.not_asked
        named = [name for name, role in self.attributes.items() if role == "identifying" and name not in known]
        return named if is_asked else []

    def _open_folder(self, path: ObjectStoragePath) -> None:
        """Make the folder, unless another task does; the one that makes it also has it removed."""
        if not self.prepared:
            path.parent.mkdir(parents=True, exist_ok=True)
        elif is_local(path) and not path.parent.is_dir():
            raise AirflowFailException(
                f"staging folder {self.staging}: does not exist; it is removed at the end of a run, so clear the whole "
                f"run, or this task with all tasks after it, not only the failed ones"
            )

    def _roles(self) -> dict[str, str]:
        """Return the roles; columns that find or count records, or become pseudonyms, are read although identifying."""
        listed = [] if self.subset is None else _column_names(self.subset, self.delimiter, self.encoding)
        listed += [*self.pseudonymized, *([] if self.subject is None else [self.subject])]
        listed += [] if self._told is None else [self._told.settings.key]
        return {
            name: "insensitive" if role == "identifying" and name in listed else role
            for name, role in self.attributes.items()
        }

    def _relation(self) -> Relation:
        relation = Relation(table=self.table, query=self.query, is_population=self.population)
        if relation.table is not None:
            split_table(relation.table)
        else:
            one_select(relation.query or "")
        return relation

    def on_kill(self) -> None:
        """Cancel the running statement in the database too."""
        if self._reading is not None and self._reading.cancel is not None:
            self._reading.cancel()


def _column_names(path: str, delimiter: str, encoding: str) -> list[str]:
    """Return the column names of a .csv or .parquet file without reading a record.

    Raises
    ------
    AirflowFailException
        The file does not exist or cannot be read; the text names it without its content.
    """
    import pyarrow as pa  # noqa: PLC0415 (heavy imports belong into execute)
    import pyarrow.csv  # noqa: PLC0415
    import pyarrow.parquet  # noqa: PLC0415

    try:
        if Path(path).suffix.lower() in {".parquet", ".pq"}:
            names: list[str] = pa.parquet.read_schema(path).names
            return names
        parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        read = pa.csv.ReadOptions(encoding=encoding)
        with pa.csv.open_csv(path, read_options=read, parse_options=parse) as reader:
            return list(reader.schema.names)
    except (OSError, UnicodeError, pa.ArrowException) as problem:
        raise AirflowFailException(
            f"subset {Path(path).name}: cannot be read ({type(problem).__name__}); it must be a .csv file with a "
            "header, or a .parquet file, at the job's path"
        ) from None
