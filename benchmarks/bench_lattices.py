"""Checks and seconds of `optimal` by size of the lattice, with one thread and with two.

    python benchmarks/bench_lattices.py [--full]

In: `../shared` (tables, hierarchies). Out: two tables in Markdown; `--full` adds ss13acs_synthetic with 17, 20 and 25
quasi-identifiers. Seconds are the search alone, on a table that has been counted; of a search that takes less than a
second the fastest of three counts.

The first table is 5-anonymity with a suppression limit of 5% and the loss. Beside it stand the figures of a prototype
and of the reference solver on the same problems. The other has problems whose models are not nested, so that a box
proves less. Every search must be proven optimal, and two threads must find what one finds.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from shared_tables import MODELS, Tables, header, missing

from engine.search.algorithm import Problem, Solution
from engine.search.optimal import optimal
from engine.warm_up import warm_up

ACS = "ss13acs_synthetic"
FIRST = (
    *("Age", "Education", "Marital status", "Sex", "Citizenship", "Mobility", "Workclass", "Relationship"),
    *("Insurance purchased", "Military service", "Grade level", "Weight", "Income", "Vision", "Hearing", "Widowed"),
    *("Divorced", "Insurance employer", "Insurance Medicare", "Self-care"),
)
"""The attributes of ss13acs_synthetic in the order in which they become quasi-identifiers; the rest follow by name."""


class Figures(NamedTuple):
    """What another solver took, as far as it is known; seconds of the prototype are of one thread."""

    probes: float | None = None
    prototype: float | None = None
    checks: float | None = None
    reference: float | None = None


class Row(NamedTuple):
    """A problem with 5-anonymity, a limit of 5% and the loss."""

    table: str
    attributes: int
    figures: Figures


ROWS = (
    Row("adult", 8, Figures(154, 0.012, 343, 0.3)),
    Row("adult", 9, Figures(635, 0.045, 1050, 0.8)),
    Row("fars", 8, Figures(265, 0.08, 1140, 2.8)),
    Row("cup", 8, Figures(108, 0.06, 1432, 5.1)),
    Row("atus_synthetic", 9, Figures(784, 1.0, 2105, 45)),
    Row("ihis_synthetic", 9, Figures(297, 1.9, 1584, 113)),
    Row(ACS, 9, Figures(333, 0.07, 848, 2.9)),
    Row(ACS, 11, Figures(2_900, 0.43, 4673, 16)),
    Row(ACS, 15, Figures(23_000, 4.7)),
)
LONG = (Row(ACS, 17, Figures(65_000, 13.4)), Row(ACS, 20, Figures(260_000)), Row(ACS, 25, Figures(2_600_000)))
"""The prototype was run with two threads on 20 and 25 attributes: 33 and 314 seconds."""

NOT_NESTED: Sequence[tuple[str, Sequence[str], dict[str, Any], Figures]] = (
    (
        "cup",
        ("to",),
        {"utility": {"measure": "non-uniform-entropy"}, "suppression_limit": 0.05},
        Figures(checks=8743, reference=304),
    ),
    ("cup", ("k", "t"), {"utility": {"measure": "loss"}, "suppression_limit": 0.05}, Figures(reference=13)),
    ("fars", ("k", "t"), {"utility": {"measure": "discernibility"}, "suppression_limit": 1.0}, Figures(reference=10.5)),
)


def acs_attributes(number: int) -> list[str]:
    """Return the first quasi-identifiers of ss13acs_synthetic."""
    return [*FIRST, *sorted(set(header(ACS)) - set(FIRST))][:number]


def timed(problem: Problem, threads: int) -> tuple[Solution, float]:
    """Search; return the solution and the seconds."""
    problem = replace(problem, threads=threads)
    runs: list[float] = []
    while True:
        started = time.perf_counter()
        found = optimal(problem)
        runs.append(time.perf_counter() - started)
        assert found is not None
        assert found.optimal
        if len(runs) == 3 or runs[0] >= 1:
            return found, min(runs)


def compared(problem: Problem) -> tuple[int, float, float]:
    """Return checks and seconds with one thread, and seconds with two, which must find the same."""
    one, seconds = timed(problem, 1)
    two, parallel = timed(problem, 2)
    assert one.levels == two.levels
    assert one.loss == two.loss
    assert one.suppressed == two.suppressed
    assert (one.suppressed_rows == two.suppressed_rows).all()
    return one.checked, seconds, parallel


def cell(figure: float | None) -> str:
    """Write a figure; nothing where none is known."""
    return "" if figure is None else f"{figure:,.10g}"


def print_nested(rows: Sequence[Row]) -> None:
    """Print the table of 5-anonymity and the median ratio."""
    print("| table | QI | space | distinct | checked | 1 thread, s | 2 threads, s ", end="")
    print("| prototype, probes | s | reference, checks | s | reference / ours |")
    print("| --- |" + " ---: |" * 11)
    ratios = []
    for name, number, figures in rows:
        # all columns of adult with 9 include the one that is sensitive in other problems
        attributes = acs_attributes(number) if name == ACS else header(name)
        problem = Tables(name, [MODELS["k"]], attributes if len(attributes) == number else None).problem(
            suppression_limit=0.05, utility={"measure": "loss"}
        )
        assert len(problem.lattice.high) == number
        checked, one, two = compared(problem)
        ratio = "" if figures.reference is None else f"{figures.reference / one:.0f}"
        ratios += [] if figures.reference is None else [figures.reference / one]
        counts = f"{math.prod(top + 1 for top in problem.lattice.high):,} | {problem.table.counts.size:,} | {checked:,}"
        others = " | ".join(map(cell, figures))
        print(f"| {name} | {number} | {counts} | {one:.3f} | {two:.3f} | {others} | {ratio} |", flush=True)
    print(f"\nMedian ratio of the reference's seconds to those of one thread: {statistics.median(ratios):.0f}\n")


def print_not_nested() -> None:
    """Print the table of the other problems."""
    print("| table | models | measure | limit | space | checked | 1 thread, s | 2 threads, s ", end="")
    print("| reference, checks | s | reference / ours |")
    print("| --- | --- | --- |" + " ---: |" * 8)
    for name, letters, settings, figures in NOT_NESTED:
        problem = Tables(name, [MODELS[letter] for letter in letters]).problem(**settings)
        checked, one, two = compared(problem)
        assert figures.reference is not None
        about = f"{', '.join(letters)} | {settings['utility']['measure']} | {settings['suppression_limit']:.0%}"
        others = f"{cell(figures.checks)} | {figures.reference:g} | {figures.reference / one:.1f}"
        print(
            f"| {name} | {about} | {problem.lattice.size:,} | {checked:,} | {one:.3f} | {two:.3f} | {others} |",
            flush=True,
        )


def main() -> int:
    """Print both tables."""
    if missing():
        print(missing())
        return 0
    warm_up()
    print_nested(ROWS + (LONG if "--full" in sys.argv[1:] else ()))
    print_not_nested()
    return 0


if __name__ == "__main__":
    sys.exit(main())
