"""Somebody has releases with pseudonyms and shifted dates, and this code, but no key.

In: releases of made-up visits. Tried are all record numbers of six digits against the pseudonyms; the true date of a
record that is found again in releases with fresh shifts, and in those with a shift that stays; and the other dates of a
person of whom one is known.
"""

from __future__ import annotations

import datetime as dt
import hmac
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from engine import run
from redteam.outcome import Outcome, share

PERSONS, NIGHTS, DAYS = 200, 30, 30
NAME = "visits"
_FIRST = dt.date(2025, 1, 1)


def attack(persons: int = PERSONS, nights: int = NIGHTS, numbers: int = 10**6) -> Iterator[Outcome]:
    """Yield the share of identifiers, and of dates, that were found."""
    people = _people(persons, numbers)
    releases = [_released(people) for _ in range(nights)]
    yield _identifiers(people, releases[0], numbers)
    one = 1 / (2 * DAYS)
    true = dict(zip(people["number"], people["admitted"], strict=True))
    fresh = _dates(releases)
    right = sum(_middle(found) == true[number] for number, found in fresh.items())
    what = f"a date by {nights} releases with fresh shifts"
    yield Outcome(what, "made-up visits", persons, share(right, persons), one, 1.0)
    staying = _dates([_released(people, release_key=b"0" * 32) for _ in range(2)])
    tried = np.random.default_rng(1).choice(_SHIFTS, persons).tolist()
    guesses = [
        found[0] + dt.timedelta(days=by) == true[one] for by, (one, found) in zip(tried, staying.items(), strict=True)
    ]
    what = "a date by releases with a shift that stays"
    yield Outcome(what, "made-up visits", persons, share(sum(guesses), persons), one, one)
    yield _others(people, releases[0])


_SHIFTS = [days for days in range(-DAYS, DAYS + 1) if days]


def _people(persons: int, numbers: int) -> pd.DataFrame:
    """Make one visit of each person: its number tells the row, a detail of it again in each release."""
    chosen = np.random.default_rng(0)
    made = [_FIRST + dt.timedelta(days=day) for day in chosen.integers(0, 300, persons).tolist()]
    later = chosen.integers(1, 60, persons).tolist()
    return pd.DataFrame(
        {
            "mrn": [f"{number:06}" for number in chosen.choice(numbers, persons, replace=False).tolist()],
            "number": range(persons),
            "age": ["30", "40"] * (persons // 2),
            "admitted": made,
            "seen": [day + dt.timedelta(days=days) for day, days in zip(made, later, strict=True)],
        }
    )


def _released(people: pd.DataFrame, release_key: bytes | None = None) -> pd.DataFrame:
    dates = {"role": "insensitive", "action": "shift"}
    job = {
        "name": NAME,
        "subject": "mrn",
        "attributes": {
            "mrn": {"role": "identifying", "action": "pseudonymize", "accept": "linked-rows"},
            "number": {"role": "insensitive", "accept": "unique"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
            "admitted": {**dates, "accept": "unique"},
            "seen": {**dates, "accept": "unique"},
        },
        "shift": {"days": DAYS},
        "privacy": [{"model": "k-anonymity", "k": 5}],
    }
    found: pd.DataFrame = run(job, table=people, release_key=release_key).table.to_pandas()
    return found


def _identifiers(people: pd.DataFrame, release: pd.DataFrame, numbers: int) -> Outcome:
    """Try all numbers by the code of the product, without its key."""
    wanted, found = set(release["mrn"]), set()
    make = _keyless()
    for number in range(numbers):
        text = f"{number:06}"
        if make(text) in wanted:
            found.add(text)
    right = len(found & set(people["mrn"]))
    return Outcome(
        "an identifier of six digits by its pseudonym",
        "made-up visits",
        len(people),
        share(right, len(people)),
        0.0,
        0.0,
    )


@lru_cache
def _keyless() -> Callable[[str], str]:
    from engine.tables.altered.pseudonyms import pseudonym_key  # noqa: PLC0415 (not in earlier versions)

    key = pseudonym_key(b"", NAME, "mrn")
    return lambda text: hmac.digest(key, text.encode(), "sha256")[:16].hex()


def _dates(releases: list[pd.DataFrame]) -> dict[int, list[dt.date]]:
    found: dict[int, list[dt.date]] = {}
    for release in releases:
        for number, day in zip(release["number"], release["admitted"], strict=True):
            found.setdefault(number, []).append(day)
    return found


def _middle(days: list[dt.date]) -> dt.date:
    """Return the middle of the smallest and the largest date: shifts are as likely in both directions."""
    return min(days) + (max(days) - min(days)) // 2


def _others(people: pd.DataFrame, release: pd.DataFrame) -> Outcome:
    """Read the second date of a person off the first one, which is known."""
    released = release.set_index("number")
    right = 0
    for visit in people.itertuples():
        shown: Any = released.loc[visit.number]
        right += visit.admitted + (shown["seen"] - shown["admitted"]) == visit.seen
    baseline = 1 / (2 * DAYS)
    return Outcome(
        "another date of a person, one date known",
        "made-up visits",
        len(people),
        share(right, len(people)),
        baseline,
        1.0,
    )
