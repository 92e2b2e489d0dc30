"""Checks, seconds and losses of all search algorithms on the same problems: 5-anonymity, a limit of 5%, the loss.

    python benchmarks/bench_algorithms.py [--full] [--limit SECONDS]

In: `../shared` (tables, hierarchies). Out: three tables in Markdown. Seconds are the search alone, on a table that has
been counted, and CPU seconds (one thread), so that other programs matter less. A search that reaches its time limit,
by the clock, is stopped and says so. `--full` raises the limits and adds rows. After Prasser,
Kohlmayer, Kuhn, Efficient and effective pruning strategies for health data de-identification. BMC Med Inform Decis Mak
16:49, 2016:

1. Every algorithm on five tables with all columns as quasi-identifiers, and the transformations that Flash checked in
   Table 2. An algorithm that is exact for the problem must find what `optimal` finds, any other must not lose less.
2. Best-first search with and without prediction, by number of quasi-identifiers (Tables 3 and 4).
3. Best-first search and `optimal`, stopped after the time that IGreedy takes, against IGreedy (Table 5). The paper has
   45 experiments with subsets of the attributes and does not list them; here as many are made of the first attributes
   of each table, from 3 of them (ss13acs_synthetic: 4) upwards. The paper does not define its improvement; here it is
   the difference of the losses, which lie between 0 and 1, in percent points. The time is the clock's.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import replace
from typing import NamedTuple

from bench_lattices import ACS, acs_attributes
from shared_tables import MODELS, Tables, header, missing

from engine.kernels.warm_up import warm_up
from engine.search.problem import Method, Problem, Solution
from engine.search.registry import ALGORITHMS
from engine.utility.information_loss import leading

parser = argparse.ArgumentParser(description="Print the tables.")
parser.add_argument("--full", action="store_true", help="add the long rows")
parser.add_argument("--limit", type=float, help="seconds after which a search is stopped")
arguments = parser.parse_args()
FULL = arguments.full
LIMIT = arguments.limit or (600.0 if FULL else 6.0)
"""Seconds of a search of the first table."""
BEST_FIRST_LIMIT = 1800.0 if FULL else 60.0

TABLES = {"adult": 1180, "cup": 1524, "fars": 1342, "atus_synthetic": 1022, "ihis_synthetic": 1574}
"""The transformations that Flash checked in Table 2 of the paper."""
BEST_FIRST = {
    9: (4.47, 4.13, 116_640, 3_872),
    10: (24.02, 21.69, None, None),
    11: (70.19, 61.24, 1_399_680, 32_507),
    12: (215.55, 185.51, None, None),
    13: (1032.0, 858.0, 12_597_120, 265_762),
}
"""Attributes of ss13acs: seconds without and with prediction, transformations, those checked with prediction."""
SMALLEST, ACS_SMALLEST, ACS_LARGEST = 3, 4, 15
IMPROVEMENT = {
    "adult": (0, 7.69, 1.92),
    "cup": (0.04, 2.38, 1.42),
    "fars": (0, 6.70, 1.36),
    "atus_synthetic": (0.79, 5.46, 1.99),
    "ihis_synthetic": (0, 12.44, 4.58),
    ACS: (0, 6.04, 1.74),
}
"""Percent in Table 5 of the paper: minimum, maximum, average."""


def problem_of(name: str, attributes: list[str]) -> Problem:
    """Return the problem of these quasi-identifiers of a table."""
    tables = Tables(name, [MODELS["k"]], attributes)
    return tables.problem(suppression_limit=0.05, utility={"measure": "loss"})


class Run(NamedTuple):
    """What a search found, its CPU seconds, and whether the time was over before its end."""

    found: Solution | None
    cpu: float
    stopped: bool


def timed(method: Method, problem: Problem, limit: float) -> Run:
    """Search for so many seconds at most, by the clock."""
    started, before = time.perf_counter(), time.process_time()
    found = method.run(replace(problem, time_limit=limit))
    return Run(found, time.process_time() - before, time.perf_counter() - started > limit)


def assert_right(method: Method, problem: Problem, found: Solution | None, best: Solution) -> None:
    """Compare a result with the optimum: an exact one is the same, no other is better."""
    if found is None:
        return
    assert leading(found.loss) >= leading(best.loss) * (1 - 1e-11)
    assert found.suppressed <= problem.limit
    if found.optimal:
        assert method.is_exact(problem)
        assert found.levels == best.levels
        assert (found.suppressed_tuples == best.suppressed_tuples).all()


def print_algorithms() -> None:
    """Print the table of all algorithms."""
    print("| table | algorithm | | checked | seconds | loss / optimum | paper: Flash checked |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for name, paper in TABLES.items():
        problem = problem_of(name, header(name))
        best: Solution | None = None
        for algorithm, method in METHODS.items():
            found, seconds, stopped = timed(method, problem, LIMIT)
            if best is None:
                best = found
            assert best is not None
            assert_right(method, problem, found, best)
            kind = "exact" if method.is_exact(problem) else "heuristic"
            assert stopped or kind == "heuristic" or (found is not None and found.optimal), algorithm
            loss = "no solution" if found is None else f"{leading(found.loss) / leading(best.loss):.3f}"
            checks = "" if found is None else f"{found.checked:,}"
            beside = f"{paper:,}" if algorithm == "flash" else ""
            about = f"{checks} | {seconds:.2f}{', stopped' if stopped else ''} | {loss} | {beside}"
            print(f"| {name} | {algorithm} | {kind} | {about} |", flush=True)


def print_best_first() -> None:
    """Print the table of best-first search."""
    print(
        "\n| QI of ss13acs | transformations | checked, without | with prediction | s, without | with | saved ", end=""
    )
    print("| paper: transformations | checked, with | s, without | with | saved |")
    print("|" + " ---: |" * 12)
    for number, (without, predicted, space, checked) in BEST_FIRST.items():
        if number > 11 and not FULL:
            continue
        problem = problem_of(ACS, acs_attributes(number))
        best = METHODS["optimal"].run(problem)
        assert best is not None
        assert best.optimal
        counts, spent = [], []
        for algorithm in ("best-first-without-prediction", "best-first"):
            found, seconds, stopped = timed(METHODS[algorithm], problem, BEST_FIRST_LIMIT)
            assert_right(METHODS[algorithm], problem, found, best)
            assert found is not None
            assert found.optimal or stopped
            counts.append(f"{found.checked:,}{'' if found.optimal else ' (stopped)'}")
            spent.append(seconds)
        paper = " | ".join("" if figure is None else f"{figure:,}" for figure in (space, checked, without, predicted))
        print(
            f"| {number} | {problem.lattice.size:,} | {counts[0]} | {counts[1]} | {spent[0]:.2f} | {spent[1]:.2f} "
            f"| {1 - spent[1] / spent[0]:.0%} | {paper} | {1 - predicted / without:.0%} |",
            flush=True,
        )


def subsets(name: str) -> list[list[str]]:
    """Return the sets of quasi-identifiers of a table."""
    if name == ACS:
        return [acs_attributes(number) for number in range(ACS_SMALLEST, ACS_LARGEST + 1)]
    columns = header(name)
    return [columns[:number] for number in range(SMALLEST, len(columns) + 1)]


def improvements(name: str) -> tuple[dict[str, list[float]], int, float]:
    """Return percent points a search, how often best-first search found nothing, and the longest time of IGreedy."""
    improved: dict[str, list[float]] = {"best-first": [], "optimal": []}
    nothing, longest = 0, 0.0
    for attributes in subsets(name):
        problem = problem_of(name, attributes)
        started = time.perf_counter()
        greedy = METHODS["igreedy"].run(problem)
        limit = time.perf_counter() - started
        assert greedy is not None
        longest = max(longest, limit)
        loss = leading(greedy.loss)
        for algorithm, found in improved.items():
            solution = timed(METHODS[algorithm], problem, limit).found
            if solution is None:
                assert algorithm == "best-first"
                nothing += 1
                continue
            found.append(100 * (loss - leading(solution.loss)))
    return improved, nothing, longest


def spread(found: list[float]) -> str:
    """Write minimum, maximum and average."""
    if not found:
        return "none"
    return " / ".join(f"{figure:.2f}" for figure in (min(found), max(found), statistics.mean(found)))


def print_improvements() -> None:
    """Print the table of searches stopped after the time of IGreedy."""
    print(
        "\n| table | experiments | IGreedy, longest s | best-first: min / max / average, points | no solution ", end=""
    )
    print("| optimal: min / max / average, points | paper, best-first % |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, paper in IMPROVEMENT.items():
        improved, nothing, longest = improvements(name)
        cells = {algorithm: spread(found) for algorithm, found in improved.items()}
        print(
            f"| {name} | {len(improved['optimal'])} | {longest:.2f} | {cells['best-first']} | {nothing} "
            f"| {cells['optimal']} | {' / '.join(f'{figure:g}' for figure in paper)} |",
            flush=True,
        )


METHODS: dict[str, Method] = {}


def main() -> int:
    """Print the tables."""
    if missing():
        print(missing())
        return 0
    METHODS.update((name, find()) for name, find in ALGORITHMS.items())
    warm_up()
    print_algorithms()
    print_best_first()
    print_improvements()
    return 0


if __name__ == "__main__":
    sys.exit(main())
