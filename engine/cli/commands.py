"""The command line `airflow-anon`, one function per command.

Exit status: 0 done; 1 something else failed, such as a full disk; 2 the job, a hierarchy or the data is invalid; 3 no
transformation satisfies the criteria, or the table is not like the last one; 4 the verification failed; 141 who read
the output has gone. On 2, 3 and 4 no release exists.
"""

from __future__ import annotations

import argparse
import errno
import importlib.util
import json
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from engine import __version__
from engine.cli.compilation import shown_compilation
from engine.cli.draft import add_init, init_arguments, run_init
from engine.cli.drift import add_drift, run_drift
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
from engine.cli.number_of_records import number_of_records
from engine.cli.place import add_place, run_place
from engine.cli.progress_line import progress_line
from engine.cli.run import add_run, run_job
from engine.cli.vault import add_vault, airflow_arguments, run_vault
from engine.cli.verify import add_verify, run_verify
from engine.closed_output import until_reader_leaves
from engine.errors import EngineError, InvalidJob, unreadable
from engine.job.json_schema import job_schema
from engine.job.load import load_job

_FULL = (
    "; no release was made or replaced: make room beside the output, where a release is written first, and in the "
    "folder of temporary files (TMPDIR)"
)

_TOO_LARGE = (
    "; no release was made or replaced: a file that the run writes is larger than its account, or the file system, "
    "allows; raise that limit (ulimit -f), or write to another file system"
)
_OUTSIDE_OF_THE_FOLDER = """
import runpy, sys
root, module = sys.argv[1:3]
del sys.argv[1:3]
sys.path[:1] = [] if sys.path[:1] == [""] else sys.path[:1]
if root not in sys.path:
    sys.path.insert(0, root)
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""As `python -m`, but without the folder that the user is in: a folder `engine` there would hide ours."""
_OF_AIRFLOW = {
    "recall": ("take a published release back: readers lose it", ("commands", "recall")),
    "give-up": ("record that a share is gone for good, so that nothing waits for it", ("commands", "give-up")),
    "settle": ("end a publication that was cut off, and that no run ends", ("commands", "settle")),
    "ledger": ("read and check the release ledger", ("ledger",)),
}
"""Commands that only `airflow_anon` has, and the module of it with their options."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    return until_reader_leaves(lambda: _main(arguments))


def _main(arguments: Sequence[str] | None) -> int:
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
    except BrokenPipeError:
        raise
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
    check.add_argument("--sample", metavar="N", type=number_of_records, help="read only the first N records")
    check.add_argument(
        "--show-values", action="store_true", help="show values that no hierarchy knows; keep this output to yourself"
    )
    check.set_defaults(command=_check)
    add_run(commands).set_defaults(command=run_job)
    add_verify(commands).set_defaults(command=run_verify)
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


def _frontier(options: argparse.Namespace) -> int:
    job = frontier_job(options)
    with progress_line(progress_text) as progress, shown_compilation():
        summary = run_frontier(job, options, progress)
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
    root = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-c", _OUTSIDE_OF_THE_FOLDER, root, f"airflow_anon.{name}", *arguments]
    return subprocess.run(command, check=False).returncode  # noqa: S603 (our own interpreter)
