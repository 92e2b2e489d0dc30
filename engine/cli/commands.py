"""The command line: `airflow-anon run | verify | frontier | policy | population | schema | warm-up | demo | ledger`.

Exit status: 0 done; 1 something else failed, such as a full disk; 2 the job, a hierarchy or the data is invalid; 3 no
transformation satisfies the criteria; 4 the verification failed. On 2, 3 and 4 no release exists.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.compilation import shown_compilation
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
from engine.errors import EngineError, InvalidData, InvalidJob, VerificationFailed, unreadable
from engine.job.job import Job, load_job
from engine.job.json_schema import job_schema

if TYPE_CHECKING:
    from engine.verification import Finding


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
        print(f"airflow-anon: {named}{unreadable(problem)}", file=sys.stderr)
        return 1
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
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run a job on its CSV or Parquet source")
    run.add_argument("job", metavar="JOB.yaml")
    run.add_argument("--output", metavar="DIR", help="release folder, instead of the job's output path")
    run.add_argument("--report", metavar="FILE", help="also write report.json of the release here")
    run.set_defaults(command=_run)
    verify = commands.add_parser("verify", help="check a release folder against its job")
    verify.add_argument("release", metavar="RELEASE_DIR")
    verify.add_argument("job", metavar="JOB.yaml")
    verify.add_argument(
        "--source", metavar="FILE", help="what was de-identified, for a job that releases a subset of its source"
    )
    verify.set_defaults(command=_verify)
    add_frontier(commands).set_defaults(command=_frontier)
    add_policy(commands).set_defaults(command=_policy)
    add_population(commands).set_defaults(command=_population)
    commands.add_parser("schema", help="print the JSON Schema of the job file").set_defaults(command=_schema)
    commands.add_parser("warm-up", help="compile the kernels ahead of the first run").set_defaults(command=_warm_up)
    demo = commands.add_parser("demo", help="build the demo warehouse and run its nightly DAG once")
    demo.set_defaults(command=_demo)
    # An option prefix that nobody types makes the parser pass on all arguments that follow.
    ledger = commands.add_parser("ledger", help="read and check the release ledger", add_help=False, prefix_chars="\0")
    ledger.add_argument("arguments", nargs=argparse.REMAINDER)
    ledger.set_defaults(command=_ledger)
    return parser


def _run(options: argparse.Namespace) -> int:
    job = load_job(options.job)
    target: str | None = options.output or (None if job.output is None else job.output.path)
    if target is None:
        raise InvalidJob("output: the job names no path; add one, or give --output DIR")
    report = Path(options.report) if options.report else None
    if report is not None:
        _check_report(report, Path(target))
    from engine.pipeline.run import run  # noqa: PLC0415 (schema and refused jobs need no numba)

    # an ended task or pod leaves no incomplete release: the exit runs the code that removes it
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    progress = _Progress(_progress_text) if sys.stderr.isatty() else None
    try:
        with shown_compilation():
            result = run(job, output=target, progress=progress)
    finally:
        if progress is not None:
            progress.end()
    if report is not None:
        report.write_text(json.dumps(result.published, indent=2) + "\n", encoding="utf-8")
    print(_summary(result.published, result.output))
    return 0


def _check_report(report: Path, output: Path) -> None:
    """Refuse a report path that would fail only after the release is made, or would break its manifest."""
    if report.is_dir() or not report.parent.is_dir():
        raise InvalidJob(f"--report {report}: must be a file in a folder that exists")
    if output.resolve() in report.resolve().parents:
        raise InvalidJob(f"--report {report}: is in the release folder, which has a report.json already; name another")


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
    if not all(finding.holds for finding in findings):
        raise VerificationFailed(f"{folder}: does not hold what the job demands", list(findings))
    return 0


def _findings(folder: Path, job: Job) -> list[Finding]:
    from engine.tables.released import open_release  # noqa: PLC0415 (schema and errors need no pyarrow)
    from engine.verification import verify  # noqa: PLC0415

    try:
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        release = open_release(folder)
    except (OSError, ValueError, InvalidData) as problem:
        raise VerificationFailed(
            f"{folder}: data.parquet or report.json is missing or cannot be read ({type(problem).__name__})"
        ) from None
    return verify(release, job, report)


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


def _schema(_: argparse.Namespace) -> int:
    print(json.dumps(job_schema(), indent=2))
    return 0


def _warm_up(_: argparse.Namespace) -> int:
    from engine.kernels.warm_up import cache_warnings, warm_up  # noqa: PLC0415

    with shown_compilation():
        seconds = warm_up()
    print(f"kernels are ready after {seconds:.1f} seconds")
    for warning in cache_warnings():
        print(f"warning: {warning}", file=sys.stderr)
    return 0


def _demo(_: argparse.Namespace) -> int:
    return _airflow_command("demo", ["run"])


def _ledger(options: argparse.Namespace) -> int:
    return _airflow_command("ledger", options.arguments)


def _airflow_command(name: str, arguments: Sequence[str]) -> int:
    """Run a command of `airflow_anon` in a separate process: the engine does not import it."""
    if importlib.util.find_spec("airflow_anon") is None or importlib.util.find_spec("airflow") is None:
        raise InvalidJob(f"{name}: needs Airflow; install airflow-anon[airflow]")
    command = [sys.executable, "-m", f"airflow_anon.{name}", *arguments]
    return subprocess.run(command, check=False).returncode  # noqa: S603 (our own interpreter)


def _summary(report: Mapping[str, Any], output: Path | None) -> str:
    search = report["search"]
    proof = _proof(report)
    below, suppressed = report["suppressed_class"].get("below"), report["suppressed_class"]["records"]
    gone = f"fewer than {below} left out" if below else f"{suppressed} suppressed"
    lines = [
        f"released     {output}",
        f"records      {report['released'] if below else report['rows']}, {gone}",
        *_persons(report),
        _transformation(report),
        f"loss         {_loss(report)} ({proof})",
        *(f"criterion    {model['description']}: observed {model['observed']:g}" for model in _observed(report)),
        f"risk         prosecutor {report['risk']['prosecutor']:.4g}, marketer {report['risk']['marketer']:.4g}",
        *(f"warning      {warning}" for warning in report.get("warnings", ())),
        f"search       at most {search['checked']} checks in a space of {search['space']}, {search['seconds']:.2f} s",
    ]
    return "\n".join(lines)


def _persons(report: Mapping[str, Any]) -> list[str]:
    """Return the persons of a job that counts them, and the rows that were left out, as far as they may be told."""
    if "persons" not in report:
        return []
    share, further = report["persons_suppressed_share"], report.get("further_rows", {"share": 0.0})["share"]
    gone = "" if share is None else f"; of {share:.2%} no record is kept"
    told = "withheld" if report["persons"] is None else report["persons"]
    knows = report.get("knows", "any-row")
    known = f"up to {knows['rows']} rows" if isinstance(knows, dict) else knows.replace("-", " ")
    lines = [f"persons      {told}{gone}; criteria and risk count persons, of whom {known} may be known"]
    return lines if further == 0.0 else [*lines, f"further rows {_share(further)} left out"]


def _share(share: float | None) -> str:
    return "few were" if share is None else f"{share:.2%} of all rows were"


def _proof(report: Mapping[str, Any]) -> str:
    solution = report["solution"]
    if "policy" in report:
        chosen = report.get("choice")
        return "by the policy given" if chosen is None else f"the best of {chosen['policies']} policies on the frontier"
    return "proven optimal" if solution["optimal"] else f"lower bound {_figure(solution['lower_bound'])}"


def _transformation(report: Mapping[str, Any]) -> str:
    """Return the levels; for a policy the number of groups of each column."""
    if "policy" not in report:
        levels = report["solution"]["levels"]
        return f"levels       {', '.join(f'{name} {level}' for name, level in levels.items())}"
    sizes = ", ".join(f"{name} {len(groups)}" for name, groups in report["policy"].items())
    chosen = report.get("choice")
    why = "" if chosen is None else f"; chosen of {chosen['policies']}, risk {chosen['risk']:.4g}"
    return f"policy       groups: {sizes}{why}"


def _loss(report: Mapping[str, Any]) -> str:
    if "solution.information_loss" in report["withheld"]:
        return "withheld"
    value = report["solution"]["information_loss"]
    return "infinite" if value is None else f"{value:.10g}"


def _observed(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [model for model in report["privacy"] if model["observed"] is not None]


def _progress_text(figures: Mapping[str, Any]) -> str:
    if "area" in figures:
        return progress_text(figures)
    loss, bound = figures["information_loss"], figures["lower_bound"]
    gap = figures.get("gap")
    proven = "" if gap is None else f" (gap {gap:.2%})"
    return f"searching: loss {_figure(loss)}, bound {_figure(bound)}{proven}, {figures['open_boxes']} boxes open"


class _Progress:
    """One line on the terminal that is written over."""

    def __init__(self, text: Callable[[Mapping[str, Any]], str]) -> None:
        self._text = text

    def __call__(self, figures: Mapping[str, Any]) -> None:
        print(f"\r\x1b[K{self._text(figures)}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"
