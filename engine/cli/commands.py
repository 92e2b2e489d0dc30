"""The command line `airflow-anon`, one function per command.

Exit status: 0 done; 1 something else failed, such as a full disk; 2 the job, a hierarchy or the data is invalid; 3 no
transformation satisfies the criteria, or the table is not like the last one; 4 the verification failed. On 2, 3 and 4
no release exists.
"""

from __future__ import annotations

import argparse
import errno
import importlib.util
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import __version__
from engine.cli.compilation import shown_compilation
from engine.cli.draft import add_init, init_arguments, run_init
from engine.cli.drift import add_drift, run_drift
from engine.cli.fingerprint_key import fingerprint_key
from engine.cli.frontier import (
    add_frontier,
    add_policy,
    add_population,
    frontier_job,
    policy_of_report,
    progress_text,
    run_frontier,
    run_population,
)
from engine.cli.place import add_place, run_place
from engine.cli.target import refuse_no_file, refuse_replacing
from engine.cli.vault import add_vault, airflow_arguments, run_vault
from engine.errors import EngineError, InvalidData, InvalidJob, VerificationFailed, unreadable
from engine.job.job import Job, load_job
from engine.job.json_schema import job_schema
from engine.json_document import strict_json
from engine.pipeline.summary import figure, summary
from engine.tables.release_files import CODEBOOK, DATA, JOB, README, REPORT

if TYPE_CHECKING:
    from engine.pipeline.run import Result
    from engine.verification import Finding

_FULL = (
    "; no release was made or replaced: make room beside the output, where a release is written first, and in the "
    "folder of temporary files (TMPDIR)"
)

