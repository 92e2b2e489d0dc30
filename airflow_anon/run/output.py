"""The place of a job's releases on this installation: the share of the environment replaces a relative path."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Any

from engine import InvalidJob, Job

SHARE_ENVIRONMENT = "AIRFLOW_ANON_SHARE"
_PLACE = frozenset({"path", "also", "conn_id", "table", "keep"})
"""What a publication needs to know of an output: where releases go, and how many stay there."""


def share_of_this_installation() -> str | None:
    """Return the share folder of the environment, or its address in a store; None if it names none.

    Raises
    ------
    InvalidJob
        It is a relative path, which each process would look for in its own working folder.
    """
    share = os.environ.get(SHARE_ENVIRONMENT)
    if not share:
        return None
    path = share.removeprefix("file://")
    if "://" not in path and not PurePath(path).is_absolute():
        raise InvalidJob(
            f"{SHARE_ENVIRONMENT}: {share!r} is a relative path, which each process would look for in its own working "
            "folder; set an absolute path, or the address of a store"
        )
    return share


def output_of_this_installation(job: Job) -> dict[str, Any] | None:
    """Return the job's output, with the share folder of this installation instead of a relative path.

    Raises
    ------
    InvalidJob
        As `share_of_this_installation`.
    """
    written = job.document()["output"]
    path = written.get("path")
    if path is None or PurePath(path).is_absolute() or "://" in path:
        return None
    share = share_of_this_installation()
    if share is None:
        return None
    return {key: value for key, value in {**written, "path": share}.items() if key in _PLACE}
