"""What a check of one transformation costs, what roll-up saves, what a search remembers, and where a run's time goes.

    python benchmarks/bench_checks.py

In: `../shared` (tables, hierarchies). Out: six tables in Markdown, all for 5-anonymity with a limit of 5% and the loss.
A check makes the partition of a transformation, judges its classes and computes the loss. Transformations are drawn
from the whole lattice, with a seed. A check by roll-up must find what a check of all rows finds, and a run be optimal.
Times are CPU times of one thread, but for those of whole runs.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from bench_lattices import ACS, acs_attributes
from shared_tables import MODELS, Tables, header, job_of, missing

from engine import run
from engine.kernels.warm_up import warm_up
from engine.lattice.space import Levels, replaced
from engine.search.algorithms.optimal import optimal
from engine.search.check import Check, Checker
from engine.search.nodes.roll_up import RollUpChecker
from engine.search.problem import Problem

SETTINGS = {"suppression_limit": 0.05, "utility": {"measure": "loss"}}
TABLES = ("adult", "cup", "fars", "atus_synthetic", "ihis_synthetic")
ROWS = (1_000, 10_000, 100_000, 1_000_000)
ATTRIBUTES = (5, 10, 15, 20, 25, 30)
DRAWN = 40
WALKS = 5
MIB = 1 << 20


def sampled(tables: Tables, rows: int, random: np.random.Generator) -> Problem:
    """Return the problem of so many of a table's distinct tuples, all of them where it has fewer."""
    whole = tables.table
    if rows < whole.counts.size:
        kept = np.sort(random.choice(whole.counts.size, rows, replace=False))
        codes = np.ascontiguousarray(whole.codes[:, kept])
        tables.table = replace(whole, codes=codes, counts=whole.counts[kept], first=whole.first[kept])
    problem = tables.problem(**SETTINGS)
    tables.table = whole
    return problem


def drawn(problem: Problem, number: int, random: np.random.Generator) -> list[Levels]:
    """Draw transformations."""
    return [tuple(int(random.integers(top + 1)) for top in problem.lattice.high) for _ in range(number)]


def costs(problem: Problem, number: int, random: np.random.Generator) -> list[tuple[int, float]]:
    """Return classes and milliseconds of drawn transformations, each the faster of two checks."""
    checker = Checker(problem)
    found = []
    for levels in drawn(problem, number, random):
        runs = []
        for _ in range(2):
            started = time.process_time()
            checker.check(levels)
            runs.append(1000 * (time.process_time() - started))
        found.append((problem.table.partition(levels).size, min(runs)))
    return found


def print_by_rows(counted: dict[str, Tables]) -> None:
    print(f"Medians of {DRAWN} transformations, by distinct tuples.\n")
    print("| table | attributes | rows | classes | ms per check | ns per row |")
    print("| --- |" + " ---: |" * 5)
    for name in ("adult", "atus_synthetic", "ihis_synthetic"):
        most = counted[name].table.counts.size
        for rows in (*(rows for rows in ROWS if rows < most), most):
            random = np.random.default_rng(1)
            found = costs(sampled(counted[name], rows, random), DRAWN, random)
            classes, spent = (statistics.median(figures) for figures in zip(*found, strict=True))
            about = f"{rows:,} | {classes:,.0f} | {spent:.3f} | {1e6 * spent / rows:.1f}"
            print(f"| {name} | {len(counted[name].table.attributes)} | {about} |", flush=True)


def print_by_attributes() -> None:
    print(f"\nMedians of {DRAWN} transformations of {ACS}, by quasi-identifiers.\n")
    print("| attributes | rows | classes | ms per check | ns per row | ns per row and attribute |")
    print("|" + " ---: |" * 6)
    for number in ATTRIBUTES:
        random = np.random.default_rng(2)
        problem = Tables(ACS, [MODELS["k"]], acs_attributes(number)).problem(**SETTINGS)
        found = costs(problem, DRAWN, random)
        classes, spent = (statistics.median(figures) for figures in zip(*found, strict=True))
        rows = problem.table.counts.size
        nanoseconds = 1e6 * spent / rows
        figures = f"{rows:,} | {classes:,.0f} | {spent:.2f} | {nanoseconds:.1f} | {nanoseconds / number:.1f}"
        print(f"| {number} | {figures} |", flush=True)


