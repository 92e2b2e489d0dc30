"""Somebody subtracts the releases of two nights: who came, who left, and with which sensitive value.

In: adult, 24,000 persons of it on the first night; each night 1% leave and as many come, ten nights, 5-anonymity at the
levels that lose least on the first night. Two attackers know the quasi-identifiers of everybody and who is in the table
on which night. One can link the records of a person over nights, such as by rare values of other columns: whoever is in
a trace of fewer than 5 persons is found among fewer than 5. The other one cannot, and looks at the sensitive values of
a class on two nights that follow each other: where one record of one value is gone, it is guessed to be that of a
person who left the class. Both are measured without a `series` and with one.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import engine
from redteam import adult
from redteam.outcome import Outcome, share

ACTIVE, NIGHTS, CHURN, K = 24_000, 10, 0.01, 5
PERSON, TAG = "person", "tag"
Night = Mapping[str, tuple[tuple[str, ...], str]]
"""Person to cell and sensitive value, of who is in the file."""


def attack(active: int = ACTIVE, nights: int = NIGHTS) -> Iterator[Outcome]:
    """Yield the outcomes without and with a series."""
    tables = list(churning(active, nights))
    for name, series in (("no series", None), ("series", {})):
        with tempfile.TemporaryDirectory() as folder:
            seen = released(tables, Path(folder), series)
        table = f"adult, {len(tables)} nights, {name}"
        changed, below, alone = traces(seen)
        bound = 1.0 if series is None else 0.0
        yield Outcome("who came or left, found among fewer than 5", table, changed, share(below, changed), 0.0, bound)
        yield Outcome("who came or left, found alone", table, changed, share(alone, changed), 0.0, bound)
        tries, right, baseline = differences(seen, tables)
        yield Outcome(
            "the value of who left, not linked", table, tries, share(right, tries), share(baseline, tries), 1.0
        )


def churning(active: int, nights: int, seed: int = 1) -> Iterator[pd.DataFrame]:
    """Yield the table of each night."""
    random = np.random.default_rng(seed)
    people = adult.people()
    people = people.assign(**{PERSON: [f"P{place:05}" for place in range(len(people))]})
    people[TAG] = people[PERSON]
    order = random.permutation(len(people))
    inside, waiting = order[:active], order[active:]
    moving = int(active * CHURN)
    yield people.iloc[inside]
    for _ in range(nights):
        gone = random.choice(inside, moving, replace=False)
        inside = np.concatenate([np.setdiff1d(inside, gone), waiting[:moving]])
        waiting = waiting[moving:]
        yield people.iloc[inside]


def released(tables: Sequence[pd.DataFrame], folder: Path, series: Mapping[str, Any] | None) -> list[Night]:
    """Release every night at the levels that lose least on the first; return who is in the file."""
    free = job(None, {})
    levels = engine.run({**free, "output": None}, tables[0][list(free["attributes"])]).report["solution"]["levels"]
    private = {"vault": str(folder / "vault.sqlite"), "key_file": str(folder / "key")}
    stays = job(None if series is None else {**private, **series}, levels)
    found = []
    for table in tables:
        engine.run(stays, table[list(stays["attributes"])], output=folder / "release")
        file = pq.read_table(folder / "release" / "data.parquet").to_pandas().astype(str)
        cells = map(tuple, file[list(adult.QUASI_IDENTIFIERS)].to_numpy().tolist())
        found.append(dict(zip(file[TAG], zip(cells, file[adult.SENSITIVE], strict=True), strict=True)))
    return found


def job(series: Mapping[str, Any] | None, levels: Mapping[str, int]) -> dict[str, Any]:
    """Return the job; the tag stands for what links a person's records, and only the attacks read it."""
    made = adult.job_of([{"model": "k-anonymity", "k": K}], suppression_limit=0.05, subject=PERSON)
    made["attributes"] |= {PERSON: {"role": "identifying"}, TAG: {"role": "insensitive", "accept": "unique"}}
    for name, level in levels.items():
        made["attributes"][name] |= {"minimum_level": level, "maximum_level": level}
    made["output"] = {"path": "release", "suppressed": "drop"}
    return made if series is None else {**made, "series": series}


def traces(nights: Sequence[Night]) -> tuple[int, int, int]:
    """Return the persons who are not in all files, and those of them in a trace of fewer than K, and of one."""
    by_trace: Counter[tuple[Any, ...]] = Counter()
    for person in {person for night in nights for person in night}:
        by_trace[tuple(night[person][0] if person in night else None for night in nights)] += 1
    changed = {trace: number for trace, number in by_trace.items() if None in trace}
    below = sum(number for number in changed.values() if number < K)
    return sum(changed.values()), below, sum(number == 1 for number in changed.values())


def differences(nights: Sequence[Night], tables: Sequence[pd.DataFrame]) -> tuple[int, int, int]:
    """Return the guesses of who cannot link, those that are right, and those right by the value of most people."""
    most = adult.people()[adult.SENSITIVE].mode()[0]
    tries = right = baseline = 0
    for (before, after), (source, later) in zip(itertools.pairwise(nights), itertools.pairwise(tables), strict=True):
        left = defaultdict(list)
        for person in set(source[PERSON]) - set(later[PERSON]):
            if person in before:
                left[before[person][0]].append(before[person][1])
        counts = [_histograms(night) for night in (before, after)]
        for cell, values in left.items():
            fewer = counts[0][cell] - counts[1][cell]
            if sum(fewer.values()) == 1:
                (guess,) = fewer
                tries += len(values)
                right += sum(value == guess for value in values)
                baseline += sum(value == most for value in values)
    return tries, right, baseline


def _histograms(night: Night) -> dict[tuple[str, ...], Counter[str]]:
    found: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for cell, value in night.values():
        found[cell][value] += 1
    return found
