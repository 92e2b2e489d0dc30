"""What each idea of the default search brings: the same problems with it and without.

    python benchmarks/bench_boxes.py [--full]

In: `../shared` (tables, hierarchies). Out: a table in Markdown. 5-anonymity with a suppression limit of 5% and the
loss, one thread, CPU seconds of the search alone on a table that has been counted; of a search that takes less than a
second the fastest of five counts. All must find the same solution. The variants, from left to right:

- boxes of every kind (`engine.search.boxes.node_opener`): a kernel call per pass, classes in tables or hashed, doubles;
- packed rows sorted by class, whole numbers, a box in one call (`engine.search.boxes.packed_opener`), no rows wait;
- the same, and rows of large classes wait: what a job runs.

Beside them two threads, by the clock, and the seconds of the prototype, where they are known. `--full` adds 17
quasi-identifiers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from bench_lattices import LONG, ROWS, attributes_of
from shared_tables import MODELS, Tables, missing

from engine.kernels.warm_up import warm_up
from engine.search.algorithms import optimal as search
from engine.search.boxes import packed_opener as packed
from engine.search.problem import Problem, Solution

RUNS = 5


@contextmanager
def changed(owner: Any, name: str, value: Any) -> Any:
    """Let a module or class have another value for a while."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def seconds(problem: Problem, clock: Callable[[], float]) -> tuple[float, Solution]:
    """Search; return the fastest run and what it found."""
    spent = []
    while True:
        started = clock()
        found = search.optimal(problem)
        spent.append(clock() - started)
        assert found is not None
        assert found.optimal
        if len(spent) == RUNS or spent[0] > 1:
            return min(spent), found


def compared(problem: Problem) -> tuple[list[float], list[int]]:
    """Return the seconds of the variants and of two threads, and the passes of the variants."""
    with changed(packed.PackedOpener, "serves", staticmethod(lambda *_: False)):
        spent = [seconds(problem, time.process_time)]
    with changed(packed, "_LARGE", 1 << 40):
        spent.append(seconds(problem, time.process_time))
    spent.append(seconds(problem, time.process_time))
    spent.append(seconds(replace(problem, threads=2), time.perf_counter))
    for _, found in spent:
        assert (found.levels, found.loss, found.suppressed) == (
            spent[0][1].levels,
            spent[0][1].loss,
            spent[0][1].suppressed,
        )
    return [figure for figure, _ in spent], [found.checked for _, found in spent[:3]]


def main() -> int:
    """Print the table."""
    if missing():
        print(missing())
        return 0
    warm_up()
    print("| table | QI | passes: every kind | packed | waiting ", end="")
    print("| CPU, s: every kind | packed | waiting | 2 threads, s | every kind / waiting | prototype, s | / waiting |")
    print("| --- |" + " ---: |" * 11)
    for name, number, figures in ROWS + (LONG[:1] if "--full" in sys.argv[1:] else ()):
        problem = Tables(name, [MODELS["k"]], attributes_of(name, number)).problem(
            suppression_limit=0.05, utility={"measure": "loss"}
        )
        spent, passes = compared(problem)
        counts = " | ".join(f"{figure:,}" for figure in passes)
        written = " | ".join(f"{figure:.3f}" for figure in spent)
        prototype = figures.prototype or 0.0
        ratios = f"{spent[0] / spent[2]:.2f} | {prototype:g} | {prototype / spent[2]:.2f}"
        print(f"| {name} | {number} | {counts} | {written} | {ratios} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
