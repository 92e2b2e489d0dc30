"""Every error the engine raises on purpose.

A message names the column, file or key, the allowed range and the fix. It never holds a value of a record: it may
reach logs, XComs and audit pages that outlive the data.
"""

from __future__ import annotations

from engine.message import Message


class EngineError(Exception):
    """Base of all errors of the engine.

    Parameters
    ----------
    message : Message or str
        A text that tells counts is a `Message`.

    Attributes
    ----------
    message : Message
        The whole text, the same as that of the exception.
    exit_code : int
        Exit status of the command line when this error ends it.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = Message(message)


class InvalidJob(EngineError):  # noqa: N818 (the name is a contract)
    """The job file, or a file that it names, is invalid."""

    exit_code = 2


class InvalidData(EngineError):  # noqa: N818
    """The table or a hierarchy does not fit the job."""

    exit_code = 2


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
