"""Somebody knows a value that is nobody else's, in a column that the job calls insensitive.

In: adult with a column of record numbers, of moments to the second, or of amounts to the cent beside it, which the job
releases as it is. A column counts as released if there is a release; only a job that says `accept: unique` may.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from redteam import adult
from redteam.outcome import Outcome, share


def attack(records: int = 2000) -> Iterator[Outcome]:
    """Yield one outcome: the share of such columns that were released."""
    source = adult.people().sample(records, random_state=1)
    chance = np.random.default_rng(1)
    columns = {
        "record": [f"MRN{number:07}" for number in chance.permutation(records)],
        "admitted": [
            f"2026-01-{1 + second // 86_400:02}T{second % 86_400}"
            for second in chance.choice(31 * 86_400, records, replace=False)
        ],
        "charge": (chance.choice(10_000_000, records, replace=False) / 100).tolist(),
    }
    released = 0
    for name, values in columns.items():
        job = adult.job_of(
            [{"model": "k-anonymity", "k": 5}], suppression_limit=0.05, attributes={name: {"role": "insensitive"}}
        )
        released += adult.released(job, source.assign(**{name: values})) is not None
    yield Outcome(
        "a column of values that are nobody else's", "adult", len(columns), share(released, len(columns)), 0.0, 0.0
    )
