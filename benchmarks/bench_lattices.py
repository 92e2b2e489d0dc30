"""Checks and seconds of `optimal` by size of the lattice, with one thread and with two.

    python benchmarks/bench_lattices.py [--full]

In: `../shared` (tables, hierarchies). Out: two tables in Markdown; `--full` adds ss13acs_synthetic with 17, 20 and 25
quasi-identifiers, of which a search is stopped after an hour. Seconds are the search alone, on a table that has
been counted; of a search that takes less than a second the fastest of three counts. CPU seconds are those of the run
with one thread: about what the seconds would be if nothing else ran.

The first table is 5-anonymity with a suppression limit of 5% and the loss. Beside it stand the figures of a prototype
and of the reference solver on the same problems. The other has problems whose models are not nested, so that a box
proves less. Every search that is not stopped must be proven optimal, and two threads must find what one finds.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from shared_tables import MODELS, Tables, header, missing, quasi_identifiers_of

from engine.kernels.warm_up import warm_up
from engine.search.algorithms.optimal import optimal
from engine.search.problem import Problem, Solution
from engine.utility.information_loss import leading

LIMIT = 3600.0
"""Seconds of a search."""
TWO_THREADS_ONLY = 25
"""Quasi-identifiers of the problem that is not searched with one thread, which would take most of the time."""
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


def attributes_of(name: str, number: int) -> list[str]:
    """Return so many quasi-identifiers of a table: all columns of adult include one that is sensitive elsewhere."""
    attributes = acs_attributes(number) if name == ACS else header(name)
    return attributes if len(attributes) == number else quasi_identifiers_of(name)


class Run(NamedTuple):
    """A search and what it took."""

    found: Solution
    seconds: float
    cpu: float

    @property
    def written(self) -> str:
        """Seconds, or how far a search came that was stopped."""
        if self.found.optimal:
            return f"{self.seconds:.3f}"
        gap = 1 - leading(self.found.lower_bound) / leading(self.found.loss)
        return f"{self.seconds:.0f} (stopped, gap {gap:.1%})"


def timed(problem: Problem, threads: int) -> Run:
    """Search within the limit; return the fastest run."""
    problem = replace(problem, threads=threads, time_limit=LIMIT)
    runs: list[Run] = []
    while True:
        started, before = time.perf_counter(), time.process_time()
        found = optimal(problem)
        seconds, cpu = time.perf_counter() - started, time.process_time() - before
        assert found is not None
        assert found.optimal or seconds > LIMIT
        runs.append(Run(found, seconds, cpu))
        if len(runs) == 3 or seconds >= 1:
            return min(runs, key=lambda run: run.seconds)


def compared(problem: Problem) -> tuple[Run, Run]:
    """Return the run with one thread and that with two, which must find the same."""
    one, two = timed(problem, 1), timed(problem, 2)
    if one.found.optimal and two.found.optimal:
        assert one.found.levels == two.found.levels
        assert one.found.loss == two.found.loss
        assert one.found.suppressed == two.found.suppressed
        assert (one.found.suppressed_tuples == two.found.suppressed_tuples).all()
    return one, two


def cell(figure: float | None) -> str:
    """Write a figure; nothing where none is known."""
    return "" if figure is None else f"{figure:,.10g}"


def print_nested(rows: Sequence[Row]) -> None:
    """Print the table of 5-anonymity and the median ratio."""
    print("| table | QI | space | distinct | checked | 1 thread, s | CPU, s | 2 threads, s ", end="")
    print("| prototype, probes | s | reference, checks | s | reference / CPU |")
    print("| --- |" + " ---: |" * 12)
    ratios = []
    for name, number, figures in rows:
        problem = Tables(name, [MODELS["k"]], attributes_of(name, number)).problem(
            suppression_limit=0.05, utility={"measure": "loss"}
        )
        assert len(problem.lattice.high) == number
        runs = compared(problem) if number < TWO_THREADS_ONLY else (timed(problem, 2),)
        ratio = None if figures.reference is None else figures.reference / runs[0].cpu
        ratios += [] if ratio is None else [ratio]
        counts = f"{problem.lattice.size:,} | {problem.table.counts.size:,} | {runs[0].found.checked:,}"
        spent = f"{runs[0].written if len(runs) > 1 else ''} | {runs[0].cpu:.3f} | {runs[-1].written}"
        others = " | ".join(map(cell, figures))
        print(
            f"| {name} | {number} | {counts} | {spent} | {others} | {'' if ratio is None else f'{ratio:.0f}'} |",
            flush=True,
        )
    median = statistics.median(ratios)
    print(f"\n{len(ratios)} problems, median ratio of the reference's seconds to CPU seconds: {median:.0f}\n")


def print_not_nested() -> None:
    """Print the table of the other problems."""
    print("| table | models | measure | limit | space | checked | 1 thread, s | CPU, s | 2 threads, s ", end="")
    print("| reference, checks | s | reference / CPU |")
    print("| --- | --- | --- |" + " ---: |" * 9)
    for name, letters, settings, figures in NOT_NESTED:
        problem = Tables(name, [MODELS[letter] for letter in letters]).problem(**settings)
        one, two = compared(problem)
        assert figures.reference is not None
        about = f"{', '.join(letters)} | {settings['utility']['measure']} | {settings['suppression_limit']:.0%}"
        others = f"{cell(figures.checks)} | {figures.reference:g} | {figures.reference / one.cpu:.1f}"
        counts = f"{problem.lattice.size:,} | {one.found.checked:,} | {one.written} | {one.cpu:.3f} | {two.written}"
        print(f"| {name} | {about} | {counts} | {others} |", flush=True)


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