def print_by_classes(tables: Tables) -> None:
    problem = tables.problem(**SETTINGS)
    by_size: dict[int, list[float]] = defaultdict(list)
    for classes, spent in costs(problem, 5 * DRAWN, np.random.default_rng(3)):
        by_size[len(str(classes))].append(spent)
    rows = problem.table.counts.size
    print(f"\n{5 * DRAWN} transformations of atus_synthetic with {rows:,} rows, by their classes.\n")
    print("| classes | transformations | median ms per check | ns per row |")
    print("| ---: | ---: | ---: | ---: |")
    for digits, spent in sorted(by_size.items()):
        median = statistics.median(spent)
        span = f"{10 ** (digits - 1):,} to {10**digits - 1:,}"
        print(f"| {span} | {len(spent)} | {median:.2f} | {1e6 * median / rows:.1f} |")


def upwards(problem: Problem, random: np.random.Generator) -> Iterator[Levels]:
    """Yield the transformations of random ways from the lowest to the highest, one level a step."""
    for _ in range(WALKS):
        levels = problem.lattice.low
        yield levels
        while levels != problem.lattice.high:
            free = [a for a, level in enumerate(levels) if level < problem.lattice.high[a]]
            a = int(random.choice(free))
            levels = replaced(levels, a, levels[a] + 1)
            yield levels


def checked(checker: Checker, sequence: list[Levels]) -> tuple[list[Check], float]:
    """Check one transformation after another; return what was found and the seconds."""
    started = time.process_time()
    found = [checker.check(levels) for levels in sequence]
    return found, time.process_time() - started


def print_roll_up(counted: dict[str, Tables]) -> None:
    print(f"\nChecks along {WALKS} ways from the lowest transformation to the highest: all rows against roll-up.\n")
    print("| table | checks | all rows, s | roll-up, s | ratio | rows grouped | snapshots, MiB |")
    print("| --- |" + " ---: |" * 6)
    for name, tables in counted.items():
        problem = tables.problem(**SETTINGS)
        sequence = list(upwards(problem, np.random.default_rng(4)))
        plain, seconds = checked(Checker(problem), sequence)
        checker = RollUpChecker(problem)
        rolled, after = checked(checker, sequence)
        for one, other in zip(plain, rolled, strict=True):
            assert one.loss == other.loss
            assert (one.rows == other.rows).all()
        share = checker.snapshots.rows_read / (len(sequence) * problem.table.counts.size)
        memory = checker.snapshots.bytes / MIB
        spent = f"{seconds:.2f} | {after:.2f} | {seconds / after:.1f}"
        print(f"| {name} | {len(sequence)} | {spent} | {share:.0%} | {memory:.0f} |", flush=True)


def print_memory(counted: dict[str, Tables]) -> None:
    print("\nMemory that `optimal` takes at most, beside the frequency table (traced, arrays included).\n")
    print("| table | attributes | rows | frequency table, MiB | search, MiB | of the table |")
    print("| --- |" + " ---: |" * 5)
    for name, tables in (*counted.items(), (ACS, Tables(ACS, [MODELS["k"]], acs_attributes(11)))):
        problem = tables.problem(**SETTINGS)
        table = problem.table
        own = (table.codes.nbytes + table.counts.nbytes + table.first.nbytes) / MIB
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        found = optimal(problem)
        peak = (tracemalloc.get_traced_memory()[1] - before) / MIB
        tracemalloc.stop()
        assert found is not None
        assert found.optimal
        figures = f"{table.counts.size:,} | {own:.1f} | {peak:.1f} | {peak / own:.1f} times"
        print(f"| {name} | {len(table.attributes)} | {figures} |", flush=True)


def print_runs() -> None:
    print("\nSeconds of a whole run into a release folder, by step.\n")
    print("| table | records | encode | search | report | transform | verify | other | all |")
    print("| --- |" + " ---: |" * 8)
    for name in ("adult", "ihis_synthetic"):
        job = job_of(name, [MODELS["k"]], header(name), **SETTINGS)
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            result = run(job, output=Path(folder) / "release")
            seconds = time.perf_counter() - started
        assert result.report["solution"]["optimal"]
        assert all(finding.holds for finding in result.findings)
        timings = dict(result.report["timings"])
        steps = [timings[step] for step in ("encode", "search", "report", "transform", "verify")]
        cells = " | ".join(f"{spent:.2f} ({spent / seconds:.0%})" for spent in (*steps, seconds - sum(steps)))
        print(f"| {name} | {result.report['rows']:,} | {cells} | {seconds:.2f} |", flush=True)


def main() -> int:
    """Print the tables."""
    if missing():
        print(missing())
        return 0
    warm_up()
    counted = {name: Tables(name, [MODELS["k"]], header(name)) for name in TABLES}
    print_by_rows(counted)
    print_by_attributes()
    print_by_classes(counted["atus_synthetic"])
    print_roll_up(counted)
    print_memory(counted)
    print_runs()
    return 0


if __name__ == "__main__":
    sys.exit(main())
