"""The count of a job's table that Spark may make before the run, while nobody but an event loop waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.backends.spark_access import SparkAccess
from engine.backends.spark_apart import CountApart
from engine.backends.spark_backend import Spark
from engine.job.counting import columns_of, open_source
from engine.job.job import Job
from engine.job.load import load_job
from engine.job.spark_settings import access_of


def count_apart(
    job: str | Path | Mapping[str, Any] | Job, folder: Path, spark: SparkAccess | None = None
) -> CountApart | None:
    """Return the count of a job's table for a Spark Connect server; None where the run itself has to count.

    That is with another backend, on a Spark that is no Connect server, and where the engine has to read the table
    first: a folder, a CSV file, numbers that the job codes.

    Parameters
    ----------
    folder : Path
        Where Spark is to write, which the server and the run see at the same path; it is made.
    spark : SparkAccess, optional
        As of `engine.run`, which gets what was counted as `SparkAccess.counted`.

    Raises
    ------
    InvalidJob, InvalidData
        The job is invalid, or its columns are not those of the table.
    SparkLost
        The server does not answer.
    """
    job = load_job(job)
    if job.backend != "spark":
        return None
    access = access_of(job, spark)
    if "spark.remote" not in access.configuration:
        return None
    source = open_source(job)
    columns = columns_of(job, source.schema)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Spark(access.configuration, folder=folder) as backend:
        return backend.apart(source, [*columns.quasi_identifiers, *columns.sensitive], folder)
