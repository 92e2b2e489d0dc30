"""Seconds that four stores of predictive properties take for the same queries and insertions.

    python benchmarks/bench_properties.py

In: `../shared` (tables, hierarchies). Out: one line per table and store: seconds, and how many times faster than the
plain list; beside them the figures of Prasser, Kohlmayer, Kuhn, Efficient and effective pruning strategies for health
data de-identification, BMC Med Inform Decis Mak 16:49, 2016, Table 1. The sequence comes from a search with
5-anonymity, a suppression limit of 5% and the loss: from the bottom of the lattice upwards, along paths that are
bisected (after Kohlmayer, Prasser et al., Flash: efficient, stable and optimal k-anonymity, PASSAT 2012). It is
recorded once per table, and every replay must give the recorded answers.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 (the project root must be on the path)

from engine.job.counting import columns_of  # noqa: E402
from engine.lattice.orientation import Inherited  # noqa: E402
from engine.lattice.properties import STORES, PropertyStore, StoreName, property_store  # noqa: E402
from engine.lattice.space import Lattice, Levels, replaced  # noqa: E402
from engine.search.check import Checker  # noqa: E402
from engine.search.problem import Problem  # noqa: E402
from engine.tables.counting.encode import encode  # noqa: E402
from engine.tables.sources.source import open_path  # noqa: E402
from tests.conformance.test_vectors import SHARED, job_of  # noqa: E402

REPETITIONS = 7
PAPER = {
    "adult": (0.247, 0.230, 0.061, 0.055),
    "cup": (0.658, 0.525, 0.232, 0.218),
    "fars": (0.364, 0.240, 0.074, 0.071),
}
"""Seconds in the order of `STORES`."""

PropertyName = Literal["insufficient protection", "insufficient quality"]
INHERITED: dict[PropertyName, Inherited] = {
    "insufficient protection": "downwards",
    "insufficient quality": "upwards",
}


class Step(NamedTuple):
    """One operation on the store of a property; `answer` is None for an insertion."""

    name: PropertyName
    levels: Levels
    answer: bool | None


def problem_of(table: str) -> Problem:
    """Read a shared table; all its columns are quasi-identifiers."""
    dataset = f"{table}/{table}.csv"
    header = (SHARED / "data" / dataset).read_text(encoding="utf-8").splitlines()[0].split(";")
    job = job_of(
        {
            "dataset": dataset,
            "hierarchies": f"{table}/hierarchies",
            "quasi_identifiers": header,
            "privacy": [{"model": "k-anonymity", "k": 5}],
            "utility": {"measure": "loss"},
            "suppression_limit": 0.05,
        }
    )
    source = open_path(job.source.path, job.source.form)
    counts = encode(source, columns_of(job, source.schema))[1]
    heights = tuple(hierarchy.level_count - 1 for hierarchy in counts.hierarchies)
    evaluator = job.utility.evaluator(counts, [1.0] * len(heights))
    limit = int(job.suppression_limit * counts.records)
    return Problem(counts, Lattice((0,) * len(heights), heights), job.privacy, evaluator, limit)


class Search:
    """Looks at every transformation of a lattice, or knows one of the two properties of it; records each step.

    Attributes
    ----------
    steps : list of Step
    stores : dict
        One store a property.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._checker = Checker(problem)
        self._best = float("inf")
        self._checked: set[Levels] = set()
        self.steps: list[Step] = []
        self.stores = {name: property_store(problem.lattice, inherited) for name, inherited in INHERITED.items()}

    def run(self) -> None:
        """Start a path from each transformation, lower ones first, until nothing about it is left open."""
        lattice = self._problem.lattice
        every = itertools.product(*(range(top + 1) for top in lattice.high))
        for levels in sorted(every, key=lambda levels: (sum(levels), levels)):
            while not self._is_known(levels):
                self._bisect(list(self._path(levels)))

    def _path(self, levels: Levels | None) -> Iterator[Levels]:
        """Climb to an open generalization one level up, as long as there is one."""
        while levels is not None:
            yield levels
            above = (replaced(levels, a, level + 1) for a, level in enumerate(levels))
            high = self._problem.lattice.high
            fitting = (new for a, new in enumerate(above) if new[a] <= high[a])
            levels = next((new for new in fitting if not self._is_known(new)), None)

    def _bisect(self, path: list[Levels]) -> None:
        """Find the first protected transformation of a path, unless its quality turns out to be insufficient."""
        low, high = 0, len(path)
        while low < high:
            middle = (low + high) // 2
            protected, sufficient = self._check(path[middle])
            if protected or not sufficient:
                high = middle
            if not protected:
                low = middle + 1

    def _check(self, levels: Levels) -> tuple[bool, bool]:
        """Evaluate a transformation; return whether protection and quality are sufficient."""
        loss = self._checker.check(levels).loss
        self._checked.add(levels)
        if loss is None:
            self._insert("insufficient protection", levels)
        else:
            self._best = min(self._best, loss)
        sufficient = self._problem.evaluator.bound(levels, levels, np.empty(0, np.int64)) <= self._best
        if not sufficient:
            self._insert("insufficient quality", levels)
        return loss is not None, sufficient

    def _is_known(self, levels: Levels) -> bool:
        return levels in self._checked or any(self._query(name, levels) for name in INHERITED)

    def _query(self, name: PropertyName, levels: Levels) -> bool:
        answer = levels in self.stores[name]
        self.steps.append(Step(name, levels, answer))
        return answer

    def _insert(self, name: PropertyName, levels: Levels) -> None:
        self.stores[name].insert(levels)
        self.steps.append(Step(name, levels, None))


def replay(store: StoreName, lattice: Lattice, steps: list[Step]) -> float:
    """Take the steps with one kind of store; return the seconds and compare every answer."""
    stores: dict[PropertyName, PropertyStore] = {
        name: property_store(lattice, inherited, store) for name, inherited in INHERITED.items()
    }
    operations = [
        (stores[name].insert if answer is None else stores[name].__contains__, levels) for name, levels, answer in steps
    ]
    started = time.perf_counter()
    answers = [operation(levels) for operation, levels in operations]
    seconds = time.perf_counter() - started
    assert answers == [step.answer for step in steps], f"{store} answers otherwise"
    return seconds


def main() -> int:
    """Print the table."""
    if not (SHARED / "data").is_dir():
        print(f"needs the tables in {(SHARED / 'data').relative_to(ROOT.parent)} beside the project")
        return 0
    print(f"{'table':6}{'queries':>8}{'insertions':>11}  {'store':18}", end="")
    print(f"{'seconds':>8}{'ratio':>7}{'paper, seconds':>16}{'ratio':>7}")
    for table, published in PAPER.items():
        problem = problem_of(table)
        search = Search(problem)
        search.run()
        insertions = sum(step.answer is None for step in search.steps)
        about = f"{table:6}{len(search.steps) - insertions:8}{insertions:11}"
        ours = [min(replay(store, problem.lattice, search.steps) for _ in range(REPETITIONS)) for store in STORES]
        for store, seconds, theirs in zip(STORES, ours, published, strict=True):
            ratios = f"{seconds:8.3f}{ours[0] / seconds:7.2f}{theirs:16.3f}{published[0] / theirs:7.2f}"
            print(f"{about}  {store:18}{ratios}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
