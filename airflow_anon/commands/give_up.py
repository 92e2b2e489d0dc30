"""`airflow-anon give-up`: records that a share is gone for good."""

from __future__ import annotations

import argparse
import logging
import sys
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.commands.said import add_said, said_by
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.given_up import MADE_ANEW
from airflow_anon.ledger.named_share import NamedShare
from airflow_anon.observe.metrics import emit_from_command
from airflow_anon.publication.errors import ledger_errors
from airflow_anon.publication.give_up import give_up, share_at

if TYPE_CHECKING:
    from airflow_anon.ledger import Entry, Ledger

_LOG = logging.getLogger(__name__)


def add_give_up(commands: Any) -> None:
    """Add the command to the subcommands of a parser."""
    parser = commands.add_parser("give-up")
    parser.add_argument(
        "share", metavar="SHARE", nargs="?", help="folder or address of the share, as the job file has it"
    )
    parser.add_argument("--table", nargs=2, metavar=("CONN_ID", "TABLE"), help="the share is this table instead")
    add_said(parser)
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    if (options.share is None) == (options.table is None):
        raise AirflowFailException("give-up: name one share, by SHARE or by --table CONN_ID TABLE")
    if options.share is not None:
        share = share_at(options.share)
    else:
        share = NamedShare(conn_id=options.table[0], table=options.table[1])
    with ledger_errors():
        ledger = open_ledger(options.ledger)
        if not ledger.exists():
            raise AirflowFailException(f"ledger {ledger.address}: does not exist, so there is nothing to give up")
    made = give_up(ledger, share, by=said_by(options), why=options.reason, log=_LOG, recorded=emit_from_command)
    if not made:
        sys.stdout.write(f"{share.words}: all its releases were given up already; the reason of that day stands\n")
    sys.stdout.writelines(f"{_told(ledger, entry, share)}\n" for entry in made)
    return 0


def _told(ledger: Ledger, entry: Entry, share: NamedShare) -> str:
    with ledger_errors():
        told = ledger.document(entry.sequence)["given_up"]
        recalled = {one.release_id for one in ledger.of_job(entry.job, outcome="recalled")} & set(told["releases"])
    also = f", {len(recalled)} of them recalled;" if recalled else ";"
    if told["found"] == MADE_ANEW:
        return (
            f"releases of {entry.job} that {share.words} has lost are given up: {len(told['releases'])} (entry "
            f"{entry.sequence}): {', '.join(told['releases'])}. They may still lie where it was before: see that who "
            "has that deletes them. What it has now is compared as ever"
        )
    return (
        f"{share.words} is given up for {entry.job} (entry {entry.sequence}); it was found: {told['found']}. Releases "
        f"that it had: {len(told['releases'])}{also} they may still lie there: nobody can look. Take it out of the "
        "job file, and see that who has it deletes it"
    )