_TOO_LARGE = (
    "; no release was made or replaced: a file that the run writes is larger than its account, or the file system, "
    "allows; raise that limit (ulimit -f), or write to another file system"
)
_OF_AIRFLOW = {
    "recall": ("take a published release back: readers lose it", ("commands", "recall")),
    "give-up": ("record that a share is gone for good, so that nothing waits for it", ("commands", "give-up")),
    "settle": ("end a publication that was cut off, and that no run ends", ("commands", "settle")),
    "ledger": ("read and check the release ledger", ("ledger",)),
}
"""Commands that only `airflow_anon` has, and the module of it with their options."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
    except EngineError as problem:
        print(f"airflow-anon: {problem}", file=sys.stderr)
        return problem.exit_code
    except OSError as problem:
        # not its own text: pyarrow raises it too
        named = "" if problem.filename is None else f"{problem.filename}: "
        fix = {errno.ENOSPC: _FULL, errno.EDQUOT: _FULL, errno.EFBIG: _TOO_LARGE}.get(problem.errno or 0, "")
        print(f"airflow-anon: {named}{unreadable(problem)}{fix}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("airflow-anon: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except Exception as problem:  # noqa: BLE001 (whatever it is, its text may quote a cell)
        print(f"airflow-anon: {_unexpected(problem)}", file=sys.stderr)
        return 1
    return status


def _unexpected(problem: Exception) -> str:
    """Say what ended a command and where; the text of an exception may hold a value of a record."""
    frames = traceback.extract_tb(problem.__traceback__)
    places = "\n".join(f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)
    return f"ended unexpectedly with {type(problem).__name__}; please report these lines of code\n{places}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="airflow-anon", description="De-identify tables as job files say.")
    parser.add_argument("--version", action="version", version=f"airflow-anon {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_init(commands).set_defaults(command=_init)
    check = commands.add_parser("check", help="try a job on its table without releasing anything; tell all problems")
    check.add_argument("job", metavar="JOB.yaml")
    check.add_argument("--sample", metavar="N", type=int, help="read only the first N records")
    check.add_argument(
        "--show-values", action="store_true", help="show values that no hierarchy knows; keep this output to yourself"
    )
    check.set_defaults(command=_check)
    run = commands.add_parser("run", help="run a job on its CSV or Parquet source")
    run.add_argument("job", metavar="JOB.yaml")
    run.add_argument("--output", metavar="DIR", help="release folder, instead of the job's output path")
    run.add_argument("--report", metavar="FILE", help="also write report.json of the release here")
    run.set_defaults(command=_run)
    verify = commands.add_parser("verify", help="check a release folder against its job")
    verify.add_argument("release", metavar="RELEASE_DIR")
    verify.add_argument("job", metavar="JOB.yaml")
    verify.add_argument(
        "--source",
        metavar="FILE",
        help="what was de-identified, for a job that counts persons or releases a subset of its source",
    )
    verify.set_defaults(command=_verify)
    add_frontier(commands).set_defaults(command=_frontier)
    add_policy(commands).set_defaults(command=_policy)
    add_population(commands).set_defaults(command=_population)
    add_vault(commands).set_defaults(command=_vault)
    add_place(commands).set_defaults(command=_place)
    add_drift(commands).set_defaults(command=_drift)
    commands.add_parser("doctor", help="look at the installation").set_defaults(command=_doctor)
    commands.add_parser("schema", help="print the JSON Schema of the job file").set_defaults(command=_schema)
    commands.add_parser("warm-up", help="compile the kernels ahead of the first run").set_defaults(command=_warm_up)
    demo = commands.add_parser("demo", help="build the demo warehouse and run its nightly DAG once")
    demo.set_defaults(command=_demo)
    for name, (told, place) in _OF_AIRFLOW.items():
        # An option prefix that nobody types makes the parser pass on all arguments that follow.
        passed = commands.add_parser(name, help=told, add_help=False, prefix_chars="\0")
        passed.add_argument("arguments", nargs=argparse.REMAINDER)
        passed.set_defaults(command=_pass_on, place=place)
    return parser


def _doctor(_: argparse.Namespace) -> int:
    from engine.cli.doctor import engine_findings, is_airflow_there  # noqa: PLC0415 (loads numba)

    found = list(engine_findings())
    for one in found:
        print(one, flush=True)
    status = max(one.exit_code for one in found)
    return max(status, _airflow_command("commands", ["doctor"])) if is_airflow_there() else status


def _check(options: argparse.Namespace) -> int:
    job = load_job(options.job)
    if options.sample is not None and options.sample < 1:
        raise InvalidJob(f"--sample {options.sample}: must be 1 or more")
    if any(source.conn_id is not None for source in job.sources):
        sample = [] if options.sample is None else [f"--sample={options.sample}"]
        shown = ["--show-values"] if options.show_values else []
        return _airflow_command("commands", ["check", options.job, *sample, *shown])
    from engine.pipeline.check import check  # noqa: PLC0415 (refused jobs need no numba)
    from engine.pipeline.check_text import check_lines  # noqa: PLC0415

    with shown_compilation():
        found = check(job, most=options.sample)
    for line in check_lines(found, show_values=options.show_values):
        print(line)
    return found.exit_code


def _init(options: argparse.Namespace) -> int:
    if options.conn is not None:
        return _airflow_command("commands", ["init", *init_arguments(options)])
    print(run_init(options))
    return 0


def _run(options: argparse.Namespace) -> int:
    job = load_job(options.job)
    if job.approval is not None:
        raise InvalidJob(
            "approval: the job's releases wait for somebody's approval, which only a run in Airflow can ask for; run "
            "its DAG, or try the job by `airflow-anon check`, which releases nothing"
        )
    target: str | None = options.output or (None if job.output is None else job.output.path)
    if target is None:
        raise InvalidJob("output: the job names no path; add one, or give --output DIR")
    report = Path(options.report) if options.report else None
    if report is not None:
        _check_report(report, Path(target), options.job, job)
    from engine.pipeline.run import run  # noqa: PLC0415 (schema and refused jobs need no numba)

    _exit_when_ended()
    progress = _Progress(_progress_text) if sys.stderr.isatty() else None
    try:
        with shown_compilation():
            result = run(job, output=target, progress=progress, fingerprint_key=fingerprint_key(make=True))
    finally:
        if progress is not None:
            progress.end()
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


def _verify(options: argparse.Namespace) -> int:
    from engine.pipeline.release import check_manifest  # noqa: PLC0415

    job = load_job(options.job)
    if options.source:
        job = job.with_source(options.source)
    folder = Path(options.release)
    check_manifest(folder)
    findings = _findings(folder, job)
    for finding in findings:
        subject = finding.check if finding.column is None else f"{finding.check} of {finding.column}"
        print(f"{'holds' if finding.holds else 'FAILS':6} {subject}: {finding.message}")
    failed = [finding for finding in findings if not finding.holds]
    others = [str(finding.column) for finding in failed if finding.check == "hierarchy"]
    if others:
        raise InvalidData(
            f"{folder}: was not judged: the hierarchies of {', '.join(others)} are not those that it was made with; "
            "give them as they were then"
        )
    if failed and not any(finding.is_told for finding in failed):
        raise InvalidData(
            f"{folder}: what a release alone tells holds: columns, labels, suppression and rows; that its classes are "
            "of enough persons is stated and not shown; give what was de-identified, with its column "
            f"{job.subject!r}, as --source"
        )
    if failed:
        raise VerificationFailed(f"{folder}: does not hold what the job demands", list(findings))
    return 0


def _findings(folder: Path, job: Job) -> list[Finding]:
    from engine.pipeline.documents import compared_documents  # noqa: PLC0415 (errors need no pyarrow)
    from engine.pipeline.formats import compared_formats  # noqa: PLC0415 (as above)
    from engine.verification import (  # noqa: PLC0415 (as above)
        class_table,
        has_structure,
        is_of_this_version,
        release_of,
        verify,
    )

    try:
        report = _report(folder)
        release = release_of(job, folder)
    except (OSError, ValueError, InvalidData) as problem:
        data = DATA if job.tables is None else "the file of a table"
        raise VerificationFailed(
            f"{folder}: {data} or {REPORT} is missing or cannot be read ({type(problem).__name__})"
        ) from None
    formats = compared_formats(folder, job)
    key = _key_of(report)
    classes = class_table(release, job) if has_structure(release.schema, job) else None
    series = None
    if job.series is not None:
        from engine.job.open_series import series_evidence  # noqa: PLC0415 (as above)

        series = series_evidence(job, report)
    findings = verify(release if classes is None else classes, job, report, series=series, fingerprint_key=key)
    # what does not hold is described by no document
    if classes is not None and all(finding.holds or not finding.is_told for finding in findings):
        if is_of_this_version(report):
            findings.append(compared_documents(folder, job, report, classes))
        else:
            print(f"note   documents: {CODEBOOK}, {README} and {JOB} are of another version, and were not compared")
    return [*findings, *formats]


def _report(folder: Path) -> dict[str, Any]:
    """Read a report; without one a release would be judged by less."""
    report = strict_json((folder / REPORT).read_bytes())
    if not isinstance(report, dict):
        raise ValueError("is no object")  # noqa: TRY004 (a wrong document, not a wrong argument)
    return report


def _key_of(report: Mapping[str, Any]) -> bytes | None:
    """Return the key of fingerprints, if the report has some of hierarchies; note where they cannot be compared."""
    from engine.job.hierarchies_stated import is_stated, why_not_compared  # noqa: PLC0415 (schema and errors need none)

    stated = report.get("hierarchies")
    if stated is not None and not is_stated(stated):
        return None  # the verification says so
    key = None if stated is None else fingerprint_key(make=False)
    why = why_not_compared(stated, key)
    if why is not None:
        print(f"note   hierarchies: judged by those that the job has now; {why}")
    return key


def _frontier(options: argparse.Namespace) -> int:
    job = frontier_job(options)
    progress = _Progress(progress_text) if sys.stderr.isatty() else None
    try:
        with shown_compilation():
            summary = run_frontier(job, options, progress)
    finally:
        if progress is not None:
            progress.end()
    print(summary)
    return 0


def _policy(options: argparse.Namespace) -> int:
    print(policy_of_report(options), end="")
    return 0


def _population(options: argparse.Namespace) -> int:
    print(run_population(options))
    return 0


def _vault(options: argparse.Namespace) -> int:
    elsewhere = airflow_arguments(options)
    if elsewhere is not None:
        return _airflow_command("commands", elsewhere)
    print(run_vault(options))
    return 0


def _place(options: argparse.Namespace) -> int:
    print(run_place(options))
    return 0


def _drift(options: argparse.Namespace) -> int:
    print(run_drift(options))
    return 0


def _pass_on(options: argparse.Namespace) -> int:
    name, *before = options.place
    return _airflow_command(name, [*before, *options.arguments])


def _schema(_: argparse.Namespace) -> int:
    print(json.dumps(job_schema(), indent=2))
    return 0


def _warm_up(_: argparse.Namespace) -> int:
    from engine.kernels.warm_up import cache_warnings, warm_up_in_processes  # noqa: PLC0415

    with shown_compilation():
        seconds = warm_up_in_processes()
    print(f"kernels are ready after {seconds:.1f} seconds")
    for warning in cache_warnings():
        print(f"warning: {warning}", file=sys.stderr)
    return 0


def _demo(_: argparse.Namespace) -> int:
    return _airflow_command("demo", ["run"])


def _airflow_command(name: str, arguments: Sequence[str]) -> int:
    """Run a command of `airflow_anon` in a separate process: the engine does not import it."""
    if importlib.util.find_spec("airflow_anon") is None or importlib.util.find_spec("airflow") is None:
        raise InvalidJob(f"{name}: needs Airflow; install airflow-anon[airflow]")
    command = [sys.executable, "-m", f"airflow_anon.{name}", *arguments]
    return subprocess.run(command, check=False).returncode  # noqa: S603 (our own interpreter)


def _progress_text(figures: Mapping[str, Any]) -> str:
    if "area" in figures:
        return progress_text(figures)
    loss, bound = figures["information_loss"], figures["lower_bound"]
    gap = figures.get("gap")
    proven = "" if gap is None else f" (gap {gap:.2%})"
    return f"searching: loss {figure(loss)}, bound {figure(bound)}{proven}, {figures['open_boxes']} boxes open"


class _Progress:
    """One line on the terminal that is written over."""

    def __init__(self, text: Callable[[Mapping[str, Any]], str]) -> None:
        self._text = text

    def __call__(self, figures: Mapping[str, Any]) -> None:
        print(f"\r\x1b[K{self._text(figures)}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
