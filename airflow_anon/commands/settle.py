"""`airflow-anon settle`: ends a publication that was cut off and that no run settles any more."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.ledger.address import open_ledger
from airflow_anon.publication.errors import ledger_errors
from airflow_anon.publication.settle import record_cut_off, settle

if TYPE_CHECKING:
    from airflow_anon.ledger import Ledger, Pending

UMASK = 0o022
"""Of a share in which nothing is made but the link to a release that is there."""
_MESSAGE = "the publication was cut off, and settled on the command line"


def add_settle(commands: Any) -> None:
    """Add the command to the subcommands of a parser."""
    parser = commands.add_parser("settle")
    parser.add_argument("release", metavar="JOB/RELEASE", help="as `airflow-anon ledger verify` lists it")
    parser.add_argument("--ledger", metavar="ADDRESS", help="of the ledger, instead of AIRFLOW_ANON_LEDGER")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    with ledger_errors():
        ledger = open_ledger(options.ledger)
        pending = _found(ledger, options.release)
    entry = settle(pending, ledger, UMASK)
    release = f"release {pending.release_id} of {pending.job}"
    if entry is not None:
        sys.stdout.write(
            f"{release} is complete (entry {entry.sequence}): readers get it, unless they have a newer one\n"
        )
        return 0
    entry = record_cut_off(pending, ledger, _MESSAGE)
    sys.stdout.write(
        f"{release} was not complete: it is taken back, and its attempt is failed (entry {entry.sequence})\n"
    )
    return 0


def _found(ledger: Ledger, text: str) -> Pending:
    """Return a pending publication by its job and release.

    Raises
    ------
    AirflowFailException
        There is none.
    """
    if not ledger.exists():
        raise AirflowFailException(f"ledger {ledger.address}: does not exist, so there is nothing to settle")
    job, _, release_id = text.rpartition("/")
    found = next((one for one in ledger.pending(job) if one.release_id == release_id), None)
    if found is None:
        raise AirflowFailException(
            f"release {text!r}: no publication of it is pending; write it as JOB/RELEASE, as `airflow-anon ledger "
            "verify` lists those that are"
        )
    return found
