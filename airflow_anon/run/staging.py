"""The private folder in which one run stages patient data: `BASE/DAG_ID/RUN/JOB`, mode 0700 on every level.

In: a base folder, the ids of the run and the job. Out: a folder that nobody else can read, and its removal.

The folder depends on the run alone, so the teardown always finds it. A note beside it, `.JOB.run.json`, says which run
of which Airflow it is of, so that other DAGs find what nobody removes any more. It holds no value of a record.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ENVIRONMENT = "AIRFLOW_ANON_STAGING"
_NOTE = ".run.json"
_LONGEST_NOTE = 1 << 16


class UnsafeStagingError(Exception):
    """A staging folder that others could read, or that belongs to another user."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Note:
    """Which run a folder is of.

    Attributes
    ----------
    airflow : str
        A mark of the Airflow that runs it: another one on the same volume has another mark.
    dag_id, run_id, job : str
    """

    airflow: str
    dag_id: str
    run_id: str
    job: str


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
        A folder of the path, from `base` on, is a link, belongs to somebody else, or is accessible to others; or the
        umask leaves the owner of a new one without access.
    """
    base.parent.mkdir(parents=True, exist_ok=True)
    for level in [base, *_levels(folder, base)]:
        with contextlib.suppress(FileExistsError):
            level.mkdir(mode=0o700)
            _check_umask(level)
        _check_ours(level)
        _check_private(level)
    for leftover in folder.iterdir():
        shutil.rmtree(leftover) if leftover.is_dir() and not leftover.is_symlink() else leftover.unlink()


def remove(folder: Path, base: Path) -> None:
    """Remove a run's folder, its note, and the folders above that are then empty; never `base` itself.

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
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        _note_of(folder).unlink()
    for parent in reversed(levels[:-1]):
        with contextlib.suppress(OSError):  # another run is in it, or it does not exist
            parent.rmdir()


def write_note(folder: Path, note: Note) -> None:
    """Say beside a run's folder which run it is of."""
    handle = os.open(_note_of(folder), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(dataclasses.asdict(note), file)


def noted(base: Path) -> Iterator[tuple[Path, Note]]:
    """Yield the folders of `base` with a note that is of their own run; whatever else is there is nobody's business."""
    for path in sorted(base.glob(f"*/*/.*{_NOTE}")):
        note = _read_note(path)
        if note is not None:
            folder = run_folder(base, note.dag_id, note.run_id, note.job)
            if _note_of(folder) == path:
                yield folder, note


def quiet_seconds(folder: Path) -> float:
    """Return for how long nothing in a run's folder, nor its note, was changed."""
    moments = [_note_of(folder).lstat().st_mtime]
    for place, folders, files in os.walk(folder):
        moments += [os.lstat(Path(place) / name).st_mtime for name in (*folders, *files, ".")]
    return time.time() - max(moments)


def _note_of(folder: Path) -> Path:
    return folder.parent / f".{folder.name}{_NOTE}"


def _read_note(path: Path) -> Note | None:
    """Return the note in a file; None if it is no note, or somebody else's."""
    try:
        state = path.lstat()
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_size > _LONGEST_NOTE:
            return None
        found = json.loads(path.read_bytes())
        note = Note(**found)
    except (OSError, ValueError, TypeError):
        return None
    return note if all(isinstance(text, str) for text in dataclasses.astuple(note)) else None


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


def _check_umask(made: Path) -> None:
    """Refuse a umask that takes the rights of the owner, by a folder that was just made, and that goes then."""
    mode = stat.S_IMODE(made.lstat().st_mode)
    if mode & stat.S_IRWXU == stat.S_IRWXU:
        return
    made.rmdir()
    raise UnsafeStagingError(
        f"staging folder {made}: was made with mode {mode:04o}, as the umask of the worker takes rights of its own "
        "user, who could read nothing of what is staged; set the umask to 0077, or to 0022"
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
