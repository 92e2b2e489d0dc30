"""Somebody knows that a person's diagnosis was corrected, and compares the nights before and after.

In: the ward of `many_nights`, where each night one diagnosis is corrected, and on each tenth those of a sixth of the
persons too, under 5-anonymity and distinct 2-diversity.
The attacker knows the quasi-identifiers of everybody, in which releases each person is, and between which two releases
a person's diagnosis changed. Measured without a `series`, with one that judges the values of every night, and with one
where a trace tells on which nights values changed.

Each person who is in two releases that follow each other, with another diagnosis in the later one, is a try; the
attacker succeeds where fewer than k persons of the same two classes have another diagnosis, of whom the difference of
the two files has the old values and the new ones.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from redteam.attacks.many_nights import DIAGNOSES, MEMORY, NIGHTS, PERSONS, K, Night, changing, files, job
from redteam.outcome import Outcome, share

MODELS = (
    {"model": "k-anonymity", "k": K},
    {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2},
)
SERIES: tuple[tuple[str, Mapping[str, Any] | None], ...] = (
    ("no series", None),
    ("values: every", {"values": "every"}),
    ("values: changes", {"values": "changes"}),
)


def attack(persons: int = PERSONS, nights: int = NIGHTS) -> Iterator[Outcome]:
    """Yield the outcomes without a series and with one."""
    told = list(more_corrected(changing(persons, nights)))
    for name, series in SERIES:
        with tempfile.TemporaryDirectory() as folder:
            made = list(files(told, Path(folder), job(Path(folder), series, MODELS)))
        full = range(min(MEMORY, len(made) - 1), len(made))
        there = share(sum(len(made[night]) for night in full), sum(len(told[night].people) for night in full))
        tries, below, alone = corrected(made)
        bound = 0.0 if series is not None and series["values"] == "changes" else 1.0
        table = f"{name}, {there:.0%} released"
        yield Outcome(f"whose diagnosis changed, found among fewer than {K}", table, tries, below, 0.0, bound)
        yield Outcome("whose diagnosis changed, found alone", table, tries, alone, 0.0, bound)


def more_corrected(nights: Iterable[Night]) -> Iterator[Night]:
    """Yield the nights; from each tenth on every sixth person has another diagnosis."""
    steps: Counter[int] = Counter()
    for number, night in enumerate(nights):
        if number % 10 == 5:
            steps.update(person for person in night.people if person % 6 == number // 10 % 6)
        people = {
            person: (age, ward, DIAGNOSES[(DIAGNOSES.index(diagnosis) + steps[person]) % len(DIAGNOSES)])
            for person, (age, ward, diagnosis) in night.people.items()
        }
        yield night._replace(people=people)


def corrected(made: Sequence[pd.DataFrame]) -> tuple[int, float, float]:
    """Return who has another diagnosis than in the release before, and the shares among fewer than K, and alone."""
    tries = below = alone = 0
    for before, after in itertools.pairwise(made):
        both = before.merge(after, on="who", suffixes=("", " after"))
        other = both[both["diagnosis"] != both["diagnosis after"]]
        cells = other[["age", "ward", "age after", "ward after"]].itertuples(index=False, name=None)
        sizes = Counter(cells).values()
        tries += sum(sizes)
        below += sum(size for size in sizes if size < K)
        alone += sum(size == 1 for size in sizes)
    return tries, share(below, tries), share(alone, tries)
