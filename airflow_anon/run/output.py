"""The place of a job's releases on this installation: the share of the environment replaces a relative path."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Any

from engine import Job

SHARE_ENVIRONMENT = "AIRFLOW_ANON_SHARE"
_PLACE = frozenset({"path", "also", "conn_id", "table", "keep"})
"""What a publication needs to know of an output: where releases go, and how many stay there."""


def output_of_this_installation(job: Job) -> dict[str, Any] | None:
    """Return the job's output, with the share folder of this installation instead of a relative path."""
    share = os.environ.get(SHARE_ENVIRONMENT)
    written = job.document()["output"]
    path = written.get("path")
    if not share or path is None or PurePath(path).is_absolute() or "://" in path:
        return None
    return {key: value for key, value in {**written, "path": share}.items() if key in _PLACE}
