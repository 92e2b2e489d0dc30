"""`airflow-anon recall`: takes a published release back."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.commands.said import add_said, said_by
from airflow_anon.ledger.address import open_ledger
from airflow_anon.observe.metrics import emit_from_command
from airflow_anon.publication.errors import ledger_errors
from airflow_anon.publication.withdraw import left_in, recall

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger


def add_recall(commands: Any) -> None:
    """Add the command to the subcommands of a parser."""
    parser = commands.add_parser("recall")
    parser.add_argument("release", metavar="JOB/RELEASE", help="name of the job, or of its DAG, and id of the release")
    add_said(parser)
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    with ledger_errors():
        ledger = open_ledger(options.ledger)
        entry = _found(ledger, options.release)
        before = ledger.withdrawal(entry.job, str(entry.release_id))
    lost = "".join(f"it may still lie in {place}\n" for place in left_in(ledger, entry))
    recalled = recall(ledger, entry, by=said_by(options), why=options.reason)
    release = f"release {entry.release_id} of {entry.job}"
    if before is not None and before.sequence == recalled.sequence:
        sys.stdout.write(
            f"{release} was recalled already on {before.recorded_at} (entry {before.sequence}); the reason of that day "
            f"stands, and readers do not have it\n{lost}"
        )
        return 0
    emit_from_command(recalled)
    sys.stdout.write(
        f"{release} is recalled (entry {recalled.sequence}); readers do not get it any more. They may "
        f"have made copies: tell them to delete these\n{lost}"
    )
    return 0


def _found(ledger: Ledger, text: str) -> Entry:
    """Return the entry of a release by the name of its job or DAG, and its id.

    Raises
    ------
    AirflowFailException
        There is none, or several jobs of the DAG have one.
    """
    name, _, release_id = text.rpartition("/")
    if not name or not release_id:
        raise AirflowFailException(f"release {text!r}: write it as JOB/RELEASE, as the ledger lists it")
    if not ledger.exists():
        raise AirflowFailException(f"ledger {ledger.address}: does not exist, so there is nothing to recall")
    known = [one for one in ledger.entries() if one.outcome == "released" and one.release_id == release_id]
    found = [one for one in known if one.job == name] or [one for one in known if one.dag_id == name]
    if not found:
        waits = any(one.release_id == release_id for one in ledger.pending())
        why = (
            "its publication has not ended; clear or end its run, or `airflow-anon settle` it"
            if waits
            else "the ledger has no such release; one that lies in a share without an entry is deleted there by hand"
        )
        raise AirflowFailException(f"release {text!r}: {why}; `airflow-anon ledger list` lists them")
    if len(found) > 1:
        jobs = ", ".join(repr(one.job) for one in found)
        raise AirflowFailException(f"release {text!r}: the DAG has several jobs with it; name one of {jobs}")
    return found[0]
