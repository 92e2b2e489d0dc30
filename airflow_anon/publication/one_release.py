"""One release of one job on its way into shares and ledger: what each step of its publication knows of it."""

from __future__ import annotations

from dataclasses import dataclass
from logging import Logger
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_anon.ledger import Ledger
    from airflow_anon.ledger.document import Attempt
    from engine import Job


@dataclass(frozen=True, kw_only=True)
class OneRelease:
    """A release and where it goes.

    Attributes
    ----------
    job : Job
        With its output.
    release_id : str
    ledger : Ledger
    attempt : Attempt
        For the entry.
    umask : int
        Permission bits that files in the share do not get.
    log : Logger
    """

    job: Job
    release_id: str
    ledger: Ledger
    attempt: Attempt
    umask: int
    log: Logger
