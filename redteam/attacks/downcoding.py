"""Somebody undoes generalization, because only some tables make the search choose these levels (downcoding).

After Cohen 2022 (Attacks on Deidentification's Defenses, section 3): the release has the lowest levels that hold, so a
table that would have been released with more detail is ruled out. The attacker here is the strongest that there is: for
all tables of a few records, drawn from a population that is known, the release is computed, and a guess of a record's
exact values is the one that is right most often among the tables with this very release. The baseline has the same
population and the same labels, and does not know how the levels were chosen.

In: every table of 6 records over two quasi-identifiers of 4 and 2 values, under 2-anonymity without suppression. The
criteria promise nothing against this; the bound says how much more than the labels the choice of the levels may tell.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

import engine
from redteam.outcome import Outcome

RECORDS, K = 6, 2
AGES = {"20": ("20", "20-39", "*"), "30": ("30", "20-39", "*"), "40": ("40", "40-59", "*"), "50": ("50", "40-59", "*")}
SEXES = {"f": ("f", "*"), "m": ("m", "*")}
SHARES = {"20": 0.4, "30": 0.3, "40": 0.2, "50": 0.1, "f": 0.6, "m": 0.4}
CELLS = list(itertools.product(AGES, SEXES))
GAIN = 0.1
"""How much more of the records a guess may have right than the labels alone give."""
Cell = tuple[str, str]
Table = tuple[Cell, ...]


def attack(records: int = RECORDS) -> Iterator[Outcome]:
    """Yield the outcome for k = 2."""
    by_release: dict[Table, dict[Table, float]] = defaultdict(dict)
    with tempfile.TemporaryDirectory() as folder:
        job = _job(Path(folder))
        for table in itertools.combinations_with_replacement(CELLS, records):
            labels = _released(table, job)
            if labels is not None:
                by_release[labels][table] = _probability(table)
    total = sum(sum(tables.values()) for tables in by_release.values())
    found = known = 0.0
    for labels, tables in by_release.items():
        for label in set(labels):
            right = _right(label, tables)
            found += max(right.values()) / records
            known += right[_most_likely(label)] / records
    baseline = known / total
    tries = len(by_release) * records
    name = f"all tables of {records} records, k = {K}"
    yield Outcome(
        "exact values by the choice of levels", name, tries, found / total, baseline, baseline + GAIN, exact=True
    )


def _job(folder: Path) -> engine.Job:
    attributes = {}
    for name, hierarchy in (("age", AGES), ("sex", SEXES)):
        path = folder / f"{name}.csv"
        path.write_text("".join(";".join(labels) + "\n" for labels in hierarchy.values()))
        attributes[name] = {"role": "quasi-identifying", "hierarchy": str(path)}
    return engine.load_job(
        {
            "name": "small",
            "attributes": attributes,
            "privacy": [{"model": "k-anonymity", "k": K}],
            "suppression_limit": 0,
        }
    )


def _released(table: Table, job: engine.Job) -> Table | None:
    """Return the labels that the engine releases, in an order that tells nothing; None if nothing is released."""
    try:
        made = engine.run(job, pd.DataFrame(table, columns=["age", "sex"])).table
    except engine.NoSolution:
        return None
    return tuple(sorted(zip(made.column("age").to_pylist(), made.column("sex").to_pylist(), strict=True)))


def _probability(table: Table) -> float:
    """Return how likely a table is, whatever the order of its records."""
    ways = math.factorial(len(table))
    for number in Counter(table).values():
        ways //= math.factorial(number)
    return ways * math.prod(SHARES[age] * SHARES[sex] for age, sex in table)


def _fits(cell: Cell, label: Cell) -> bool:
    age, sex = cell
    return label[0] in AGES[age] and label[1] in SEXES[sex]


def _right(label: Cell, tables: dict[Table, float]) -> Counter[Cell]:
    """Return how many records with this label each guess has right, times the probability of their tables."""
    right: Counter[Cell] = Counter()
    for table, probability in tables.items():
        for cell in table:
            if _fits(cell, label):
                right[cell] += probability
    return right


def _most_likely(label: Cell) -> Cell:
    """Return the best guess by the label alone."""
    return max((cell for cell in CELLS if _fits(cell, label)), key=lambda cell: SHARES[cell[0]] * SHARES[cell[1]])
