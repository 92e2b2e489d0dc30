"""What it costs to suppress by size alone: adult with 5-anonymity and distinct 3-diversity, by `suppress` and limit.

    python benchmarks/bench_small_classes.py

In: `../shared` (the table adult, its hierarchies). Out: for each measure the loss of the best transformation and the
suppressed records: where any class may be suppressed, where only classes of fewer than five records may, and where
none may; beside it, how often the most frequent value of their class is right for the records that are suppressed in
classes of five and more (the minimality attack, Wong, Fu, Wang, Pei 2007). Every solution is proven optimal.
"""

from __future__ import annotations

import sys

import numpy as np
from shared_tables import MODELS, Tables, missing

from engine.kernels.warm_up import warm_up
from engine.search.algorithms.optimal import optimal
from engine.search.problem import Problem, Solution
from engine.utility.information_loss import leading

K = 5
SENSITIVE = "occupation"
WAYS = (("any", 0.05), ("small-classes", 0.05), ("any", 0.0))
MEASURES = ("loss", "precision", "non-uniform-entropy")
DIVERSITIES = (
    {"model": "l-diversity", "variant": "distinct", "l": 3},
    {"model": "t-closeness", "distance": "hierarchical", "t": 0.2},
)


def guessed(problem: Problem, solution: Solution) -> tuple[int, float | None]:
    """Return the records suppressed in classes of at least K, and the share whose class's frequent value is right."""
    classes = problem.table.partition(solution.levels)
    told = classes.holding(solution.suppressed_tuples) & (classes.counts >= K)
    histogram = classes.histogram(SENSITIVE)
    most = np.maximum.reduceat(histogram.counts, histogram.offsets[:-1])
    records = int(classes.counts[told].sum())
    return records, float(most[told].sum()) / records if records else None


def main() -> int:
    """Print the table."""
    if missing():
        print(missing())
        return 0
    warm_up()
    print("| models | measure | suppress | limit | loss | suppressed | of these in classes of 5 and more | guessed |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for model in DIVERSITIES:
        tables = Tables("adult", [MODELS["k"], model])
        name = "5-anonymity, " + ("distinct 3-diversity" if model["model"] == "l-diversity" else "0.2-closeness")
        for measure in MEASURES:
            for suppress, limit in WAYS:
                problem = tables.problem(utility={"measure": measure}, suppression_limit=limit, suppress=suppress)
                found = optimal(problem)
                assert found is not None
                assert found.optimal
                records, share = guessed(problem, found)
                assert suppress == "any" or records == 0
                loss, right = leading(found.loss), "" if share is None else f"{share:.0%}"
                cells = f"{name} | {measure} | {suppress} | {limit:.0%} | {loss:.6g} | {found.suppressed}"
                print(f"| {cells} | {records} | {right} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
