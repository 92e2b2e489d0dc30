"""`airflow-anon check JOB` of a job whose source is a connection: tries it on the table, and releases nothing.

In: a job file. Out: text.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from airflow_anon.run.check_table import check_job
from engine import InvalidJob, Job, Message, check_lines, load_job


def add_check(commands: Any) -> None:
    """Add the command, whose options `engine.cli` has checked."""
    parser = commands.add_parser("check")
    parser.add_argument("job")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--show-values", action="store_true")
    parser.set_defaults(command=_check)


def _check(options: argparse.Namespace) -> int:
    job = load_job(options.job)
    found = check_job(job, options.sample, list(_problems_of_dag(job)))
    for line in check_lines(found, show_values=options.show_values):
        sys.stdout.write(line + "\n")
    return found.exit_code


def _problems_of_dag(job: Job) -> Iterator[Message]:
    """Yield why no DAG can be made of the job."""
    from airflow_anon.jobs.possible_output import check_output  # noqa: PLC0415 (imports Airflow's hooks)

    try:
        check_output(job)
    except InvalidJob as problem:
        yield problem.message
