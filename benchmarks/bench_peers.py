"""5-anonymity of adult by other Python packages: what they lose, and how long it takes, beside the engine.

    python benchmarks/bench_peers.py [--seconds SECONDS]

In: `../shared` (tables, hierarchies), the package index. Out: a table in Markdown. Each package is installed in an
environment of its own in a temporary folder and run there by `peers/run_NAME.py`; one that cannot be installed, does
not finish within the seconds (300 by default) or cannot do the task has the reason in its row.

All are given the same hierarchies and the same share of records that may be suppressed. The loss is the engine's
measure on their output: of each released value the leaves that it may stand for, of a suppressed one all. Where the
output is a transformation of the lattice, the engine's own check of it must give the same loss and suppress as many
records. Seconds are CPU seconds of the anonymization alone; those of the engine are of a whole run, from the file to
the verified table, less the loading of its kernels.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
from shared_tables import DATA, MODELS, Tables, job_of, missing

from engine import run
from engine.kernels.warm_up import warm_up
from engine.search.check import Checker
from engine.utility.information_loss import leading

TABLE = "adult"
PEERS = Path(__file__).resolve().parent / "peers"
ALL = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class")
FEW = ALL[:3]
K = 5
INSTALLATION_SECONDS = 600


class Task(NamedTuple):
    """What a package is asked for, and what is to be said about how it does it."""

    package: str
    quasi_identifiers: Sequence[str]
    limit: float
    note: str = ""


TASKS = (
    Task("anjana", ALL, 0.05),
    Task("anonypyx", ALL, 0.05, "local recoding without hierarchies: another, larger space of outputs"),
    Task("openmed", ALL, 0.05),
    Task("openmed", FEW, 0.0),
    Task("openmed", FEW, 0.05),
)


class CannotDoItError(Exception):
    """A package cannot be installed or does not solve its task; the text is the reason."""


class Ours(NamedTuple):
    """What the engine releases for a task, and its CPU seconds."""

    loss: float
    seconds: float
    table: pa.Table


class Quality(NamedTuple):
    """Of an output: the size of its smallest class, the records it lacks, its loss."""

    k: int
    suppressed: int
    loss: float


def ours(quasi_identifiers: Sequence[str], limit: float) -> Ours:
    """Solve a task with the engine."""
    before = time.process_time()
    result = run(job_of(TABLE, [MODELS["k"]], quasi_identifiers, **settings(limit)))
    seconds = time.process_time() - before
    solution = result.report["solution"]
    assert solution["optimal"]
    return Ours(solution["information_loss"], seconds, result.table)


def settings(limit: float) -> dict[str, Any]:
    return {"suppression_limit": limit, "utility": {"measure": "loss"}}


def installed(package: str, folder: Path) -> tuple[Path, str]:
    """Install a package in an environment of its own; return its interpreter and the version."""
    home = folder / package
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    answer = _called([*pip, "install", "--quiet", package], INSTALLATION_SECONDS)
    if answer.returncode:
        raise CannotDoItError(f"cannot be installed: {_last_line(answer.stderr)}")
    shown = _called([*pip, "show", package], INSTALLATION_SECONDS).stdout
    return python, next(line.split()[1] for line in shown.splitlines() if line.startswith("Version:"))


def solved(python: Path, package: str, given: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Let a package solve a task; return the figures it reports."""
    answer = _called([str(python), str(PEERS / f"run_{package}.py")], seconds, json.dumps(given))
    if answer.returncode:
        raise CannotDoItError(_last_line(answer.stderr))
    figures: dict[str, Any] = json.loads(_last_line(answer.stdout))
    return figures


def _called(command: list[str], seconds: float, text: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise CannotDoItError(f"stopped after {seconds:.0f} s") from None


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1].replace("|", "/")


