"""`airflow-anon run`: a job on its CSV or Parquet source.

In: a job file, and a folder. Out: a release in that folder, and on the terminal what came out.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.compilation import shown_compilation
from engine.cli.fingerprint_key import fingerprint_key
from engine.cli.frontier import progress_text
from engine.cli.progress_line import progress_line
from engine.cli.target import refuse_no_file, refuse_replacing
from engine.errors import InvalidJob, unreadable
from engine.job.job import Job
from engine.job.load import load_job
from engine.pipeline.summary import figure, summary
from engine.tables.release_files import REPORT

if TYPE_CHECKING:
    from engine.pipeline.result import Result


def add_run(commands: Any) -> argparse.ArgumentParser:
    """Add the command `run` to a parser."""
    run: argparse.ArgumentParser = commands.add_parser("run", help="run a job on its CSV or Parquet source")
    run.add_argument("job", metavar="JOB.yaml")
    run.add_argument("--output", metavar="DIR", help="release folder, instead of the job's output path")
    run.add_argument("--report", metavar="FILE", help="also write report.json of the release here")
    return run


def run_job(options: argparse.Namespace) -> int:
    """Run a job on its source; return the exit status.

    Raises
    ------
    EngineError
        See `engine.run`; or the job has no output, waits for an approval, or the report cannot be written.
    """
    job = load_job(options.job)
    if job.approval is not None:
        raise InvalidJob(
            "approval: the job's releases wait for somebody's approval, which only a run in Airflow can ask for; run "
            "its DAG, or try the job by `airflow-anon check`, which releases nothing"
        )
    if any(source.conn_id is not None for source in job.sources):
        raise InvalidJob(
            "source: is of a connection, which only a run in Airflow reads; run its DAG, or try the job by "
            "`airflow-anon check`, which releases nothing"
        )
    target: str | None = options.output or (None if job.output is None else job.output.path)
    if target is None:
        raise InvalidJob("output: the job names no path; add one, or give --output DIR")
    report = Path(options.report) if options.report else None
    if report is not None:
        _check_report(report, Path(target), options.job, job)
    from engine.pipeline.run import run  # noqa: PLC0415 (schema and refused jobs need no numba)

    _exit_when_ended()
    with progress_line(_progress_text) as progress, shown_compilation():
        result = run(job, output=target, progress=progress, fingerprint_key=fingerprint_key(make=True))
    _print_summary(result)
    if report is not None:
        _write_report(report, result)
    return 0


def _print_summary(result: Result) -> None:
    """Say what came out; a full disk or a closed pipe behind the output does not undo a release that is made."""
    try:
        print(summary(result.published, result.output), flush=True)
    except OSError as problem:
        # else Python would try once more at its end, and fail
        with suppress(OSError, ValueError), Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())
        print(
            f"airflow-anon: the release {result.output} is made; its summary cannot be printed ({unreadable(problem)})",
            file=sys.stderr,
        )


def _exit_when_ended() -> None:
    """Let signals that end the process run the code that removes an incomplete release, unless they are ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):  # of a task or a pod; of a terminal that is closed
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def _write_report(report: Path, result: Result) -> None:
    try:
        report.write_text(json.dumps(result.published, indent=2) + "\n", encoding="utf-8")
    except OSError as problem:
        with suppress(OSError):
            if report.is_file():
                report.unlink()
        raise InvalidJob(
            f"--report {report}: cannot be written ({unreadable(problem)}); the release {result.output} is made, and "
            f"its {REPORT} says the same"
        ) from None


def _check_report(report: Path, output: Path, path: str, job: Job) -> None:
    """Refuse a report path that would fail only after the release is made, break its manifest, or replace what is read.

    Parameters
    ----------
    path : str
        Of the job's file.
    """
    refuse_no_file("--report", report)
    if output.resolve() in report.resolve().parents:
        raise InvalidJob(f"--report {report}: is in the release folder, which has a {REPORT} already; name another")
    refuse_replacing("--report", report, path, job)


def _progress_text(figures: Mapping[str, Any]) -> str:
    if "area" in figures:
        return progress_text(figures)
    loss, bound = figures["information_loss"], figures["lower_bound"]
    gap = figures.get("gap")
    proven = "" if gap is None else f" (gap {gap:.2%})"
    return f"searching: loss {figure(loss)}, bound {figure(bound)}{proven}, {figures['open_boxes']} boxes open"
