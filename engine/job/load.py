"""A job from its file, or from a mapping that says the same.

In: the path of a YAML file, or a mapping; what it shares with others stands in other files (`shared`). Out: a `Job`
with absolute paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import InvalidJob
from engine.job.job import Job
from engine.job.shared import expanded, read_document
from engine.spec import parse


def load_job(source: str | Path | Mapping[str, Any] | Job) -> Job:
    """Read a job from a file or a mapping.

    Parameters
    ----------
    source : path or mapping
        A YAML file, or the same as a mapping. Relative paths are relative to the folder of the file, for a mapping to
        the working directory. A `Job` is returned unchanged.

    Raises
    ------
    InvalidJob
        Naming every wrong key, what is allowed, and the fix.
    """
    if isinstance(source, Job):
        return source
    if isinstance(source, Mapping):
        return _parsed(expanded(source, Path.cwd(), "job"), "job").located(Path.cwd())
    if isinstance(source, str) and "\n" in source:
        raise InvalidJob(
            "job: is the text of a job file; give the path of the file, or the mapping that yaml.safe_load makes of it"
        )
    path = Path(source)
    return _parsed(job_document(path), _where(path)).located(path.resolve().parent)


def job_document(path: Path) -> Mapping[str, Any]:
    """Return what a job file says, with what it shares in its place; it need be no job.

    Raises
    ------
    InvalidJob
        The file, or one that it shares, cannot be read or is no mapping.
    """
    return expanded(read_document(path, "job file"), path.resolve().parent, _where(path))


def _parsed(document: Mapping[str, Any], where: str) -> Job:
    job: Job = parse(Job, document, where)
    return job


def _where(path: Path) -> str:
    return f"job file {path}"
