"""Seconds to judge ordered t-closeness: what each idea brings, and what a transformation costs.

    python benchmarks/bench_t_closeness.py

In: `../shared` (tables, hierarchies). Out: two tables in Markdown.

The first follows Bild, Eicher, Prasser, Efficient protection of health data from sensitive attribute disclosure. MIE
2020, Figure 2: the seconds of the straightforward check, and those of every other as a share of them, for the same
transformations, from the class of each row to the verdict on each class. The transformations are drawn from the whole
lattice, with a seed; their partitions are not measured. All checks must give the same verdict on each class, and the
same distance where they compute one.

The second is the cost of one transformation on cup with RAMNTALL, partition included.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 (the project root must be on the path)
from t_closeness_variants import PAPER, Verdict, by_value, without_histograms  # noqa: E402

from engine.job.counting import columns_of  # noqa: E402
from engine.kernels.refine import class_counts  # noqa: E402
from engine.kernels.warm_up import warm_up  # noqa: E402
from engine.lattice.space import Levels  # noqa: E402
from engine.privacy.models.t_closeness import TCloseness  # noqa: E402
from engine.tables.counting.encode import encode  # noqa: E402
from engine.tables.counting.frequency import Classes, FrequencyTable  # noqa: E402
from engine.tables.sources.source import open_path  # noqa: E402
from tests.conformance.test_vectors import SHARED, job_of  # noqa: E402

CASES = {"adult": ("occupation", "text"), "cup": ("RAMNTALL", "integer"), "fars": ("istatenum", "integer")}
"""Sensitive attribute and the type its values are ordered by; the other columns are quasi-identifiers."""
LIMITS = (0.1, 0.2, 0.3, 0.4, 0.5)
TRANSFORMATIONS = 100
REPETITIONS = {"adult": 9, "cup": 1, "fars": 9}
"""The least seconds of so many count: where a check takes less than a millisecond others disturb it."""
REFERENCE_MS = 35.0
"""Milliseconds of the reference solver for one check on cup with RAMNTALL."""
ENGINE, FURTHER = "engine", "without histograms"


def frequency_table(name: str) -> FrequencyTable:
    """Read a shared table."""
    attribute, order = CASES[name]
    dataset = f"{name}/{name}.csv"
    header = (SHARED / "data" / dataset).read_text(encoding="utf-8").splitlines()[0].split(";")
    job = job_of(
        {
            "dataset": dataset,
            "hierarchies": f"{name}/hierarchies",
            "quasi_identifiers": [column for column in header if column != attribute],
            "privacy": [closeness(name, 0.5).model_dump()],
            "utility": {"measure": "loss"},
            "suppression_limit": 0.0,
            "ordered_as": order,
        }
    )
    source = open_path(job.source.path, job.source.form)
    return encode(source, columns_of(job, source.schema))[1]


def closeness(name: str, t: float) -> TCloseness:
    return TCloseness(distance="ordered", attribute=CASES[name][0], t=t)


def transformations(table: FrequencyTable) -> list[Levels]:
    """Draw transformations, the same in every run."""
    random = np.random.default_rng(20)
    heights = [hierarchy.level_count for hierarchy in table.hierarchies]
    return [tuple(int(random.integers(height)) for height in heights) for _ in range(TRANSFORMATIONS)]


class Checks:
    """The checks of one table, by name: each takes a partition and gives a verdict; `t` is set for all of them."""

    def __init__(self, name: str, table: FrequencyTable) -> None:
        self._name = name
        self._table = table
        self._rows = table.sensitive[CASES[name][0]]
        self._cumulative = np.cumsum(self._rows.totals).astype(np.float64)
        self._prefix = np.concatenate([[0.0], np.cumsum(self._cumulative)])
        arrays = (self._rows.offsets, self._rows.values, self._rows.counts)
        self._sorted = by_value(*arrays, len(self._rows.labels))
        self.named: dict[str, Callable[[Classes], Verdict]] = {
            check: lambda classes, judge=judge: judge(
                classes.gid, classes.size, *arrays, self._cumulative, self._prefix, self.t
            )
            for check, judge in PAPER.items()
        }
        self.named |= {ENGINE: self._engine, FURTHER: self._further}
        self.at(LIMITS[0])

    def at(self, t: float) -> None:
        """Set the limit, and find what it implies for the size of a class, as a search would once."""
        self.t = t
        self._model = closeness(self._name, t)
        self.least = self._model.least_class_size(self._rows)

    def _engine(self, classes: Classes) -> Verdict:
        fails = self._model.violated(classes)
        return np.full(fails.size, np.nan), fails

    def _further(self, classes: Classes) -> Verdict:
        sizes = class_counts(classes.gid, classes.size, self._table.counts)
        return without_histograms(classes.gid, sizes, *self._sorted, self._cumulative, self._prefix, self.least, self.t)

    def distances(self, classes: Classes) -> Any:
        """Return the engine's own distances."""
        return self._model._distances(classes)  # noqa: SLF001 (compared with those of the others)


