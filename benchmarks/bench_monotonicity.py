"""What it costs to assume monotonicity, and what it costs not to: Tables 6 to 11 of Kohlmayer, Prasser, Kuhn 2015.

    python benchmarks/bench_monotonicity.py [--full] [--limit SECONDS]

In: `../shared` (tables, hierarchies, research subsets). Out: two tables in Markdown; the paper (The cost of quality:
implementing generalization and suppression for anonymizing biomedical data with minimal information loss. J Biomed
Inform 58:37-48, 2015) has its figures beside.

1. Any number of records may be suppressed. The loss of the optimum as a share of the loss of what an algorithm returns
   that assumes that generalizing a solution gives a solution that loses more: Flash (Table 6 of the paper) and OLA.
   The engine's Incognito predicts only what follows from class sizes and is exact, so that it has nothing to lose.
2. Non-uniform entropy with no suppression and with 5%: the transformations that Flash in two phases leaves unchecked
   (Tables 7 and 8) and its seconds (Tables 9 to 11), and checks and seconds of the others. On adult; `--full` adds cup
   and fars.

Seconds are CPU seconds of the search alone, with one thread, so that other programs matter less. A search that reaches
its time limit, by the clock, is stopped: in the first table the share is then at most what stands there, in the
second the seconds are marked. `--full` raises the limit. Whatever is proven optimal must be the same for all
algorithms, and no other result may lose less. Recursive diversity has c = 3 and l = 4, as in `bench_suppression`;
combinations with d need not be equal, for the reason that is given there.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from typing import NamedTuple

from bench_suppression import COMBINATIONS, DIVERSITY, TABLES
from shared_tables import MODELS, Tables, missing

from engine.kernels.warm_up import warm_up
from engine.search.problem import Method, Problem, Solution
from engine.search.registry import ALGORITHMS
from engine.utility.information_loss import leading

parser = argparse.ArgumentParser(description="Print the tables.")
parser.add_argument("--full", action="store_true", help="add the long rows")
parser.add_argument("--limit", type=float, help="seconds after which a search is stopped")
arguments = parser.parse_args()
FULL = arguments.full
LIMIT = arguments.limit or (900.0 if FULL else 3.0)
"""Seconds of a search."""

TABLE_6 = {
    "non-uniform-entropy": (
        *((79, 78, 74), (72, 75, 73), (67, 72, 87), (82, 79, 77), (72, 76, 73), (67, 72, 87)),
        *((76, 73, 83), (75, 73, 84), (72, 72, 96), (75, 72, 85), (72, 72, 96)),
    ),
    "precision": (
        *((91, 78, 77), (92, 72, 81), (86, 56, 78), (87, 73, 74), (92, 71, 80), (86, 56, 78)),
        *((92, 59, 75), (98, 60, 80), (83, 53, 92), (98, 58, 81), (83, 53, 92)),
    ),
    "discernibility": (
        *((9, 3, 8), (10, 2, 7), (19, 2, 9), (13, 4, 16), (10, 2, 7), (19, 2, 9)),
        *((18, 3, 18), (15, 2, 15), (22, 3, 29), (16, 3, 15), (22, 3, 29)),
    ),
    "average-class-size": (
        *((73, 51, 58), (78, 39, 48), (15, 39, 52), (74, 60, 60), (75, 44, 51), (15, 39, 52)),
        *((46, 50, 57), (42, 55, 55), (8, 6, 47), (39, 48, 56), (8, 6, 47)),
    ),
}
"""Percent, by measure: one triple (adult, cup, fars) a combination."""
TABLE_7 = (
    *((97.3, 99.6, 98.4), (97.7, 99.6, 99.3), (99.2, 99.7, 99.5), (96.7, 99.4, 97.1), (97.7, 99.6, 99.3)),
    *((99.2, 99.7, 99.5), (98.4, 99.7, 98.5), (98.9, 99.7, 99.1), (99.4, 99.7, 99.5), (98.9, 99.7, 99.1)),
    (99.4, 99.7, 99.5),
)
NONE = (None, None, None)
TABLE_8 = (
    *((29.6, 67.1, 13.7), (24.8, 64.3, 11.1), NONE, NONE, (29.6, 67.1, 13.7), (29.6, 67.1, 13.7)),
    *((70.6, 84.7, 44.7), (65.6, 83.3, 40.1), NONE, (70.6, 84.7, 44.7), (70.6, 84.7, 44.7)),
)
"""Percent of the transformations that were excluded; with t, d or both nothing is for a limit of 5%."""
TABLE_9 = (
    *((0.03, 0.04, 0.07), (0.04, 0.09, 0.06), (0.02, 0.08, 0.05), (0.04, 0.04, 0.09), (0.04, 0.09, 0.06)),
    *((0.02, 0.08, 0.05), (0.02, 0.03, 0.06), (0.02, 0.05, 0.06), (0.02, 0.05, 0.04), (0.02, 0.05, 0.06)),
    (0.02, 0.05, 0.04),
)
TABLES_10_11 = (
    *((0.54, 1.43, 1.18), (1.59, 9.73, 6.05), (2.47, 60.33, 8.15), (0.94, 21.62, 2.51), (1.40, 7.91, 5.44)),
    *((1.31, 8.93, 4.48), (0.27, 0.47, 0.62), (0.44, 1.08, 1.53), (1.93, 49.09, 5.62), (0.37, 0.97, 1.27)),
    (0.36, 1.08, 1.16),
)
"""Seconds of Flash in two phases."""
OTHERS = ("optimal", "flash-monotonic", "ola", "incognito")


class Run(NamedTuple):
    """What a search found, its CPU seconds, and whether the time was over before its end."""

    found: Solution
    cpu: float
    stopped: bool

    @property
    def seconds(self) -> str:
        """CPU seconds, and whether they are those of a search that was stopped."""
        return f"{self.cpu:.2f}{' (stopped)' if self.stopped else ''}"


def timed(algorithm: str, problem: Problem) -> Run:
    """Search within the limit."""
    started, before = time.perf_counter(), time.process_time()
    found = METHODS[algorithm].run(replace(problem, time_limit=LIMIT))
    run = Run(found, time.process_time() - before, time.perf_counter() - started > LIMIT)
    assert found is not None
    assert run.stopped or found.optimal or not METHODS[algorithm].is_exact(problem)
    return run


def assert_right(found: Solution, best: Solution) -> None:
    """Compare a result with that of `optimal`, which may have been stopped."""
    assert leading(found.loss) >= leading(best.lower_bound) * (1 - 1e-11)
    if found.optimal and best.optimal:
        assert found.levels == best.levels
        assert (found.suppressed_tuples == best.suppressed_tuples).all()


def share(tables: Tables, measure: str) -> list[str]:
    """Return the loss of the optimum as percentages of what Flash and OLA lose."""
    problem = tables.problem(utility={"measure": measure}, suppression_limit=1.0)
    best = timed("optimal", problem).found
    cells = []
    for algorithm in ("flash-monotonic", "ola"):
        found = timed(algorithm, problem).found
        assert_right(found, best)
        least = min(leading(best.loss), leading(found.loss))
        percent = 100 * least / leading(found.loss) if leading(found.loss) else 100.0
        cells.append(f"{'' if best.optimal else '≤ '}{percent:.1f}")
    return cells


def print_shares(tables: dict[tuple[str, str], Tables]) -> None:
    """Print what is lost by assuming monotonicity."""
    print("| measure | models | " + " | ".join(f"{name}: Flash % | paper | OLA %" for name in TABLES) + " |")
    print("| --- | --- |" + " ---: |" * 3 * len(TABLES))
    near = []
    for measure, paper in TABLE_6.items():
        for letters, figures in zip(COMBINATIONS, paper, strict=True):
            cells = []
            for name, theirs in zip(TABLES, figures, strict=True):
                flash, ola = share(tables[name, letters], measure)
                cells.append(f"{flash} | {theirs} | {ola}")
                near.append("d" not in letters and abs(float(flash.removeprefix("≤ ")) - theirs) <= 1)
            print(f"| {measure} | {', '.join(letters)} | {' | '.join(cells)} |", flush=True)
    without_d = sum("d" not in letters for letters in COMBINATIONS) * len(TABLES) * len(TABLE_6)
    print(f"\n{sum(near)} of {without_d} figures of Flash without d within one percent point of the paper's\n")


def print_seconds(tables: dict[tuple[str, str], Tables], names: tuple[str, ...]) -> None:
    """Print what the algorithms check, and how long it takes."""
    print("| table | limit | models | Flash: not checked % | paper % | Flash, CPU s | paper, s | ", end="")
    print(" | ".join(f"{algorithm}, checked | CPU s" for algorithm in OTHERS) + " |")
    print("| --- | ---: | --- |" + " ---: |" * (4 + 2 * len(OTHERS)))
    for place, name in enumerate(names):
        for limit, shares, seconds in ((0.0, TABLE_7, TABLE_9), (0.05, TABLE_8, TABLES_10_11)):
            for i, letters in enumerate(COMBINATIONS):
                problem = tables[name, letters].problem(
                    utility={"measure": "non-uniform-entropy"}, suppression_limit=limit
                )
                runs = {algorithm: timed(algorithm, problem) for algorithm in ("flash", *OTHERS)}
                for found, *_ in runs.values():
                    assert_right(found, runs["optimal"].found)
                flash = runs["flash"]
                theirs = "" if shares[i][place] is None else shares[i][place]
                excluded = 100 * (1 - flash.found.checked / problem.lattice.size)
                cells = " | ".join(f"{runs[other].found.checked:,} | {runs[other].seconds}" for other in OTHERS)
                print(
                    f"| {name} | {limit:.0%} | {', '.join(letters)} | {excluded:.1f} | {theirs} "
                    f"| {flash.seconds} | {seconds[i][place]} | {cells} |",
                    flush=True,
                )


METHODS: dict[str, Method] = {}


def main() -> int:
    """Print both tables."""
    if missing():
        print(missing())
        return 0
    METHODS.update((name, ALGORITHMS[name]()) for name in ("flash", *OTHERS))
    warm_up()
    tables = {
        (name, letters): Tables(name, [DIVERSITY if letter == "l" else MODELS[letter] for letter in letters])
        for name in TABLES
        for letters in COMBINATIONS
    }
    print_shares(tables)
    print_seconds(tables, TABLES if FULL else TABLES[:1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
