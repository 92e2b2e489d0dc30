"""Two folders that exchange their names in one step, and folders that their process holds until it ends.

Both are services of the system: where it lacks them (a network file system, an old kernel), the answer is no.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HERE = -100
"""AT_FDCWD: relative paths are those of this process."""
_LINUX, _MACOS = ("renameat2", 2), ("renamex_np", 2)
"""Name of the function and its flag for an exchange: RENAME_EXCHANGE, RENAME_SWAP."""


def exchanged(first: Path, second: Path) -> bool:
    """Exchange the names of two folders of one file system; False, and nothing changed, if the system cannot.

    A reader finds one of them under either name at every moment.
    """
    name, flag = _MACOS if sys.platform == "darwin" else _LINUX
    function = getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None
    if function is None:
        return False
    paths = (os.fsencode(first), os.fsencode(second))
    if sys.platform == "darwin":
        return bool(function(*paths, ctypes.c_uint(flag)) == 0)
    return bool(function(_HERE, paths[0], _HERE, paths[1], ctypes.c_uint(flag)) == 0)


@contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Hold a folder as long as the block and the process last; yield False if another process holds it.

    The lock is of the folder, not of its name. A system without locks yields False.
    """
    try:
        import fcntl  # noqa: PLC0415 (not on every system)

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield False
        return
    try:
        yield _locked(fcntl, handle)
    finally:
        os.close(handle)


def _locked(fcntl: object, handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
