"""The private folder in which one run stages patient data: `BASE/DAG_ID/RUN/JOB`, mode 0700 on every level.

In: a base folder, the ids of the run and the job. Out: a folder that nobody else can read, and its removal.

The folder depends on the run alone, so the teardown always finds it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

ENVIRONMENT = "AIRFLOW_ANON_STAGING"


class UnsafeStagingError(Exception):
    """A staging folder that others could read, or that belongs to another user."""


def base_folder(configured: str | None = None) -> Path:
    """Return the base of all staging folders.

    The argument comes first, then the environment variable `AIRFLOW_ANON_STAGING`, then a folder of this user in the
    system's temporary folder. If tasks of one run may run on several machines, it must be on a volume that they share.
    """
    chosen = configured or os.environ.get(ENVIRONMENT)
    if chosen is None:
        return Path(tempfile.gettempdir()) / f"airflow-anon-staging-{os.geteuid()}"
    path = chosen.removeprefix("file://")
    if "://" in path or not Path(path).is_absolute():
        raise UnsafeStagingError(
            f"staging {chosen!r}: must be an absolute path of a file system, where only its owner can read"
        )
    return Path(path)


def run_folder(base: Path, dag_id: str, run_id: str, job: str) -> Path:
    """Return the folder of one job in one run; characters of run ids that paths must not have are replaced."""
    return folder_of_run(base, dag_id, run_id) / _safe(job)


def folder_of_run(base: Path, dag_id: str, run_id: str) -> Path:
    """Return the folder of all jobs in one run."""
    return base / _safe(dag_id) / _safe(run_id)


def prepare(folder: Path, base: Path) -> None:
    """Make an empty private folder; leftovers of an earlier try are removed.

    Raises
    ------
    UnsafeStagingError
        A folder of the path, from `base` on, is a link, belongs to somebody else, or is accessible to others.
    """
    base.parent.mkdir(parents=True, exist_ok=True)
    for level in [base, *_levels(folder, base)]:
        with contextlib.suppress(FileExistsError):
            level.mkdir(mode=0o700)
        _check_ours(level)
        _check_private(level)
    for leftover in folder.iterdir():
        shutil.rmtree(leftover) if leftover.is_dir() and not leftover.is_symlink() else leftover.unlink()


def remove(folder: Path, base: Path) -> None:
    """Remove a run's folder and the folders above it that are then empty, never `base` itself.

    Raises
    ------
    UnsafeStagingError
        A folder of the path is a link or belongs to somebody else, so its content must not be removed.
    OSError
        A file could not be removed: patient data may remain.
    """
    levels = _levels(folder, base)
    for level in levels:
        if not os.path.lexists(level):
            break
        _check_ours(level)
    else:
        shutil.rmtree(folder)
    for parent in reversed(levels[:-1]):
        with contextlib.suppress(OSError):  # another run is in it, or it does not exist
            parent.rmdir()


def _levels(folder: Path, base: Path) -> list[Path]:
    """Return the folders below `base` that lead to `folder`, outermost first."""
    parts = folder.relative_to(base).parts if folder.is_relative_to(base) else ()
    if not parts or ".." in parts:
        raise UnsafeStagingError(f"{folder}: is not a folder inside the staging base {base}")
    return [base.joinpath(*parts[: position + 1]) for position in range(len(parts))]


def _check_ours(folder: Path) -> None:
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid():
        raise UnsafeStagingError(
            f"staging folder {folder}: must be a folder of user {os.geteuid()} and no link; remove what is there, or "
            f"set {ENVIRONMENT} to another place"
        )


def _check_private(folder: Path) -> None:
    if folder.lstat().st_mode & 0o077:
        raise UnsafeStagingError(
            f"staging folder {folder}: must have mode 0700, so that nobody else can read what is staged; correct it, "
            f"or set {ENVIRONMENT} to another place"
        )


def _safe(identity: str) -> str:
    """Make one path component of an id, different for different ids."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", identity)[:80]
    return plain if plain == identity else f"{plain}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"
