"""The search of `optimal` and of ARX (Java) on the same problems, one after the other, on the same machine.

    python benchmarks/bench_reference.py --classpath PATH [--seconds SECONDS] [--only TEXT]

In: `../shared` (tables, hierarchies), and the class path of a built ARX, 3.9.2 or newer, with the libraries beside it;
a JDK. Out: a table in Markdown, a line per problem, and the median ratios.

Both search a table that has been read and encoded: of ARX the seconds are those that it tells of its search, of the
engine those of `optimal`. Each is the fastest of several runs in one process, so that neither pays for compiling; ARX's
first run, which does pay, stands beside them. Seconds are by the clock. A problem that ARX does not solve within
SECONDS (600) is left out, and named. Both must find the same loss: the engine evaluates the levels that ARX chose, and
must suppress as many records there.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.csv
import pyarrow.parquet
from bench_lattices import ROWS, attributes_of
from shared_tables import DATA, MODELS, ORDERED_AS, SENSITIVE, Tables, header, missing, quasi_identifiers_of, source_of

from engine.kernels.warm_up import warm_up
from engine.search.algorithms.optimal import optimal
from engine.search.check import Checker
from engine.search.problem import Problem
from engine.utility.information_loss import leading

RUNS = 4
"""Runs of ARX, if they take less than 20 seconds together; of the engine as many, and more of short searches."""
LONGEST = 11
"""Quasi-identifiers of the largest problem: ARX takes hours for the next one."""
TABLES = ("adult", "fars", "cup")
COMBINATIONS = ("k", "l", "t", "kl", "kt")
MEASURES = ("loss", "non-uniform-entropy", "precision", "discernibility", "average-class-size")
LIMITS = (0.0, 0.05, 1.0)
RUNNER = Path(__file__).resolve().parent / "peers" / "RunReference.java"


class Task(NamedTuple):
    """A problem."""

    table: str
    columns: Sequence[str]
    letters: str
    measure: str = "loss"
    limit: float = 0.05

    @property
    def models(self) -> list[Mapping[str, Any]]:
        """The models; ARX counts a missing sensitive value as one more value."""
        found = [MODELS[letter] for letter in self.letters]
        return [{**model, **({"missing": "value"} if model["model"] == "l-diversity" else {})} for model in found]

    def __str__(self) -> str:
        """Name the problem as a line of the table does."""
        return f"{self.table} | {len(self.columns)} | {self.letters} | {self.measure} | {self.limit:.0%}"


class Theirs(NamedTuple):
    """What ARX told of a problem."""

    first: float
    seconds: float
    checked: int
    suppressed: int
    levels: tuple[int, ...]


def tasks() -> Iterator[Task]:
    """Yield the problems: of `bench_lattices`, then all models, then all measures and limits."""
    for row in ROWS:
        if row.attributes <= LONGEST:
            yield Task(row.table, attributes_of(row.table, row.attributes), "k")
    for table in TABLES:
        columns = quasi_identifiers_of(table)
        yield from (Task(table, columns, letters, limit=limit) for letters in COMBINATIONS[1:] for limit in LIMITS[:2])
        yield from (
            Task(table, columns, "k", measure, limit)
            for measure in MEASURES
            for limit in LIMITS
            if (measure, limit) != ("loss", 0.05)
        )


def theirs(task: Task, classpath: str, folder: Path, seconds: float) -> Theirs | None:
    """Let ARX solve a problem; None if it does not within the seconds."""
    source = source_of(task.table)
    if source.suffix == ".parquet":
        table, source = pyarrow.parquet.read_table(source), folder / f"{task.table}.csv"
        if not source.exists():
            pyarrow.csv.write_csv(table, source, pyarrow.csv.WriteOptions(delimiter=";", quoting_style="none"))
    lines = {
        "table": source,
        "header": ";".join(header(task.table)),
        "hierarchies": DATA / task.table / "hierarchies",
        "quasi": ";".join(task.columns),
        "limit": task.limit,
        "measure": task.measure,
    }
    for number, model in enumerate(task.models):
        name = model.get("variant") or model.get("distance") or model["model"]
        figures = "\t".join(str(model[key]) for key in ("k", "c", "l", "t") if key in model)
        lines[f"model {number}"] = f"{name}\t{figures}"
        if model["model"] != "k-anonymity":
            lines["sensitive"] = f"{SENSITIVE[task.table]}\t{ORDERED_AS[task.table]}"
    document = folder / "task.tsv"
    document.write_text("".join(f"{key}\t{value}\n" for key, value in lines.items()), encoding="utf-8")
    command = ["java", "-Xmx8g", "-cp", f"{folder}:{classpath}", RUNNER.stem, str(document), str(RUNS)]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds)  # noqa: S603 (ours)
    except subprocess.TimeoutExpired:
        return None
    runs = [line.split("\t") for line in done.stdout.splitlines()]
    searched = [float(run[0]) for run in runs]
    _, checked, suppressed, levels = runs[-1]
    return Theirs(searched[0], min(searched), int(checked), int(suppressed), tuple(map(int, levels.split())))


def ours(problem: Problem, threads: int) -> float:
    """Return the seconds of the fastest search."""
    problem = replace(problem, threads=threads)
    spent: list[float] = []
    while len(spent) < RUNS or (sum(spent) < 1 and len(spent) < 20):
        started = time.perf_counter()
        found = optimal(problem)
        spent.append(time.perf_counter() - started)
        assert found is not None
        assert found.optimal
    return min(spent)


def assert_same(problem: Problem, told: Theirs, columns: Sequence[str]) -> None:
    """Compare the solutions."""
    found = optimal(problem)
    assert found is not None
    by_name = dict(zip(columns, told.levels, strict=True))
    levels = tuple(by_name[name] for name in problem.table.attributes)
    check = Checker(problem).check(levels)
    assert check.loss is not None, "ARX names a transformation that is no solution"
    least, other = leading(found.loss), leading(check.loss)
    assert abs(least - other) <= 1e-9 * abs(least), (found.levels, least, levels, other)
    assert check.suppressed == told.suppressed, (check.suppressed, told.suppressed)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Print the table.")
    parser.add_argument("--classpath", required=True, help="of ARX and its libraries")
    parser.add_argument("--seconds", type=float, default=600.0, help="after which ARX is stopped")
    parser.add_argument("--only", default="", help="problems whose line has this text")
    arguments = parser.parse_args()
    if missing():
        print(missing())
        return 0
    warm_up()
    searches = "ARX checked | first run, s | ARX, s | 1 thread, s | 2 threads, s | ratio | 2 threads"
    print(f"| table | QI | models | measure | limit | space | {searches} |")
    print("| --- | ---: | --- | --- | ---: |" + " ---: |" * 8)
    ratios: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        built = ["javac", "-d", folder, "-cp", arguments.classpath, str(RUNNER)]
        subprocess.run(built, check=True)  # noqa: S603 (ours)
        for task in tasks():
            if arguments.only not in str(task):
                continue
            told = theirs(task, arguments.classpath, Path(folder), arguments.seconds)
            if told is None:
                print(f"{task}: left out, ARX took more than {arguments.seconds:.0f} s", file=sys.stderr)
                continue
            problem = Tables(task.table, task.models, task.columns).problem(
                utility={"measure": task.measure}, suppression_limit=task.limit
            )
            assert_same(problem, told, task.columns)
            one, two = ours(problem, 1), ours(problem, 2)
            ratios.append((told.seconds / one, told.seconds / two))
            print(
                f"| {task} | {problem.lattice.size:,} | {told.checked:,} | {told.first:.3f} | {told.seconds:.3f} "
                f"| {one:.4f} | {two:.4f} | {ratios[-1][0]:.0f} | {ratios[-1][1]:.0f} |",
                flush=True,
            )
    one_thread, two_threads = (statistics.median(ratio) for ratio in zip(*ratios, strict=True))
    print(f"\n{len(ratios)} problems; the median of ARX's seconds is {one_thread:.0f} times those of one thread, ")
    print(f"{two_threads:.0f} times those of two.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
