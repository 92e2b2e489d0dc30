"""Nights of a series of made-up patients, whose releases carry the true ids in a column of their own."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from engine import load_job

WARDS = {"builder": "grouping", "groups": [{"low": ["0", "1"], "high": ["2", "3"]}, {"any": ["low", "high"]}]}
FIXED = {
    "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}, "minimum_level": 0, "maximum_level": 0},
    "ward": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0},
}
"""Levels of the attributes of `movers`."""


def job(folder, k=3, diversity=None, memory=4, **changes):
    """Return the job; its vault and its release are in a folder."""
    privacy = [{"model": "k-anonymity", "k": k}]
    if diversity is not None:
        privacy.append({"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": diversity})
    series = {"vault": str(folder / "vault.sqlite"), "key_file": str(folder / "key"), "memory": memory}
    document = {
        "name": "patients",
        "attributes": {
            "mrn": {"role": "identifying"},
            "who": {"role": "insensitive", "accept": "unique"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
            "ward": {"role": "quasi-identifying", "hierarchy": WARDS},
            "diagnosis": {"role": "sensitive"},
        },
        "subject": "mrn",
        "privacy": privacy,
        "suppression_limit": 0.3,
        "allow_empty_information": True,
        "output": {"path": str(folder / "release")},
        **changes,
    }
    document["series"] = {**series, **document.get("series", {})}
    return load_job(document)


def table(people):
    """Return the source: people are a mapping of number to (age, ward, diagnosis)."""
    numbers = list(people)
    return pd.DataFrame(
        {
            "mrn": [f"MRN{number}" for number in numbers],
            "who": [str(number) for number in numbers],
            "age": [str(people[number][0]) for number in numbers],
            "ward": [str(people[number][1]) for number in numbers],
            "diagnosis": [people[number][2] for number in numbers],
        },
        dtype=str,
    )


def patients(number, seed=0, begin=0):
    """Return so many made-up people, from a number on."""
    random = np.random.default_rng(seed)
    ages, wards = random.integers(20, 80, number), random.integers(0, 4, number)
    values = np.array(list("abcd"))[random.integers(0, 4, number)]
    people = zip(ages.tolist(), wards.tolist(), values.tolist(), strict=True)
    return {begin + place: one for place, one in enumerate(people)}


def in_file(released):
    """Return a night as the reference has it, of the released file alone."""
    frame = released.to_pandas()
    return {row.who: ((row.age, row.ward), row.diagnosis) for row in frame.itertuples(index=False)}


def stated(folder):
    """Return what the published report says of the series."""
    return json.loads((folder / "release" / "report.json").read_text())["series"]


def movers():
    """Give two nights: five persons of one value move to another ward, and have other values there."""
    first = dict.fromkeys(range(5), (30, 0, "a"))
    first |= {10 + number: (30, 0, "bc"[number % 2]) for number in range(10)}
    first |= {30 + number: (30, 1, "bcd"[number % 3]) for number in range(10)}
    return first, first | {number: (30, 1, "bd"[number % 2]) for number in range(5)}
