"""Somebody knows by what the source is ordered, or holds last night's file, and goes by the place of a record.

In: adult ordered by age, released under 5-anonymity beside a copy of the exact age that only the score reads. The
attacker gives the records, or those of each class, the ages of the source in their order. Without the order, the best
guess is the most frequent age of a class. Last night's file has all records but one percent: the attacker joins the
records of a class by their place.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from redteam import adult
from redteam.outcome import Outcome, share

RECORDS = 6000
TRUTH = "exact"
LABELS = ["sex", "age", "race"]


def attack(records: int = RECORDS) -> Iterator[Outcome]:
    """Yield the outcomes for the order of the source and for last night's file."""
    source = adult.people().sample(records, random_state=5).sort_values("age", kind="stable")
    tonight = _released(source)
    classes = tonight.groupby(LABELS)[TRUTH]
    ages = source["age"].to_numpy()
    overall = int((tonight[TRUTH].astype(int).to_numpy() == ages[: len(tonight)]).sum())
    within = int((tonight[TRUTH] == classes.transform(lambda one: np.sort(one.astype(int)).astype(str))).sum())
    best = int(classes.agg(lambda one: one.value_counts().iloc[0]).sum())
    baseline = share(best, len(tonight))
    found = share(max(overall, within), len(tonight))
    yield Outcome("exact age by the order of the source", "adult by age", len(tonight), found, baseline, baseline)
    yield _join(source, tonight)


def _join(source: pd.DataFrame, tonight: pd.DataFrame) -> Outcome:
    before = _released(source.drop(source.sample(frac=0.01, random_state=3).index))
    pairs = [
        frame.assign(place=frame.groupby(LABELS).cumcount()).set_index([*LABELS, "place"])[TRUTH]
        for frame in (tonight, before)
    ]
    joined = pd.concat(pairs, axis=1, join="inner", keys=["tonight", "before"])
    right = int((joined["tonight"] == joined["before"]).sum())
    by_chance = tonight.groupby(LABELS)[TRUTH].agg(lambda one: float((one.value_counts() ** 2).sum()) / len(one)).sum()
    baseline = share(int(np.ceil(by_chance)), len(tonight))
    return Outcome(
        "the same record in last night's file",
        "adult by age",
        len(joined),
        share(right, len(joined)),
        baseline,
        baseline,
    )


def _released(source: pd.DataFrame) -> pd.DataFrame:
    job = adult.job_of([{"model": "k-anonymity", "k": 5}], LABELS, attributes={TRUTH: {"role": "insensitive"}})
    file = adult.released(job, source.assign(**{TRUTH: source["age"].astype(str)}))
    if file is None:
        raise RuntimeError("adult by age must have a release")
    return file
