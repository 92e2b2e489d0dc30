"""What it brings to begin a search at last night's levels: the second of two nights, cold and warm.

    python benchmarks/bench_warm_start.py [--full]

In: `../shared` (tables, hierarchies). Out: a table in Markdown. Each night lacks a random 1% of the table, another one
each night, so that 1% leave and 1% come. 5-anonymity with a suppression limit and the loss, one thread, CPU seconds of
the search alone; of a search that takes less than a second the fastest of five. Cold and warm searches take turns.
Asserted in the same run: both find the same levels, loss and number of suppressed records, and prove the
optimum. `--full` adds tables of millions of records.
"""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
from bench_lattices import ACS, attributes_of
from shared_tables import MODELS, job_of, missing, source_of

from engine.job.counting import count
from engine.job.problem import problem_of
from engine.kernels.warm_up import warm_up
from engine.lattice.space import Levels
from engine.search.algorithms.optimal import optimal
from engine.search.problem import Problem, Solution
from engine.tables.sources.source import open_data

RUNS = 5
CHURN = 0.01
ROWS = (("adult", 8), ("adult", 9), ("fars", 8), ("cup", 8))
LONG = (("atus_synthetic", 9), (ACS, 9), (ACS, 11))
LIMITS = (0.0, 0.05)


def nights(name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the table of two nights."""
    source = source_of(name)
    if source.suffix == ".csv":
        whole = pd.read_csv(source, sep=";", dtype=str, keep_default_na=False)
    else:
        whole = pd.read_parquet(source)
    order = np.random.default_rng(1).permutation(len(whole))
    absent = int(len(whole) * CHURN)
    return whole.iloc[np.sort(order[absent:])], whole.iloc[np.sort(order[: len(whole) - absent])]


def problem(name: str, attributes: list[str] | None, table: pd.DataFrame, limit: float) -> Problem:
    """Return the problem of a night."""
    job = job_of(name, [MODELS["k"]], attributes, suppression_limit=limit, utility={"measure": "loss"})
    return problem_of(job, count(job, open_data(table)).table)


def solved(tonight: Problem) -> tuple[float, Solution]:
    """Search; return the CPU seconds and what it found."""
    begun = time.process_time()
    found = optimal(tonight)
    spent = time.process_time() - begun
    assert found is not None
    assert found.optimal
    return spent, found


def compared(tonight: Problem, start: Levels) -> tuple[float, float, Solution, Solution]:
    """Search cold and warm by turns; return the least seconds and the solution of each."""
    cold_seconds, warm_seconds = [], []
    while len(cold_seconds) < RUNS:
        spent, cold = solved(tonight)
        cold_seconds.append(spent)
        spent, warm = solved(replace(tonight, start=start))
        warm_seconds.append(spent)
        if spent > 1:
            break
    assert (cold.levels, cold.loss, cold.suppressed) == (warm.levels, warm.loss, warm.suppressed)
    return min(cold_seconds), min(warm_seconds), cold, warm


def main() -> int:
    """Print the table."""
    if missing():
        print(missing())
        return 0
    warm_up()
    print("| table | columns | limit | same levels | passes: cold | warm | ms: cold | warm | faster |")
    print("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    ratios = []
    for name, number in ROWS + (LONG if "--full" in sys.argv[1:] else ()):
        chosen = attributes_of(name, number)
        before, tonight = nights(name)
        for limit in LIMITS:
            last = solved(problem(name, chosen, before, limit))[1].levels
            cold_s, warm_s, cold, warm = compared(problem(name, chosen, tonight, limit), last)
            ratios.append(cold_s / warm_s)
            print(
                f"| {name} | {number} | {limit} | {'yes' if last == cold.levels else 'no'} | {cold.checked} | "
                f"{warm.checked} | {1000 * cold_s:.1f} | {1000 * warm_s:.1f} | {cold_s / warm_s:.2f} |",
                flush=True,
            )
    print(f"median {statistics.median(ratios):.2f} times as fast, {min(ratios):.2f} to {max(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
