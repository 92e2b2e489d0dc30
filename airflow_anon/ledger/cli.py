"""The ledger on the command line: `airflow-anon ledger verify | list | show | migrate`.

Exit status: 0 if done and the ledger is intact; 4 if it or a released file was tampered with; 2 if arguments are
bad, or the ledger, the entry or the share cannot be read.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from airflow_anon.ledger.address import VARIABLE, open_ledger
from airflow_anon.ledger.cli_text import shown
from airflow_anon.ledger.cli_verify import add_verify
from airflow_anon.ledger.entry import OUTCOMES, Entry
from airflow_anon.ledger.errors import LedgerError

if TYPE_CHECKING:
    from airflow_anon.ledger.store import Ledger

_LISTED = ("entry", "recorded (UTC)", "outcome", "job", "records", "suppressed", "loss", "margin", "release")
_RIGHT = {"entry", "records", "suppressed", "loss", "margin"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(open_ledger(options.ledger), options)
    except LedgerError as problem:
        sys.stderr.write(f"airflow-anon: {shown(str(problem))}\n")
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="airflow-anon ledger", description="Read and check the release ledger.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_verify(commands)
    entries = commands.add_parser("list", help="list entries, newest first")
    entries.add_argument("--job", metavar="JOB", help="only entries of this job")
    entries.add_argument("--outcome", choices=OUTCOMES, help="only entries with this outcome")
    entries.add_argument("--limit", type=int, default=50, metavar="N", help="at most this many (default: 50)")
    entries.set_defaults(command=_list)
    show = commands.add_parser("show", help="print an entry and its document as JSON")
    show.add_argument("sequence", type=int, metavar="SEQUENCE")
    show.set_defaults(command=_show)
    commands.add_parser("migrate", help="create the ledger, or bring its schema up to date").set_defaults(
        command=_migrate
    )
    for command in commands.choices.values():
        command.add_argument(
            "--ledger",
            metavar="ADDRESS",
            help=f"connection id or SQLAlchemy URL (default: {VARIABLE}, or the file in AIRFLOW_HOME)",
        )
    return parser


def _list(ledger: Ledger, options: argparse.Namespace) -> int:
    if options.limit < 1:
        raise LedgerError(f"--limit {options.limit}: must be 1 or more")
    if not ledger.exists():
        raise LedgerError(f"ledger {ledger.address}: does not exist, so there is nothing to list")
    entries = ledger.entries() if options.job is None else _of_job(ledger, options.job)
    entries = [entry for entry in entries if options.outcome in (None, entry.outcome)][: options.limit]
    table = [dict(zip(_LISTED, _LISTED, strict=True)), *(_line(entry) for entry in entries)]
    widths = {name: max(len(line[name]) for line in table) for name in _LISTED}
    for line in table:
        cells = (
            line[name].rjust(widths[name]) if name in _RIGHT else line[name].ljust(widths[name]) for name in _LISTED
        )
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
    return 0


def _of_job(ledger: Ledger, job: str) -> list[Entry]:
    """Return the entries of a job, newest first.

    Raises
    ------
    LedgerError
        The ledger has none of it.
    """
    found = ledger.of_job(job)
    if not found:
        known = sorted({entry.job for entry in ledger.latest()})
        near = get_close_matches(job, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "list all entries without --job"
        raise LedgerError(f"--job {job}: no entry of such a job is in the ledger {ledger.address}; {hint}")
    return found


def _line(entry: Entry) -> dict[str, str]:
    share = "" if entry.suppressed_share is None else f"{entry.suppressed_share:.2%}"
    figures = ["" if value is None else f"{value:.4g}" for value in (entry.information_loss, entry.privacy_margin)]
    rows = "" if entry.rows is None else str(entry.rows)
    moment = entry.recorded_at[:19].replace("T", " ")
    cells = (str(entry.sequence), moment, entry.outcome, entry.job, rows, share, *figures, entry.release_id or "")
    return {name: shown(text) for name, text in zip(_LISTED, cells, strict=True)}


def _show(ledger: Ledger, options: argparse.Namespace) -> int:
    entry = ledger.entry(options.sequence)
    if entry is None:
        raise LedgerError(f"entry {options.sequence}: not in the ledger {ledger.address}")
    content: dict[str, Any] = {**dataclasses.asdict(entry), "document": ledger.document(entry.sequence)}
    sys.stdout.write(json.dumps(content, indent=2) + "\n")
    return 0


def _migrate(ledger: Ledger, _: argparse.Namespace) -> int:
    ledger.migrate()
    sys.stdout.write(f"ledger {shown(ledger.address)} is up to date\n")
    return 0
