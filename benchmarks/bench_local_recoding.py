"""Local recoding beside full-domain generalization on the shared tables: loss, lower bound, seconds, memory, accuracy.

    python benchmarks/bench_local_recoding.py [TABLE ...] [--models MODELS ...] [--seconds SECONDS] [--passes PASSES]
        [--levels LEVELS] [--gap GAP] [--visits VISITS] [--repeat SECONDS] [--accuracy RECORDS]

In: `../shared`, all columns of a table quasi-identifying (of models of a sensitive value: all others), no record
suppressed. Out: a Markdown table with the loss of the full-domain optimum with 5% suppressed and with none; of the
full-domain search repeated on the records that it suppressed, at most nine in ten of those left per round, the rest
being suppressed (as the local recoding of ARX does: Prasser, Kohlmayer, Kuhn 2016); of top-down splitting; of the
default; the lower bound of every recoding by so many passes at most (of VISITS at most, until GAP is reached); the gap,
what a better recoding could save at most as a share; and CPU seconds of the default and of the bound, with two threads.
MODELS are among `k2`, `k5`, `k11`, `k20`, `l` (with 5-anonymity distinct 3-diversity) and `t` (with 5-anonymity
0.2-closeness, hierarchical), where a table has a sensitive column, and `map` (5-map) and `d` (0.05 to 0.15-presence) of
the shared subset of a table, a tenth of it, beside the whole table. With SECONDS every search for levels, every
recoding and every bound ends after so many by the clock, with the best that it has; `-` where it has none; with LEVELS
the searches for levels alone do. With `--accuracy`, lines with a sensitive column also have how often a random forest
of scikit-learn, on so many records in five folds, predicts it by the quasi-identifiers, trained on the source, on the
full-domain release with 5% suppressed, and on that of the default; first, the share of the most frequent value. Each
recoding is counted again: its classes have k records, or k people of the population, or shares of it in the range and
nobody in common, and its records are those of the table.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import resource
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from repeated_generalization import repeated
from shared_tables import DATA, MODELS, SENSITIVE, Tables, header, job_of, missing

from engine import run
from engine.job.problem import recoded_for
from engine.job.transformation import RecodingSettings
from engine.kernels.warm_up import warm_up
from engine.search.algorithms.optimal import optimal
from engine.search.problem import Problem, Solution
from engine.search.recoding.deadline import Deadline
from engine.search.recoding.lower_bound import lower_bound
from engine.utility.information_loss import leading

K = {k: [{"model": "k-anonymity", "k": k}] for k in (2, 5, 11, 20)}
DIVERSE = [K[5][0], {"model": "l-diversity", "variant": "distinct", "l": 3}]
CLOSE = [K[5][0], MODELS["t"]]
MAPPED = [{"model": "k-map", "k": 5}]
PRESENT = [MODELS["d"]]
TABLES = ("adult", "fars", "cup", "ihis_synthetic", "ss13acs_synthetic")
CRITERIA: Mapping[str, tuple[str, list[Any]]] = {
    **{f"k{k}": (f"{k}-anonymity", models) for k, models in K.items()},
    "l": ("5-anonymity, distinct 3-diversity", DIVERSE),
    "t": ("5-anonymity, 0.2-closeness", CLOSE),
    "map": ("5-map", MAPPED),
    "d": ("0.05 to 0.15-presence", PRESENT),
}
BESIDE = {"map", "d"}
"""Those that compare a subset with the whole table, where that is shared."""
COLUMNS = 11
"""Of figures."""
LARGE = 100_000
"""Tuples above which generalization is not repeated."""
DEFAULT = RecodingSettings()


class Case(NamedTuple):
    """A line: a table, the text and the entries of its models, and what was given."""

    name: str
    text: str
    models: list[Any]
    given: argparse.Namespace


def recount(problem: Problem, found: Problem, solution: Solution, model: Mapping[str, Any]) -> None:
    """Assert that a recoding has the records of the table, in classes by the texts of their labels that hold."""
    table, recoding = found.table, solution.recoding
    assert recoding is not None
    assert table.records == problem.table.records
    cells: dict[tuple[Any, ...], int] = {}
    labels = [
        np.array([[labels[code] for code in codes] for labels, codes in zip(one.labels, one.codes, strict=True)])
        for one in table.hierarchies
    ]
    shown = [labels[a][recoding.levels[:, a], table.codes[a]].tolist() for a in range(len(labels))]
    for cell, records in zip(zip(*shown, strict=True), table.counts.tolist(), strict=True):
        if records:
            cells[cell] = cells.get(cell, 0) + records
    if model["model"] == "k-anonymity":
        assert min(cells.values()) >= model["k"]
        return
    recount_people(problem, labels, cells, model)


def recount_people(
    problem: Problem, labels: list[Any], cells: Mapping[tuple[Any, ...], int], model: Mapping[str, Any]
) -> None:
    """Assert that the people whom a class fits, and no other, are as many as a model demands: class by class."""
    table = problem.table
    assert table.population is not None
    fitting = np.zeros(table.counts.size, np.int64)
    of_cell = {}
    for cell in cells:
        fits = table.population > 0
        for a, text in enumerate(cell):
            fits = fits & (labels[a] == text).any(axis=0)[table.codes[a]]
        of_cell[cell] = np.flatnonzero(fits)
        fitting[of_cell[cell]] += 1
    for cell, records in cells.items():
        rows = of_cell[cell]
        people, alone = int(table.population[rows].sum()), int(table.population[rows[fitting[rows] == 1]].sum())
        if model["model"] == "k-map":
            assert min(people, max(alone, records)) >= model["k"]
        else:
            assert people == alone
            assert model["delta_min"] <= records / people <= model["delta_max"]


def measured(case: Case) -> str:
    """Return a line of the table."""
    name, models_text, models, given = case
    limit = given.seconds
    warm_up()
    columns = header(name) if len(models) == 1 else None
    tables = Tables(name, models, columns)
    job = job_of(name, models, columns, transformation="local-recoding", unit="record", search={"threads": 2})
    without_bound = {"bound_passes": 0, "time_limit_seconds": limit}
    jobs = {
        algorithm: job.model_copy(
            update={"recoding": job.recoding.model_copy(update={"algorithm": algorithm, **without_bound})}
        )
        for algorithm in ("splitting", "clustering")
    }
    ends = given.levels or limit
    search = {"threads": 2, **({} if ends is None else {"time_limit_seconds": ends})}
    problem = tables.problem(search=search)
    if given.repeat:
        began = time.process_time()
        again = repeated(problem, given.repeat)
        return f"| {name} | {models_text} | {again:.4f} | {time.process_time() - began:.1f} |"
    suppressing = optimal(tables.problem(suppression_limit=0.05, search=search))
    start = optimal(problem)
    if start is None or suppressing is None:
        return f"| {name} {len(problem.table.attributes)} | {models_text} |{' - |' * COLUMNS}"
    _, split = recoded_for(jobs["splitting"], problem, start)
    began = time.process_time()
    found, best = recoded_for(jobs["clustering"], problem, start)
    seconds = time.process_time() - began
    recount(problem, found, best, models[0])
    assert leading(best.loss) <= leading(split.loss) <= leading(start.loss)
    began = time.process_time()
    enough = leading(best.loss) * (1.0 - given.gap)
    bound = lower_bound(problem, given.passes, given.visits, Deadline(limit), enough)
    bounding = time.process_time() - began
    assert bound <= leading(best.loss)
    # models that compare with the table would be of what is left of it; of large tables, and where a search for levels
    # ends by the clock, it takes minutes
    compares = any(model.compares_with_table for model in problem.models)
    too_long = problem.table.counts.size > LARGE or not suppressing.optimal
    beside = problem.table.population is not None
    again = "" if compares or too_long or beside else f"{repeated(problem):.4f}"
    losses = " | ".join(f"{leading(one.loss):.4f}" for one in (suppressing, start))
    loss = leading(best.loss)
    bounded = f"{bound:.4f} | {1 - bound / loss:.0%}" if bound else "- | -"
    predicted = accuracies(name, models, columns, given.accuracy) if given.accuracy and columns is None else ""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"| {name} {len(problem.table.attributes)} | {models_text} | {losses} | {again} | {leading(split.loss):.4f} | "
        f"{loss:.4f} | {bounded} | {seconds:.1f} | {bounding:.1f} | {memory:.0f} | {predicted} |"
    )


def accuracies(name: str, models: list[Any], columns: list[str] | None, records: int) -> str:
    """Return the accuracy of the most frequent value, and of a forest by the source and by two releases."""
    sensitive = SENSITIVE[name]
    found = []
    for settings in (
        {"suppression_limit": 0.05},
        {"transformation": "local-recoding", "recoding": {"bound_passes": 0}},
    ):
        usefulness = {"targets": [sensitive], "records": records}
        job = job_of(name, models, columns, unit="record", usefulness=usefulness, search={"threads": 2}, **settings)
        (target,) = run(job).report["usefulness"]["targets"]
        (forest,) = (one for one in target["models"] if one["model"] == "random-forest")
        found.append((target["baseline"], forest["source"]["accuracy"], forest["release"]["accuracy"]))
    (baseline, source, full), (_, _, ours) = found
    return f"{baseline:.3f}, {source:.3f}, {full:.3f}, {ours:.3f}"


def has_subset(name: str) -> bool:
    """Tell whether a subset of a table is shared."""
    return (DATA / name / f"{name}_subset.csv").exists()


def main() -> int:
    """Print the table; a process for each line, for its memory."""
    if missing():
        print(missing())
        return 0
    parser = argparse.ArgumentParser(description="Print the table.")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES)}; all, if none is named")
    parser.add_argument("--models", nargs="+", choices=CRITERIA, default=list(CRITERIA))
    parser.add_argument("--seconds", type=float, help="after which a search, a recoding or a bound ends")
    parser.add_argument("--levels", type=float, help="seconds after which a search for levels ends")
    parser.add_argument("--passes", type=int, default=DEFAULT.bound_passes, help="of the bound at most; 0 for none")
    parser.add_argument("--gap", type=float, default=DEFAULT.bound_gap, help="with which no further pass is made")
    parser.add_argument("--visits", type=int, default=DEFAULT.bound_visits, help="of a pass of the bound at most")
    parser.add_argument("--repeat", type=float, metavar="SECONDS", help="of a round: repeated generalization alone")
    parser.add_argument("--accuracy", type=int, default=0, metavar="RECORDS", help="that a forest sees")
    given = parser.parse_args()
    if given.repeat:
        print("| table | models | repeated | CPU s |\n| --- | --- | ---: | ---: |")
    else:
        print("| table | models | full-domain, 5% suppressed | none | repeated | splitting | ours |", end="")
        print(" lower bound | gap | ours, CPU s | bound, CPU s | MB | accuracy |")
        print(f"| --- | --- |{' ---: |' * COLUMNS}")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        cases = [
            Case(name, *CRITERIA[models], given)
            for name, models in itertools.product(given.tables or TABLES, given.models)
            if (has_subset(name) if models in BESIDE else name in SENSITIVE or models.startswith("k"))
        ]
        for line in pool.imap(measured, cases):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
