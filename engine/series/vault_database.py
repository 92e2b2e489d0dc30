"""What a vault needs of its database, and the one that is a private SQLite file.

In: the path of a file. Out: transactions. The engine knows no other database; an orchestrator brings its own.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from engine.errors import VaultBusy, VaultRefused, is_full

WAIT_FOR_LOCK_SECONDS = 60
_FULL = "database or disk is full"
"""SQLite's text of SQLITE_FULL; its number is told from Python 3.11 on."""
_LOCKED = "database is locked"
"""SQLite's text of SQLITE_BUSY."""


class Statements(Protocol):
    """Runs one statement of a transaction; its parameters are named `:name`."""

    def __call__(self, statement: str, /, **values: Any) -> list[tuple[Any, ...]]:
        """Return the rows; of a statement that changes something none."""


class VaultDatabase(Protocol):
    """The database of a vault.

    Attributes
    ----------
    blob : str
        Its type of bytes.
    """

    blob: str

    def writing(self) -> AbstractContextManager[Statements]:
        """Give a transaction, the only one that writes; it is undone if the block raises.

        Raises
        ------
        VaultBusy
            The database is locked, or does not answer: a later try may succeed.
        VaultRefused
            It cannot be used.
        OSError
            Its disk is full.
        """

    def has_table(self, run: Statements, name: str) -> bool:
        """Tell whether there is such a table."""


class VaultFile:
    """A SQLite file that only its owner may open.

    Parameters
    ----------
    path : Path
    """

    blob = "BLOB"

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def writing(self) -> Iterator[Statements]:
        """See `VaultDatabase.writing`."""
        self._private()
        try:
            connection = sqlite3.connect(self.path, timeout=WAIT_FOR_LOCK_SECONDS, isolation_level=None)
        except sqlite3.Error as problem:
            raise self._refused(problem) from None
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")  # what is removed is not left in free pages
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as problem:
            connection.close()
            raise self._refused(problem) from None
        try:

            def run(statement: str, /, **values: Any) -> list[tuple[Any, ...]]:
                try:
                    return connection.execute(statement, values).fetchall()
                except sqlite3.Error as problem:
                    raise self._refused(problem) from None

            yield run
            run("COMMIT")
        finally:
            connection.close()  # what was not committed is undone

    def has_table(self, run: Statements, name: str) -> bool:
        """See `VaultDatabase.has_table`."""
        return bool(run("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name", name=name))

    def _private(self) -> None:
        """Make the file if it is missing, and refuse one that others may open."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC, 0o600))
            found = self.path.stat()
        except OSError as problem:
            if is_full(problem):
                raise
            raise VaultRefused(
                f"series.vault {self.path}: cannot be opened or made ({problem.strerror}); give the user that runs the "
                "job the right to write it"
            ) from None
        if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077 or found.st_uid not in (0, os.geteuid()):
            raise VaultRefused(
                f"series.vault {self.path}: must be a file of the user that runs the job, closed to group and others; "
                "run `chmod 600`, or name another file"
            )

    def _refused(self, problem: sqlite3.Error) -> Exception:
        """Return what to raise: a full disk is one, as where any other file is written, and a later try may succeed."""
        if str(problem) == _FULL:
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        if str(problem) == _LOCKED:
            return VaultBusy(
                f"series.vault {self.path}: another process holds it for more than {WAIT_FOR_LOCK_SECONDS} seconds "
                f"(OperationalError: {_LOCKED}); wait until that has ended, and run again"
            )
        return VaultRefused(
            f"series.vault {self.path}: cannot be used ({type(problem).__name__}: {problem}); if it is damaged, "
            "restore it"
        )
