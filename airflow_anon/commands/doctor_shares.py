"""`airflow-anon doctor`: whether releases can be written where the jobs say.

In: the jobs. Out: one line per share folder; nothing is written there. Stores are asked for nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from airflow_anon.commands.looked import Looked
from airflow_anon.run.output import output_of_this_installation
from airflow_anon.transport.object_store import is_in_store
from engine import InvalidJob, Job


def share_findings(jobs: Sequence[Job]) -> Iterator[Looked]:
    """Look at each folder of releases, of which the first run of a job may make the last parts."""
    places = dict.fromkeys(place for job in jobs for place in _places(job) if not is_in_store(place))
    yield from (_folder(Path(place.removeprefix("file://"))) for place in places)


def _places(job: Job) -> Iterator[str]:
    if job.output is None or job.output.path is None:
        return
    try:
        here = output_of_this_installation(job) or {}
    except InvalidJob:  # told with the job file
        return
    yield str(here.get("path", job.output.path))
    yield from map(str, job.output.also)


def _folder(folder: Path) -> Looked:
    there = next(one for one in (folder, *folder.parents) if os.path.lexists(one))
    if not there.is_dir():
        return Looked("problem", "share", f"{folder}: {there} is no folder, or is a link that leads to none")
    if not os.access(there, os.W_OK | os.X_OK):
        return Looked("problem", "share", f"{folder}: cannot be written by this user; run doctor as the workers' user")
    made = "" if there == folder else "is made by the first release, "
    return Looked("ok", "share", f"{folder}, {made}{shutil.disk_usage(there).free / 10**9:.1f} GB free")
