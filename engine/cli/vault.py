"""The commands of a series: a person is forgotten, or the vault is compared with what was released.

Of a job that reads from a connection this is the release ledger, which Airflow's part of this package knows.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from engine.errors import InvalidJob
from engine.job.job import Job
from engine.job.load import load_job


def add_vault(commands: Any) -> argparse.ArgumentParser:
    """Add the command `vault` to a parser."""
    vault: argparse.ArgumentParser = commands.add_parser(
        "vault", help="forget a person of a series, or check its vault"
    )
    below = vault.add_subparsers(required=True, metavar="ACTION", dest="action")
    forget = below.add_parser("forget", help="let nobody find a person any more, even with the key")
    forget.add_argument("job", metavar="JOB.yaml")
    forget.add_argument("person", metavar="ID", help="value of the column that the job names as subject")
    verify = below.add_parser("verify", help="compare the vault with the release folder or the ledger")
    verify.add_argument("job", metavar="JOB.yaml")
    verify.add_argument("--output", metavar="DIR", help="release folder, instead of the job's output path")
    verify.add_argument("--ledger", metavar="ADDRESS", help="compare with this ledger, or with AIRFLOW_ANON_LEDGER")
    return vault


def airflow_arguments(options: argparse.Namespace) -> list[str] | None:
    """Return the arguments of the same command of Airflow's part; None where the job's own files are enough."""
    job = load_job(options.job)
    by_files = job.series is None or (job.series.vault_conn_id is None and job.series.key_conn_id is None)
    if options.action == "forget":
        return None if by_files else ["vault", "forget", options.job, options.person]
    of_ledger = options.ledger is not None or (job.source is not None and job.source.conn_id is not None)
    if by_files and not of_ledger:
        return None
    return ["vault", "verify", options.job, *([] if options.ledger is None else [f"--ledger={options.ledger}"])]


def run_vault(options: argparse.Namespace) -> str:
    """Run one of the commands; return what it tells.

    Raises
    ------
    InvalidJob
        The job has no series, or its release folder is not named.
    VaultRefused
        The vault cannot be used, or is not in step with the folder.
    """
    job = load_job(options.job)
    if job.series is None:
        raise InvalidJob("series: the job has none; name its vault and key")
    return _forget(job, options.person) if options.action == "forget" else _verify(job, options.output)


def _forget(job: Job, person: str) -> str:
    from engine.job.open_series import open_series  # noqa: PLC0415 (refused jobs need no numba)

    series = open_series(job, "", make=False)
    found = series.vault.forget(series.key.ids([person]))
    return "forgotten" if found else "the vault does not know this person"


def _verify(job: Job, output: str | None) -> str:
    from engine.pipeline.swapped_folder import compared  # noqa: PLC0415 (as above)

    target = output or (None if job.output is None else job.output.path)
    if target is None:
        raise InvalidJob("output: the job names no path; add one, or give --output DIR")
    return compared(job, Path(target))
