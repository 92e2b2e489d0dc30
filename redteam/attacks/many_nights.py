"""Somebody compares two hundred nightly releases of a ward: who came, died, moved, was corrected or withdrew consent.

In: 600 made-up persons on the first night, and 200 nights. On each, half a percent come and as many die or leave; one
moves to another ward, one has a diagnosis corrected; on each third somebody who left comes back, and on each tenth
somebody withdraws consent, leaves the table, and the vault of a series forgets him or her. The attacker knows the
quasi-identifiers of everybody and in which releases each person is, can link the records of a person over nights, and
has as many releases as the job remembers, or all two hundred. Measured without a `series` and with one, with both ways
that promise something to treat who is gone, and with newcomers who have coarser levels of their own.

Each person in each window of remembered releases is a try, if he or she is not in all of its files or changes class in
it; the attacker succeeds where the trace is that of fewer than k persons. What all two hundred tell together is beyond
`memory`: it is measured and not promised.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import engine
from engine.job.open_series import open_series
from redteam.outcome import Outcome, share

PERSONS, NIGHTS, MEMORY, K = 600, 200, 10, 5
WARDS, DIAGNOSES = ("east", "west"), tuple("abcd")
SERIES: tuple[tuple[str, Mapping[str, Any] | None], ...] = (
    ("no series", None),
    ("departures: cover", {"departures": "cover"}),
    ("departures: keep", {"departures": "keep", "max_nights": 5}),
    ("arrivals: batch", {"departures": "cover", "arrivals": "batch"}),
)
Released = Mapping[str, tuple[str, ...]]
"""Person to cell, of who is in the file."""


class Night(NamedTuple):
    """Tonight's persons, number to age, ward and diagnosis, and who has withdrawn consent since the night before."""

    people: dict[int, tuple[int, str, str]]
    withdrawn: list[int]


def attack(persons: int = PERSONS, nights: int = NIGHTS) -> Iterator[Outcome]:
    """Yield the outcomes without a series and with one."""
    told = list(changing(persons, nights))
    for name, series in SERIES:
        with tempfile.TemporaryDirectory() as folder:
            seen = released(told, Path(folder), series)
        table = f"{len(seen)} nights, {name}"
        tries, below, alone = changed(seen, MEMORY)
        bound = 1.0 if series is None else 0.0
        yield Outcome(f"who changed in {MEMORY} nights, found among fewer than {K}", table, tries, below, 0.0, bound)
        yield Outcome(f"who changed in {MEMORY} nights, found alone", table, tries, alone, 0.0, bound)
        tries, below, _ = changed(seen, len(seen))
        yield Outcome(f"who changed in all nights, found among fewer than {K}", table, tries, below, 0.0, 1.0)


