"""Somebody undoes generalization, because only some tables make the search choose these labels (downcoding).

After Cohen 2022 (Attacks on Deidentification's Defenses, section 3): the release has the finest labels that hold, so a
table that would have been released with more detail is ruled out. The attacker here is the strongest that there is: for
all tables of a few records, drawn from a population that is known, the release is computed, and a guess of a record's
exact values is the one that is right most often among the records under this label of the tables with this very
release. The baseline has the same population and the same label, and does not know how labels were chosen.

In: every table of 6 records over two quasi-identifiers of 4 and 2 values, under 2-anonymity without suppression:
released at the levels that lose least, by local recoding, and at levels that were fixed beforehand. The criteria
promise nothing against this; the bound says how much more than the labels the choice of the levels may tell, and none
is given for a local recoding. Each release is named with its price: the share of tables that have a release, and the
mean loss of these.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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
FIXED = {"age": 1, "sex": 1}
"""Levels at which more than half of all tables are 2-anonymous."""
Cell = tuple[str, str]
Table = tuple[Cell, ...]
Pair = tuple[Cell, Cell]
"""The label of a record and its exact values."""


def attack(records: int = RECORDS) -> Iterator[Outcome]:
    """Yield the outcomes for k = 2 of each kind of release."""
    with tempfile.TemporaryDirectory() as folder:
        yield _outcome("full domain", _job(Path(folder)), records, GAIN)
        yield _outcome("local recoding", _job(Path(folder), transformation="local-recoding"), records, 1.0)
        yield _outcome("fixed levels", _job(Path(folder), FIXED), records, GAIN)


def _outcome(kind: str, job: engine.Job, records: int, gain: float) -> Outcome:
    by_release: dict[tuple[Cell, ...], Counter[Pair]] = defaultdict(Counter)
    total = everything = lost = 0.0
    for table in itertools.combinations_with_replacement(CELLS, records):
        probability = _probability(table)
        everything += probability
        found = _released(table, job)
        if found is None:
            continue
        pairs, loss = found
        total += probability
        lost += probability * loss
        release = by_release[tuple(sorted(label for label, _ in pairs))]
        for pair in pairs:
            release[pair] += probability
    right = known = 0.0
    for pairs_right in by_release.values():
        for label in {label for label, _ in pairs_right}:
            right += max(weight for pair, weight in pairs_right.items() if pair[0] == label)
            known += pairs_right[label, _most_likely(label)]
    tries = len(by_release) * records
    baseline = known / total / records
    name = f"{kind}, {total / everything:.0%} of tables, loss {lost / total:.2f}"
    bound = min(1.0, baseline + gain)
    return Outcome(
        "exact values by the choice of levels", name, tries, right / total / records, baseline, bound, exact=True
    )


def _job(folder: Path, fixed: Mapping[str, int] | None = None, **changes: str) -> engine.Job:
    # what a record was is carried to the attacker's count of right guesses, not to the attacker
    attributes: dict[str, Any] = {"exact": {"role": "insensitive"}}
    for name, hierarchy in (("age", AGES), ("sex", SEXES)):
        path = folder / f"{name}.csv"
        path.write_text("".join(";".join(labels) + "\n" for labels in hierarchy.values()))
        level = {} if fixed is None else {"minimum_level": fixed[name], "maximum_level": fixed[name]}
        attributes[name] = {"role": "quasi-identifying", "hierarchy": str(path), **level}
    return engine.load_job(
        {
            "name": "small",
            "attributes": attributes,
            "privacy": [{"model": "k-anonymity", "k": K}],
            "suppression_limit": 0,
            **changes,
        }
    )


def _released(table: Table, job: engine.Job) -> tuple[list[Pair], float] | None:
    """Return the label and the exact values of each record, and the loss; None if nothing is released."""
    frame = pd.DataFrame(table, columns=["age", "sex"]).assign(exact=["/".join(cell) for cell in table])
    try:
        result = engine.run(job, frame)
        made = result.table
    except engine.NoSolution:
        return None
    columns = (made.column(name).to_pylist() for name in ("age", "sex", "exact"))
    pairs = [((age, sex), (exact.split("/")[0], exact.split("/")[1])) for age, sex, exact in zip(*columns, strict=True)]
    return pairs, result.report["solution"]["information_loss"] or 0.0


def _probability(table: Table) -> float:
    """Return how likely a table is, whatever the order of its records."""
    ways = math.factorial(len(table))
    for number in Counter(table).values():
        ways //= math.factorial(number)
    return ways * math.prod(SHARES[age] * SHARES[sex] for age, sex in table)


def _fits(cell: Cell, label: Cell) -> bool:
    age, sex = cell
    return label[0] in AGES[age] and label[1] in SEXES[sex]


def _most_likely(label: Cell) -> Cell:
    """Return the best guess by the label alone."""
    return max((cell for cell in CELLS if _fits(cell, label)), key=lambda cell: SHARES[cell[0]] * SHARES[cell[1]])