def quality(path: Path, quasi_identifiers: Sequence[str], limit: float) -> Quality:
    """Measure an output: labels of the hierarchies, or lists of leaves with the records of a class."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    problem = Tables(TABLE, [MODELS["k"]], quasi_identifiers).problem(**settings(limit))
    classes: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        classes[tuple(row[name] for name in quasi_identifiers)] += int(row.get("records", 1))
    suppressed = problem.table.records - sum(classes.values())
    is_local = "records" in rows[0]
    total, levels = 0.0, []
    for a, name in enumerate(quasi_identifiers):
        hierarchy = hierarchy_of(name)
        size = len(hierarchy)
        if is_local:
            below = {labels[a]: len(json.loads(labels[a])) for labels in classes}
        else:
            used = {labels[a] for labels in classes}
            level = next(level for level in range(len(hierarchy[0])) if used <= {line[level] for line in hierarchy})
            levels.append(level)
            below = dict(Counter(line[level] for line in hierarchy))
        covered = sum(records * below[labels[a]] for labels, records in classes.items()) + suppressed * size
        total += (covered / problem.table.records - 1) / (size - 1)
    loss = total / len(quasi_identifiers)
    if not is_local:
        check = Checker(problem).check(tuple(levels))
        assert check.loss is not None
        assert math.isclose(leading(check.loss), loss, rel_tol=1e-9)
        assert check.suppressed == suppressed
    return Quality(min(classes.values()), suppressed, loss)


def hierarchy_of(attribute: str) -> list[list[str]]:
    """Return the rows of a hierarchy."""
    with (DATA / TABLE / "hierarchies" / f"{attribute}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=";"))


def row_of(task: Task, python: Path, own: Ours, folder: Path, seconds: float) -> str:
    """Return the cells of a task from the size of the smallest class on."""
    output = folder / "output.csv"
    given = {
        "table": str(DATA / TABLE / f"{TABLE}.csv"),
        "hierarchies": str(DATA / TABLE / "hierarchies"),
        "quasi_identifiers": list(task.quasi_identifiers),
        "k": K,
        "limit": task.limit,
        "output": str(output),
    }
    try:
        figures = solved(python, task.package, given, seconds)
    except CannotDoItError as reason:
        return f" | | | | {own.loss:.4f} | {own.seconds:.2f} | {reason}"
    found = quality(output, task.quasi_identifiers, task.limit)
    assert found.k >= K
    assert found.suppressed <= task.limit * own.table.num_rows
    measured = f"{found.k} | {found.suppressed:,} | {found.loss:.4f} | {figures['cpu']:.2f}"
    return f"{measured} | {own.loss:.4f} | {own.seconds:.2f} | {task.note}"


def measured_by_pycanon(python: Path, own: Ours, folder: Path, seconds: float) -> str:
    """Return the cells of what pyCANON finds in a release of the engine."""
    path = folder / "release.csv"
    kept = own.table.filter(pa.compute.not_equal(own.table[ALL[0]], "*"))
    pa.csv.write_csv(kept, path, pa.csv.WriteOptions(delimiter=";", quoting_style="needed"))
    figures = solved(python, "pycanon", {"table": str(path), "quasi_identifiers": list(ALL)}, seconds)
    assert figures["k"] >= K
    return f"{figures['k']} | | | {figures['cpu']:.2f} | | | measures only: here what the engine released"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Print the table.")
    parser.add_argument("--seconds", type=float, default=300.0, help="seconds after which a package is stopped")
    seconds = parser.parse_args().seconds
    if missing():
        print(missing())
        return 0
    warm_up()
    print("| package | version | QI | limit | smallest class | suppressed | loss | CPU, s ", end="")
    print("| engine: loss | CPU, s | |")
    print("| --- | --- |" + " ---: |" * 8 + " --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environments: dict[str, tuple[Path, str]] = {}
        for task in (*TASKS, Task("pycanon", ALL, 0.05)):
            about = f"{len(task.quasi_identifiers)} | {task.limit:.0%}"
            try:
                if task.package not in environments:
                    environments[task.package] = installed(task.package, folder)
                python, version = environments[task.package]
                own = ours(task.quasi_identifiers, task.limit)
                if task.package == "pycanon":
                    cells = measured_by_pycanon(python, own, folder, seconds)
                else:
                    cells = row_of(task, python, own, folder, seconds)
            except CannotDoItError as reason:
                version, cells = "", f" | | | | | | {reason}"
            print(f"| {task.package} | {version} | {about} | {cells} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
