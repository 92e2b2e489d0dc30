"""Where a process may be killed: a work is done to its end and watched, then once more for each point, up to it.

In: a work, and the folder that holds all that outlives it. Out: the points of it, each a line of this project and how
often it had run before. A process that is killed leaves what is on disk, and nothing else. So two lines between which
nothing on disk has changed are one point: that is what the gate has time for. In the thorough profile each line is one.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import airflow_anon
from tests.profiles import thorough

_KILLED = 99
_PACKAGE = str(Path(airflow_anon.__file__).resolve().parent)


class Point(NamedTuple):
    """A moment: before a line of a file runs after it has run so many times."""

    path: str
    line: int
    before: int


class _Tracer:
    """Calls `reached` before each line of the files whose paths begin with one of `parts`."""

    def __init__(self, reached: Callable[[Point], None], parts: tuple[str, ...]) -> None:
        self._reached, self._parts = reached, parts
        self._times: Counter[tuple[str, int]] = Counter()

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        path = frame.f_code.co_filename
        if not path.startswith(self._parts):
            return None
        if event == "line":
            here = (path, frame.f_lineno)
            self._reached(Point(*here, self._times[here]))
            self._times[here] += 1
        return self


def _traced(work: Callable[[], Any], reached: Callable[[Point], None], parts: tuple[str, ...]) -> None:
    sys.settrace(_Tracer(reached, parts))
    try:
        work()
    finally:
        sys.settrace(None)


def points_of(
    work: Callable[[], Any],
    folder: Path,
    *,
    elsewhere: Callable[[], object] = tuple,
    parts: tuple[str, ...] = (_PACKAGE,),
) -> list[Point]:
    """Do a work to its end; give the points of it, of which the first is before anything on disk has changed.

    `elsewhere` gives what outlives the process in no folder, to be compared as well. The points are lines of the files
    whose paths begin with one of `parts`.
    """
    points: dict[object, Point] = {}

    def reached(point: Point) -> None:
        points.setdefault((_content(str(folder)), elsewhere()), point)
        if thorough():
            points.setdefault(point[:2], point)

    _traced(work, reached, parts)
    return list(dict.fromkeys(points.values()))


def _content(folder: str) -> tuple[Any, ...]:
    """Give all names, permissions, links and contents (their hashes) below a folder, to be compared."""
    found: list[Any] = []
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        now = entry.stat(follow_symlinks=False)
        found += (entry.name, now.st_mode)
        if entry.is_symlink():
            found.append(Path(entry.path).readlink())
        elif entry.is_dir():
            found.append(_content(entry.path))
        else:
            found.append(_hash(entry.path, now))
    return tuple(found)


_HASHES: dict[tuple[Any, ...], int] = {}
"""Hashes of files that have not changed for some time, by path, inode, size and time of the last change."""
_SETTLED = 1_000_000_000
"""Nanoseconds after which another change of a file has another time of change for certain, on any file system."""


def _hash(path: str, now: os.stat_result) -> int:
    """Hash a file's content; it is read again unless its time of change, long past, says that it is the same.

    SQLite writes to the file of its shared memory without a time of change.
    """
    key = (path, now.st_ino, now.st_size, now.st_ctime_ns)
    if key in _HASHES:
        return _HASHES[key]
    found = hash(Path(path).read_bytes())
    if time.time_ns() - now.st_ctime_ns > _SETTLED and not path.endswith("-shm"):
        _HASHES[key] = found
    return found


def killed_at(point: Point, work: Callable[[], Any], parts: tuple[str, ...] = (_PACKAGE,)) -> bool:
    """Do a work in a forked process that ends at a point, without any clean-up; tell whether it got there."""
    child = os.fork()
    if child == 0:
        logging.disable()
        status = 1
        try:
            _traced(work, lambda here: os._exit(_KILLED) if here == point else None, parts)
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == _KILLED
