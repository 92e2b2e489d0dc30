"""Only regular files are opened for reading: who opens a named pipe in the place of one waits for ever.

In: a path. Out: the open file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO


class NotRegular(OSError):  # noqa: N818 (as the engine names its errors)
    """What has the name of a file is a pipe, a device or a socket."""


def open_regular(path: str | Path, *, follow_links: bool = True) -> BinaryIO:
    """Open a file for reading.

    Parameters
    ----------
    follow_links : bool
        Whether the last part of the path may be a symbolic link.

    Raises
    ------
    NotRegular
        It is no regular file.
    OSError
        There is none, it cannot be read, it is a folder, or a link that is not followed.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW))
    try:
        file = os.fdopen(handle, "rb")
    except IsADirectoryError:
        os.close(handle)
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        file.close()
        raise NotRegular(f"{path}: is no regular file")
    return file
