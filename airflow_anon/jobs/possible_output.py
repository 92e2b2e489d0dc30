"""Whether a job's output can be written at all, as far as that is known before a run: a broken job is told at once."""

from __future__ import annotations

from pathlib import Path

from airflow.providers.common.compat.sdk import AirflowException

from airflow_anon.run.output import output_of_this_installation
from airflow_anon.run.staging import ENVIRONMENT as STAGING_ENVIRONMENT
from airflow_anon.run.staging import UnsafeStagingError, base_folder
from airflow_anon.share.folder_share import local_path
from airflow_anon.share.sql_databases import refuse_known_database
from airflow_anon.share.sql_views import view_name
from airflow_anon.transport.object_store import is_in_store, missing_parts
from airflow_anon.transport.relation import split_table
from airflow_anon.transport.release_files import BOOKKEEPING, CURRENT
from engine import InvalidJob, Job

LONGEST_NAME = 63
"""Bytes of a name that every database takes; PostgreSQL cuts longer ones."""
SYSTEM_COLUMNS = ("ctid", "xmin", "xmax", "cmin", "cmax", "tableoid")
"""Columns that each table of PostgreSQL has already."""


def check_output(job: Job, staging_base: str | None = None) -> None:
    """Refuse an output that no run could write, or none should.

    Parameters
    ----------
    job : Job
    staging_base : str, optional
        As in `airflow_anon.run.staging.base_folder`.

    Raises
    ------
    InvalidJob
        There is none; the share and the staging base are in one another; the client of its store is not installed, or a
        file is where a folder must be; or a name of the table or of a released column is none that a database takes; or
        the table is the source itself; or its connection is known to be of a database that is no share.
    """
    if job.output is None:
        raise InvalidJob("output: is missing; name a path, or a conn_id with a table, or both")
    path = (output_of_this_installation(job) or {}).get("path", job.output.path)
    if path is not None and is_in_store(path) and job.frontier is not None:
        raise InvalidJob(
            "frontier: is written into a share folder, and output.path is in a store; take one of the two out, or give "
            "the frontier a job file of its own"
        )
    if path is not None:
        _check_place(path, "output.path", job.name)
        _refuse_staging(path, "output.path", staging_base)
    for place in job.output.also:
        if place.rstrip("/") == str(path).rstrip("/"):
            raise InvalidJob(f"output.also: {place} is the share of this installation already; take it out")
        _check_place(place, "output.also", job.name)
        _refuse_staging(place, "output.also", staging_base)
    if job.output.table is not None:
        _check_database(str(job.output.conn_id), made_inside=job.backend == "sql")
        _check_table(job, job.output.table)


def _check_place(path: str, key: str, name: str) -> None:
    if not is_in_store(path):
        _check_folder(path, key, name)
        return
    wanted = missing_parts(path)
    if wanted is not None:
        raise InvalidJob(
            f"{key}: {path} is in a store whose client is not installed; install {wanted}, on workers, DAG processor "
            "and API server"
        )


def _check_folder(path: str, key: str, name: str) -> None:
    try:
        folder = local_path(path, key) / name
    except AirflowException as problem:
        raise InvalidJob(str(problem)) from None
    in_the_way = next((part for part in (folder, *folder.parents) if _exists(part)), None)
    if in_the_way is not None and not in_the_way.is_dir():
        raise InvalidJob(f"{key}: {in_the_way} is a file, and must be a folder; name another share, or remove it")
    current = folder / CURRENT
    if _exists(current) and not current.is_symlink():
        raise InvalidJob(f"{key}: {current} must be a link to the newest release; remove what has its name")


def _refuse_staging(path: str, key: str, staging_base: str | None) -> None:
    """Refuse a share in the staging base or around it: readers of the one must not come near what is in the other."""
    if is_in_store(path):
        return
    try:
        base = base_folder(staging_base).resolve()
        share = local_path(path, key).resolve()
    except (UnsafeStagingError, OSError, RuntimeError):  # a run tells of such a base; links in a circle
        return
    if share.is_relative_to(base) or base.is_relative_to(share):
        raise InvalidJob(
            f"{key}: {share} and the folder where patient data is staged, {base}, are the same, or one is in the "
            f"other; name another share, or set {STAGING_ENVIRONMENT} to a folder apart from it"
        )


def _exists(path: Path) -> bool:
    """Tell whether something is there that can be seen from here; the share of other machines may be elsewhere."""
    try:
        return path.exists()
    except OSError:
        return False


def _check_database(conn_id: str, *, made_inside: bool) -> None:
    try:
        refuse_known_database(conn_id, made_inside=made_inside)
    except AirflowException as problem:
        raise InvalidJob(str(problem)) from None


def _check_table(job: Job, table: str) -> None:
    try:
        parts = split_table(table)
    except AirflowException as problem:
        raise InvalidJob(f"output.{problem}") from None
    if len(parts) > 2:  # noqa: PLR2004 (schema and table)
        raise InvalidJob(f"output.table: is {table!r}; write it as table or schema.table")
    views = [view_name(parts[-1], name) for name in job.tables or ()]
    for part in (*parts[:-1], parts[-1] + BOOKKEEPING, *views):
        _check_name(part, f"output.table: the name {part!r}")
    for column in job.released:
        _check_name(column, f"output.table: its column {column!r}")
        if column in SYSTEM_COLUMNS:
            raise InvalidJob(
                f"output.table: its column {column!r} has a name that PostgreSQL keeps for itself; give it another one "
                "in a query of the source, or release into output.path alone"
            )
    if _is_source(job, parts):
        raise InvalidJob("output.table: is the source itself, which a release does not replace; name another table")


def _is_source(job: Job, parts: list[str]) -> bool:
    output = job.output
    written = [parts, *([*parts[:-1], view_name(parts[-1], name)] for name in job.tables or ())]
    return any(
        output is not None
        and source.table is not None
        and source.conn_id == output.conn_id
        and _names(source.table, written)
        for source in job.sources
    )


def _names(table: str, written: list[list[str]]) -> bool:
    """Tell whether a table of a source is one that a release writes."""
    try:
        return split_table(table) in written
    except AirflowException:  # a template, which may become a name
        return False


def _check_name(name: str, what: str) -> None:
    if not name or "\0" in name or len(name.encode()) > LONGEST_NAME:
        raise InvalidJob(f"{what} must have 1 to {LONGEST_NAME} bytes, none of them NUL, so that databases take it")
