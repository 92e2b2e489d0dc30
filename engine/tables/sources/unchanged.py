"""Refuses a file of a source that is not the one that was opened: a run reads it several times, and mixes no states.

What was judged of the first reading, such as that a column has few values, need not be true of the second one, though
its records may be counted alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import InvalidData
from engine.file_state import FileState


class UnchangedFile:
    """A file as it was when this was made.

    Parameters
    ----------
    path : Path
    name : str
        What errors call it.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._opened = self._now()

    @contextmanager
    def while_read(self) -> Iterator[None]:
        """Look before the file is read and after it, also where reading failed: a change is told as what it is.

        Raises
        ------
        InvalidData
            The file was written or replaced, or its link leads elsewhere.
        """
        self._refuse_another()
        try:
            yield
        except Exception:
            self._refuse_another()
            raise
        self._refuse_another()

    def _refuse_another(self) -> None:
        if self._now() != self._opened:
            raise InvalidData(
                f"source {self._name}: changed while it was read; the file was written, replaced or removed since the "
                "run began, so run again once nothing does that"
            ) from None

    def _now(self) -> tuple[Path, FileState] | None:
        """Return which file it is, where links lead, and its state: files that are written at once may be alike."""
        try:
            return self._path.resolve(), FileState.of(self._path)
        except (OSError, ValueError):
            return None
