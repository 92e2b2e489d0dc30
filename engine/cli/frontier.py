"""The commands `frontier`, `policy` and `population` of the command line: their options, checks, files and output.

In: parsed arguments. Out: files, and the text that the command line prints.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.target import refuse_no_file, refuse_replacing
from engine.errors import InvalidJob
from engine.frontiers.document import policy_number
from engine.frontiers.published import policies_text, records_text
from engine.job.frontier_settings import FrontierSettings
from engine.job.job import Job
from engine.job.load import load_job
from engine.job.policy_file import policy_text
from engine.spec import parse

if TYPE_CHECKING:
    from engine.frontiers.document import FrontierReport
    from engine.frontiers.run import Frontier
    from engine.search.problem import Progress

_FILES = ("report", "chart", "picture")


def add_frontier(commands: Any) -> argparse.ArgumentParser:
    """Add the command `frontier`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "frontier", help="find the policies of least risk at each utility loss"
    )
    parser.add_argument("job", metavar="JOB.yaml")
    parser.add_argument("--policies", metavar="N", type=int, help="policies to look at, instead of the job's number")
    parser.add_argument("--report", metavar="FILE", help="write the report here, as JSON")
    parser.add_argument("--chart", metavar="FILE.html", help="write an interactive chart here: one file, no network")
    parser.add_argument("--picture", metavar="FILE.svg", help="write a static picture here")
    parser.add_argument(
        "--policy-dir", metavar="DIR", help="write the policies of the short list here, a file per policy"
    )
    return parser


def add_population(commands: Any) -> argparse.ArgumentParser:
    """Add the command `population`."""
    parser: argparse.ArgumentParser = commands.add_parser("population", help="write a simulated population table")
    parser.add_argument("--shape", default="urban", help="urban, rural, ...: how people are spread over the area")
    parser.add_argument("--persons", metavar="N", type=int, default=100_000)
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="the same seed writes the same file")
    parser.add_argument("output", metavar="OUT.csv")
    return parser


def add_policy(commands: Any) -> argparse.ArgumentParser:
    """Add the command `policy`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "policy", help="print a policy of a frontier's report as a policy file"
    )
    parser.add_argument("report", metavar="REPORT.json", help="frontier.json, or what frontier --report wrote")
    parser.add_argument("number", metavar="NUMBER", type=int, help="its number in chart, short list and pages, from 1")
    return parser


def frontier_job(options: argparse.Namespace) -> Job:
    """Read the job, and refuse options that would fail only after the search."""
    job = load_job(options.job)
    targets: list[Path] = []
    for name in _FILES:
        if getattr(options, name) is not None:
            target = Path(getattr(options, name))
            refuse_no_file(f"--{name}", target)
            refuse_replacing(f"--{name}", target, options.job, job, targets)
            targets.append(target)
    if options.policy_dir is not None and Path(options.policy_dir).exists() and not Path(options.policy_dir).is_dir():
        raise InvalidJob(f"--policy-dir {options.policy_dir}: is a file; name a folder")
    if options.chart is not None and importlib.util.find_spec("plotly") is None:
        raise InvalidJob("--chart: needs plotly; install it, or write a --picture")
    if options.policies is None:
        return job
    settings = job.frontier or FrontierSettings()
    changed = parse(FrontierSettings, {**settings.model_dump(), "policies": options.policies}, "--policies")
    return job.model_copy(update={"frontier": changed})


def run_frontier(job: Job, options: argparse.Namespace, progress: Progress | None) -> str:
    """Search, write the files that were asked for, and return the summary."""
    from engine.frontiers.run import frontier  # noqa: PLC0415 (refused jobs need no numba)

    found = frontier(job, progress=progress)
    report = found.published
    _write(found, report, options)
    return _summary(report)


def policy_of_report(options: argparse.Namespace) -> str:
    """Return the text of the policy file of one policy of a report.

    Raises
    ------
    InvalidJob
        The file is no report of a frontier, or has no policy of that number.
    """
    from engine.frontiers.space.stored import read_policies  # noqa: PLC0415 (other commands need no numpy)

    name, policies = read_policies(options.report, f"report {options.report}:")
    if not 1 <= options.number <= len(policies):
        raise InvalidJob(f"NUMBER {options.number}: the frontier has the policies 1 to {len(policies)}")
    return policy_text(name, policies[options.number - 1])


def run_population(options: argparse.Namespace) -> str:
    """Write a simulated population and return the summary."""
    from engine.frontiers.simulated_population import write_population  # noqa: PLC0415

    target = Path(options.output)
    refuse_no_file("OUT.csv", target)
    write_population(target, options.shape, options.persons, options.seed)
    return f"population   {target}: simulated, {options.shape}, {_persons(options.persons)}, seed {options.seed}"


def _persons(number: int) -> str:
    return "1 person" if number == 1 else f"{number} persons"


def progress_text(figures: Mapping[str, Any]) -> str:
    """Describe the progress of a search in one line."""
    return (
        f"searching: {policies_text(figures['policies'])}, {figures['frontier']} on the frontier, "
        f"area {figures['area']:.4f}"
    )


def _write(found: Frontier, report: FrontierReport, options: argparse.Namespace) -> None:
    if options.report is not None:
        Path(options.report).write_text(
            json.dumps(report, allow_nan=False, separators=(",", ":")) + "\n", encoding="utf-8"
        )
    if options.chart is not None:
        from engine.frontiers.page.chart import html  # noqa: PLC0415 (loads plotly)

        Path(options.chart).write_text(html(report), encoding="utf-8", newline="")
    if options.picture is not None:
        from engine.frontiers.page.chart import picture  # noqa: PLC0415

        Path(options.picture).write_text(picture(report), encoding="utf-8", newline="")
    if options.policy_dir is not None:
        found.write_policies(options.policy_dir)


def _summary(report: Mapping[str, Any]) -> str:
    population = report["population_rows"]
    people = "the table itself" if population is None else _persons(population)
    lines = [
        f"searched in  {records_text(report)}; population: {people}",
        f"lattice      2^{report['lattice_bits']} bit strings",
        f"searched     {policies_text(report['visited'])} in {report['seconds']:.2f} s",
        f"frontier     {policies_text(len(report['frontier']))}, area {report['area']:.4f}",
        *(f"{name:12} {_figures(report[key])}" for name, key in _BESIDE if report[key] is not None),
        *(f"policy {policy_number(item):<5} {_figures(item)}: {item['why']}" for item in report["shortlist"]),
    ]
    return "\n".join(lines)


_BESIDE = (("Safe Harbor", "safe_harbor"), ("in use", "current"))


def _figures(entry: Mapping[str, Any]) -> str:
    return f"risk {entry['risk']:.4g}, utility loss {entry['utility_loss']:.4g}"