def compare(checks: Checks, table: FrequencyTable, partitions: list[Classes], repetitions: int) -> dict[str, float]:
    """Return the seconds of each check for all partitions; their verdicts must agree."""
    seconds = dict.fromkeys(checks.named, 0.0)
    for partition in partitions:
        distances = checks.distances(fresh(table, partition))
        for name, check in checks.named.items():
            spent = []
            for _ in range(repetitions):
                classes = fresh(table, partition)
                started = time.perf_counter()
                found, fails = check(classes)
                spent.append(time.perf_counter() - started)
            seconds[name] += min(spent)
            assert (fails == ~(distances <= checks.t)).all(), f"{name} judges otherwise"
            assert np.nanmax(np.abs(found - distances), initial=0.0) <= 1e-12, f"{name} measures otherwise"
    return seconds


def fresh(table: FrequencyTable, partition: Classes) -> Classes:
    """Return the partition without what it remembers."""
    return Classes(table, partition.gid, partition.size)


def print_figure_2(tables: dict[str, FrequencyTable]) -> None:
    names = [*PAPER, ENGINE, FURTHER]
    print(
        f"Seconds for {TRANSFORMATIONS} transformations, then shares of them; c is the smallest class that can pass.\n"
    )
    print(f"| table, values | t | c | {' | '.join(names)} |")
    print(f"| --- |{' ---: |' * (len(names) + 2)}")
    for name, table in tables.items():
        checks = Checks(name, table)
        partitions = [table.partition(levels) for levels in transformations(table)]
        compare(checks, table, partitions[:1], 1)
        for t in LIMITS:
            checks.at(t)
            seconds = compare(checks, table, partitions, REPETITIONS[name])
            base = seconds[names[0]]
            shares = " | ".join(f"{seconds[check] / base:.1%}" for check in names[1:])
            values = len(table.sensitive[CASES[name][0]].labels)
            print(f"| {name}, {values} | {t} | {checks.least} | {base:.3f} s | {shares} |", flush=True)


def cost(table: FrequencyTable, model: TCloseness, levels: Levels) -> list[float]:
    """Return the milliseconds of partition, histograms and distances, for the least sum of some repetitions."""
    runs = []
    for _ in range(5):
        times = [time.perf_counter()]
        classes = table.partition(levels)
        times.append(time.perf_counter())
        classes.histogram(model.attribute)
        times.append(time.perf_counter())
        model.violated(classes)
        times.append(time.perf_counter())
        runs.append([1000 * spent for spent in np.diff(times).tolist()])
    return min(runs, key=sum)


def print_cost(table: FrequencyTable) -> None:
    costs = [cost(table, closeness("cup", 0.2), levels) for levels in transformations(table)]
    whole = statistics.median(map(sum, costs))
    cells = " | ".join(f"{statistics.median(part):.2f}" for part in zip(*costs, strict=True))
    print(f"\nMilliseconds for one transformation of cup, RAMNTALL, medians of {TRANSFORMATIONS}.\n")
    print("| partition | histograms | distances | all | reference | ratio |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    print(f"| {cells} | {whole:.2f} | {REFERENCE_MS:g} | {REFERENCE_MS / whole:.1f} |")


def main() -> int:
    """Print both tables."""
    if not SHARED.is_dir():
        print(f"needs {SHARED.name}/data beside the project")
        return 0
    warm_up()
    tables = {name: frequency_table(name) for name in CASES}
    print_figure_2(tables)
    print_cost(tables["cup"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
