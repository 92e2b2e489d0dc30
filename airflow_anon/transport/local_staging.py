"""Staged files as local files, which the engine needs.

In: addresses of Airflow's object storage, or plain paths. Out: local paths; remote files are copied to a private
temporary folder and back.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.address import is_local, path_of
from airflow_anon.transport.release_files import MANIFEST

if TYPE_CHECKING:
    from airflow.sdk import ObjectStoragePath

    from engine import Job

RELEASE = "release"


@dataclass(frozen=True)
class StagedFolder:
    """The local folder for a release, which does not exist yet, and its address in staging."""

    folder: Path
    address: str


@contextmanager
def local_source(address: str, what: str = "source") -> Iterator[Path]:
    """Yield the staged file at `address` as a local one: the file itself, or a private copy that is removed afterwards.

    `what` names it in errors.

    Raises
    ------
    AirflowFailException
        The file does not exist.
    """
    path = path_of(address)
    if not path.is_file():
        raise AirflowFailException(f"{what} {address}: {_why_missing(path)}")
    if is_local(path):
        yield Path(path.path)
        return
    # A temporary directory has mode 0700.
    with tempfile.TemporaryDirectory(prefix=f"{what}-") as folder:
        local = Path(folder) / path.name
        _copy(path, local)
        yield local


def _why_missing(path: ObjectStoragePath) -> str:
    """Say how a staged file can be missing: its folder is made anew for each run, and lasts until the run's end."""
    clear = "a run's staging is removed at its end, so clear the whole run"
    if not is_local(path) or path.parent.is_dir():
        return f"is not there; {clear}"
    return (
        "is not there, nor is its folder: mount the volume of AIRFLOW_ANON_STAGING at the same path wherever tasks "
        f"run, in pods too; or the run has ended: {clear}"
    )


@contextmanager
def with_local_population(job: Job, address: str | None) -> Iterator[Job]:
    """Yield the job with its population as a local file: the staged file at `address`, if it is in a database.

    Raises
    ------
    AirflowFailException
        The job's population is in a database and no file is given, or the reverse, or the file does not exist.
    """
    query = job.population_query
    if query is None:
        if address is not None:
            raise AirflowFailException(
                f"population {address}: job {job.name!r} names no population in a connection; leave the file out"
            )
        yield job
        return
    if address is None:
        raise AirflowFailException(
            f"frontier.population: is in the connection {query.conn_id!r}, and its extracted file is not given; give "
            "the path that the task extract_population returned as population"
        )
    with local_source(address, "population") as population:
        yield job.with_population(population)


@contextmanager
def staged_release(staging: str) -> Iterator[StagedFolder]:
    """Yield the folder for a release, `release` in the staging folder, without leftovers of an earlier try.

    A remote folder is written locally and copied after the block has succeeded, the manifest last: without a manifest a
    folder is not a release.
    """
    target = path_of(staging) / RELEASE
    if is_local(target):
        folder = Path(target.path)
        for leftover in (folder, *folder.parent.glob(f".{RELEASE}.*")):
            shutil.rmtree(leftover, ignore_errors=not leftover.exists())
        yield StagedFolder(folder, str(folder))
        return
    if target.exists():
        target.fs.rm(target.path, recursive=True)
    with tempfile.TemporaryDirectory(prefix="release-") as temporary:
        folder = Path(temporary) / RELEASE
        yield StagedFolder(folder, str(target))
        target.mkdir(parents=True, exist_ok=True)
        for file in sorted(folder.iterdir(), key=lambda file: file.name == MANIFEST):
            _copy(file, target / file.name)


def _copy(source: Path | ObjectStoragePath, target: Path | ObjectStoragePath) -> None:
    with source.open("rb") as read, target.open("wb") as written:
        shutil.copyfileobj(read, written, 1 << 20)
