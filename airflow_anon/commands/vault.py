"""The commands of a series whose vault or key is a connection, or whose releases are in a ledger."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.errors import LedgerError
from airflow_anon.publication.series import compared_with_ledger
from airflow_anon.transport.series_vault import series_of
from engine import InvalidJob, VaultRefused, load_job


def add_vault(commands: Any) -> None:
    """Add the command `vault` to a parser."""
    vault = commands.add_parser("vault", help="forget a person of a series, or check its vault")
    below = vault.add_subparsers(required=True, metavar="ACTION", dest="action")
    forget = below.add_parser("forget", help="let nobody find a person any more, even with the key")
    forget.add_argument("job", metavar="JOB.yaml")
    forget.add_argument("person", metavar="ID", help="value of the column that the job names as subject")
    verify = below.add_parser("verify", help="compare the vault with the release ledger")
    verify.add_argument("job", metavar="JOB.yaml")
    verify.add_argument("--ledger", metavar="ADDRESS", help="of the ledger, instead of AIRFLOW_ANON_LEDGER")
    vault.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    job = load_job(options.job)
    if job.series is None:
        raise InvalidJob("series: the job has none; name its vault and key")
    if options.action == "verify":
        try:
            sys.stdout.write(f"{compared_with_ledger(job, open_ledger(options.ledger))}\n")
        except LedgerError as problem:
            raise VaultRefused(str(problem)) from None
        return 0
    series = series_of(job, "")
    found = series.vault.forget(series.key.ids([options.person]))
    sys.stdout.write("forgotten\n" if found else "the vault does not know this person\n")
    return 0
