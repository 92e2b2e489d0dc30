"""What tells whether a file is still the one that was read before."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class FileState(NamedTuple):
    """The state of a file, or of the one that a link leads to; another one for each change of its content.

    Sizes and times of changes can be set to what they were, as copies that keep the times do; the time of the last
    change of the inode cannot. The number of the inode is left out: file systems in user space give other ones anew.
    """

    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, path: str | Path) -> FileState:
        """Return the state of a file; times are in nanoseconds.

        Raises
        ------
        OSError
            There is none, or it cannot be reached.
        """
        state = Path(path).stat()
        return cls(state.st_size, state.st_mtime_ns, state.st_ctime_ns)
