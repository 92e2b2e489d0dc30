"""What `optimal` has when its time is short: loss and proven gap after some seconds, at many quasi-identifiers.

    python benchmarks/bench_time_limit.py [SECONDS ...]      (10 and 60 by default)

In: `../shared` (tables, hierarchies): ss13acs_synthetic with 20, 25 and 30 quasi-identifiers, 5-anonymity, a limit of
5% and the loss. Out: a table in Markdown, with the first (greedy) solution beside it. Asserted: no lower bound is above
the loss of any solution that is found, more time loses nothing, and each solution is checked again.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from bench_lattices import ACS, acs_attributes
from shared_tables import MODELS, Tables, missing

from engine.kernels.warm_up import warm_up
from engine.search.algorithms.optimal import optimal
from engine.search.check import Checker
from engine.search.greedy import greedy
from engine.search.problem import Problem
from engine.utility.information_loss import leading

NUMBERS = (20, 25, 30)
SECONDS = (10.0, 60.0)


def row(problem: Problem, seconds: tuple[float, ...]) -> list[str]:
    """Search once per time; return the cells of the table."""
    *_, first = greedy(Checker(problem), problem, lambda: False)
    assert first.loss is not None
    losses, bounds, cells = [leading(first.loss)], [], [f"{leading(first.loss):.4f}"]
    for limit in seconds:
        before = time.process_time()
        found = optimal(replace(problem, time_limit=limit))
        spent = time.process_time() - before
        assert found is not None
        again = Checker(problem).check(found.levels)
        assert again.loss == found.loss
        assert again.suppressed == found.suppressed <= problem.limit
        losses.append(leading(found.loss))
        bounds.append(leading(found.lower_bound))
        gap = "proven" if found.optimal else f"{1 - bounds[-1] / losses[-1]:.1%}"
        cells += [f"{losses[-1]:.4f}", gap, f"{spent:.0f}"]
    assert losses == sorted(losses, reverse=True)
    assert max(bounds) <= min(losses) * (1 + 1e-9)
    return cells


def main() -> int:
    """Print the table."""
    if missing():
        print(missing())
        return 0
    seconds = tuple(map(float, sys.argv[1:])) or SECONDS
    warm_up()
    heads = " | ".join(f"loss after {limit:g} s | gap | CPU s" for limit in seconds)
    print(f"| QI | space | first solution | {heads} |")
    print("| --- |" + " ---: |" * (2 + 3 * len(seconds)))
    for number in NUMBERS:
        tables = Tables(ACS, [MODELS["k"]], acs_attributes(number))
        problem = tables.problem(suppression_limit=0.05, utility={"measure": "loss"})
        print(f"| {number} | {problem.lattice.size:,} | {' | '.join(row(problem, seconds))} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
