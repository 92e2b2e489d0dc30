"""The job that a release was made by: no later task of the run may take another one for it.

Each task reads the job file anew, and somebody may edit it while a run is under way, most of all while a release waits
for its approval. In: the SHA-256 of the job of an earlier task, and the job of this one. Out: nothing, or a refusal.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.address import path_of
from airflow_anon.transport.release_files import JOB_READ
from airflow_anon.transport.staged_files import beside, write_json

if TYPE_CHECKING:
    from engine import Job


def stage_job(staging: str, job: Job) -> None:
    """Write beside a release by which job it is made."""
    write_json(path_of(staging) / JOB_READ, {"sha256": job.sha256})


def refuse_job_changed_since(release: str, job: Job) -> None:
    """Refuse a job that is not the one that a staged release was made by; none is staged by other makers of releases.

    Raises
    ------
    AirflowFailException
        The job was changed.
    """
    path = beside(release, JOB_READ)
    if path.exists():
        refuse_other_job(json.loads(path.read_text()).get("sha256"), job)


def refuse_other_job(sha256: str | None, job: Job) -> None:
    """Refuse a job that has not this SHA-256; None stands for one that nobody noted.

    Raises
    ------
    AirflowFailException
        The job was changed.
    """
    if sha256 is not None and sha256 != job.sha256:
        raise AirflowFailException(
            f"job {job.name!r}: was changed while its run was under way, so its release is of another job; clear the "
            "whole run"
        )
