"""`airflow-anon settle`: ends a publication that was cut off and that no run settles any more."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.ledger.address import open_ledger
from airflow_anon.publication.errors import ledger_errors
from airflow_anon.publication.settle import lead_readers_to, settle_and_record
from airflow_anon.run.release_id import run_digest

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger

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
        if not ledger.exists():
            raise AirflowFailException(f"ledger {ledger.address}: does not exist, so there is nothing to settle")
        job, _, release_id = options.release.rpartition("/")
        pending = next((one for one in ledger.pending(job) if one.release_id == release_id), None)
    if pending is None:
        entry = _settled_before(ledger, job, release_id)
    else:
        entry = settle_and_record(pending, ledger, UMASK, _MESSAGE)
    release = f"release {release_id} of {job}"
    if entry.outcome == "released":
        sys.stdout.write(
            f"{release} is complete (entry {entry.sequence}): readers get it, unless they have a newer one\n"
        )
    else:
        sys.stdout.write(
            f"{release} was not complete: it is taken back, and its attempt is failed (entry {entry.sequence})\n"
        )
    return 0


def _settled_before(ledger: Ledger, job: str, release_id: str) -> Entry:
    """Return the entry of what is settled already: somebody was cut off, or repeats the command.

    Readers are led to a release that has its entry.

    Raises
    ------
    AirflowFailException
        Neither it nor its attempt has an entry, or it was taken out of the share since.
    AirflowException
        A share cannot be written.
    """
    with ledger_errors():
        entry = ledger.released(job, release_id)
        withdrawn = ledger.withdrawal(job, release_id)
    if withdrawn is not None:
        raise AirflowFailException(
            f"release {release_id} of {job}: was {withdrawn.outcome} (entry {withdrawn.sequence} of the ledger), so "
            "there is nothing to settle; trigger a new run"
        )
    if entry is None:
        failed = _failed(ledger, job, release_id)
        if failed is not None:
            return failed
        raise AirflowFailException(
            f"release {job}/{release_id}: no publication of it is pending, and it has no entry: it was taken back, or "
            "never begun; write it as JOB/RELEASE, as `airflow-anon ledger verify` lists those that are pending"
        )
    with ledger_errors():
        document = ledger.document(entry.sequence)
    lead_readers_to(document, ledger, UMASK)
    return entry


def _failed(ledger: Ledger, job: str, release_id: str) -> Entry | None:
    """Return the newest entry of the run that a release is named after, if its publication was taken back."""
    with ledger_errors():
        failed = ledger.of_job(job, outcome="failed")
        return next((one for one in failed if release_id.endswith(f"-{run_digest(one.dag_id, one.run_id)}")), None)
