"""Every error the engine raises on purpose.

A message names the column, file or key, the allowed range and the fix. It never holds a value of a record: it may
reach logs, XComs and audit pages that outlive the data.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.message import Message


def unreadable(problem: Exception) -> str:
    """Return why a file cannot be read, without the bytes and texts of it that an exception may quote."""
    number = problem.errno if isinstance(problem, OSError) else None
    return type(problem).__name__ if number is None else os.strerror(number)


def is_full(problem: OSError) -> bool:
    """Return whether a disk has no room for what was to be written, or who writes has used up his share of it.

    That is no fault of a job or of a name in it: where room is made, a later try succeeds.
    """
    return problem.errno in (errno.ENOSPC, errno.EDQUOT)


def is_file(path: Path) -> bool:
    """Return whether there is such a file; names that no file can have, or that Arrow cannot open, are of none."""
    try:
        str(path).encode()
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Return whether there is such a folder; as `is_file`."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_special(path: Path) -> bool:
    """Return whether there is something that is neither a file nor a folder; as `is_file`."""
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except (OSError, ValueError):
        return False


class EngineError(Exception):
    """Base of all errors of the engine.

    Parameters
    ----------
    message : Message or str
        A text that tells counts is a `Message`. It becomes one line: a column may be named with a line end.

    Attributes
    ----------
    message : Message
        The whole text, the same as that of the exception.
    exit_code : int
        Exit status of the command line when this error ends it.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        self.message = Message(message).on_one_line
        # only a text that came as a message has counts that may have to be withheld
        super().__init__(self.message if isinstance(message, Message) else str(self.message))


class InvalidJob(EngineError):  # noqa: N818 (the name is a contract)
    """The job file, or a file that it names, is invalid."""

    exit_code = 2


class InvalidData(EngineError):  # noqa: N818
    """The table or a hierarchy does not fit the job."""

    exit_code = 2


class SparkLost(EngineError):  # noqa: N818
    """Spark does not answer, ended while it worked, or its query was cancelled: the same job may succeed later."""

    exit_code = 1


class VaultRefused(EngineError):  # noqa: N818
    """The vault of a series cannot be used: it is unreachable, of another key or job, or not in step with releases."""

    exit_code = 1


class VaultBusy(VaultRefused):
    """The vault of a series cannot be used now: another process holds it, or its server does not answer."""


class DriftRefused(EngineError):  # noqa: N818
    """The table is not like that of the last release, by more than the job allows.

    Parameters
    ----------
    refused : mapping, optional
        The difference, for `keeping_refused_drift`: it counts few records, so it stays on the private side.
    """

    exit_code = 3

    def __init__(self, message: str, refused: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.refused = refused


class NoSolution(EngineError):  # noqa: N818
    """No transformation satisfies every privacy model within the suppression limit."""

    exit_code = 3


class VerificationFailed(EngineError):  # noqa: N818
    """The output does not satisfy the job; nothing was released.

    Parameters
    ----------
    findings : list of Finding
        All findings of the verification, including those that hold.
    """

    exit_code = 4

    def __init__(self, message: str, findings: list[object] | None = None) -> None:
        super().__init__(message)
        self.findings = findings or []
