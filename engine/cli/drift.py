"""`airflow-anon drift accept`: a table that was refused for drift is meant to be so.

In: a job, and who accepts what. Out: what was accepted, in words without values. It needs no Airflow: the files of
drift are beside the job, or where the job says.
"""

from __future__ import annotations

import argparse
import getpass
from typing import Any

from engine.job.load import load_job


def add_drift(commands: Any) -> argparse.ArgumentParser:
    """Add the command `drift` to a parser."""
    drift: argparse.ArgumentParser = commands.add_parser(
        "drift", help="accept a table that was refused because it is not like the last one"
    )
    below = drift.add_subparsers(required=True, metavar="ACTION", dest="action")
    accept = below.add_parser("accept", help="let the next run release a table like the one that was refused")
    accept.add_argument("job", metavar="JOB.yaml")
    accept.add_argument("--difference", metavar="NAME", help="accept only this one, as the refusal names it")
    accept.add_argument("--comment", metavar="TEXT", help="why, in a sentence that stands in report and ledger")
    accept.add_argument("--by", metavar="NAME", help="who accepts (default: the user of the operating system)")
    return drift


def run_drift(options: argparse.Namespace) -> str:
    """Accept; return what was.

    Raises
    ------
    InvalidJob
        See `engine.pipeline.drift_acceptance.accept_drift`.
    """
    from engine.pipeline.drift_acceptance import accept_drift  # noqa: PLC0415 (refused jobs need no numba)

    job = load_job(options.job)
    by = options.by or getpass.getuser()
    found, is_new = accept_drift(job, by=by, comment=options.comment, difference=options.difference)
    limits = "\n".join(f"  {one}" for one in found["differences"])
    if not is_new:
        return f"difference {found['difference']} was accepted already by {found['by']} on {found['at']}:\n{limits}"
    return (
        f"difference {found['difference']} is accepted until the next release:\n{limits}\n"
        "run the job again: a table that is like the refused one is released, any other is refused again"
    )