def changing(persons: int, nights: int, seed: int = 1) -> Iterator[Night]:
    """Yield each night."""
    random, moving = np.random.default_rng(seed), max(1, persons // 200)
    people = {number: _person(random) for number in range(persons)}
    gone: list[int] = []
    known: dict[int, tuple[int, str, str]] = dict(people)
    withdrawn: list[int] = []
    for night in range(nights):
        yield Night(dict(people), withdrawn)
        leave = random.choice(list(people), moving, replace=False).tolist()
        moves, corrected, withdraws = random.choice(
            [number for number in people if number not in leave], 3, replace=False
        ).tolist()
        age, ward, diagnosis = people[moves]
        people[moves] = (age, WARDS[ward == WARDS[0]], diagnosis)
        age, ward, diagnosis = people[corrected]
        people[corrected] = (age, ward, DIAGNOSES[(DIAGNOSES.index(diagnosis) + 1) % len(DIAGNOSES)])
        withdrawn = [withdraws] if night % 10 == 9 else []
        for number in (*leave, *withdrawn):
            people.pop(number)
        if night % 3 == 2 and gone:
            back = gone.pop(int(random.integers(len(gone))))
            people[back] = known[back]
        gone += leave
        for number in range(len(known), len(known) + moving):
            people[number] = _person(random)
        known |= people


def released(nights: Sequence[Night], folder: Path, series: Mapping[str, Any] | None) -> list[Released]:
    """Release every night on which that is possible; return who is in the file."""
    return [
        dict(zip(file["who"], zip(file["age"], file["ward"], strict=True), strict=True))
        for file in files(nights, folder, job(folder, series))
    ]


def files(nights: Sequence[Night], folder: Path, made: engine.Job) -> Iterator[pd.DataFrame]:
    """Release every night on which that is possible; yield each file, as texts."""
    for night in nights:
        if made.series is not None and night.withdrawn:
            opened = open_series(made, "")
            opened.vault.forget(opened.key.ids([f"M{number}" for number in night.withdrawn]))
        try:
            engine.run(made, table(night), output=folder / "release")
        except engine.NoSolution:
            continue
        yield pd.read_parquet(folder / "release" / "data.parquet").astype(str)


def job(
    folder: Path,
    series: Mapping[str, Any] | None,
    models: Sequence[Mapping[str, Any]] = ({"model": "k-anonymity", "k": K},),
) -> engine.Job:
    """Return the job; the column who stands for what links a person's records, and only the attacks read it."""
    wards = {"builder": "grouping", "groups": [{"any": list(WARDS)}]}
    at = _from if series is not None and series.get("arrivals") == "batch" else _at
    document: dict[str, Any] = {
        "name": "ward",
        "subject": "mrn",
        "attributes": {
            "mrn": {"role": "identifying"},
            "who": {"role": "insensitive", "accept": "unique"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}, **at(2)},
            "ward": {"role": "quasi-identifying", "hierarchy": wards, **at(0)},
            "diagnosis": {"role": "sensitive"},
        },
        "privacy": list(models),
        "suppression_limit": 0.1,
        "output": {"path": str(folder / "release"), "suppressed": "drop"},
    }
    if series is not None:
        private = {"vault": str(folder / "vault.sqlite"), "key_file": str(folder / "key"), "memory": MEMORY}
        document["series"] = {**private, **series}
    return engine.load_job(document)


def _at(level: int) -> dict[str, int]:
    """Return the keys that fix a level: a change of levels alone would be one of everybody."""
    return {"minimum_level": level, "maximum_level": level}


def _from(level: int) -> dict[str, int]:
    """Return the key that fixes the lowest level: those of newcomers may be above it."""
    return {"minimum_level": level}


def table(night: Night) -> pd.DataFrame:
    """Return the source of a night."""
    rows = [(f"M{number}", str(number), str(age), *more) for number, (age, *more) in night.people.items()]
    return pd.DataFrame(rows, columns=["mrn", "who", "age", "ward", "diagnosis"], dtype=str)


def changed(nights: Sequence[Released], memory: int) -> tuple[int, float, float]:
    """Return the persons who changed within so many releases, and the shares in traces of fewer than K, and of one.

    A person counts once in each window of so many releases in which he or she changed.
    """
    tries = below = alone = 0
    for window in windows(nights, memory):
        persons = {person for night in window for person in night}
        sizes = Counter(tuple(night.get(person) for night in window) for person in persons)
        moved = [size for trace, size in sizes.items() if len(set(trace)) > 1]
        tries += sum(moved)
        below += sum(size for size in moved if size < K)
        alone += sum(size == 1 for size in moved)
    return tries, share(below, tries), share(alone, tries)


def windows(nights: Sequence[Released], memory: int) -> Iterator[Sequence[Released]]:
    """Yield the releases that are remembered on each night from which on the memory is full."""
    for last in range(memory, len(nights) + 1):
        yield nights[last - memory : last]


def _person(random: np.random.Generator) -> tuple[int, str, str]:
    age, ward, diagnosis = random.integers(20, 80), random.integers(len(WARDS)), random.integers(len(DIAGNOSES))
    return int(age), WARDS[ward], DIAGNOSES[diagnosis]
