"""Files that commands write: refused before anything is read, where they would replace what the job names.

In: an option, the file that it names, the job. Out: nothing, or the reason why it must be another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from engine.errors import InvalidJob
from engine.job.job import Job
from engine.job.shared import named_paths


def refuse_no_file(option: str, target: Path) -> None:
    """Refuse a path that is a folder, or in none."""
    if target.is_dir() or not target.resolve().parent.is_dir():
        raise InvalidJob(f"{option} {target}: must be a file in a folder that exists")


def refuse_replacing(option: str, target: Path, path: str, job: Job, others: Iterable[Path] = ()) -> None:
    """Refuse a file that is the job, or what the job names or would read the next time, or another one of `others`.

    Parameters
    ----------
    path : str
        Of the job's file.
    """
    own = target.resolve()
    named = [Path(path), *(Path(one) for one in named_paths(job.document()) if "://" not in one)]
    # a folder or a pattern stands for the files in it
    if any(one.resolve() in {own, *own.parents} or own.match(str(one.absolute())) for one in named):
        raise InvalidJob(
            f"{option} {target}: is the job, or a file or in a folder that the job names, which it would change; name "
            "another file"
        )
    if any(one.resolve() == own for one in others):
        raise InvalidJob(f"{option} {target}: is the file of another option too; name another file")
