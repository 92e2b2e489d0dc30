"""Somebody who knows that a person took part, and their quasi-identifiers, looks for their class in the file.

The suppressed records are a class of it as well. In: random samples of adult, 60 to 400 records each, under k-anonymity
and distinct l-diversity with 5% suppressed at most. A sample counts as broken if one class of the file has fewer than k
records or fewer than l sensitive values.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from redteam import adult
from redteam.outcome import Outcome, share

K, L = 5, 3
SAMPLES = 40


def attack(samples: int = SAMPLES) -> Iterator[Outcome]:
    """Yield one outcome: the share of releases in which a class is smaller, or less diverse, than the job demands."""
    chance = np.random.default_rng(11)
    models = [
        {"model": "k-anonymity", "k": K},
        {"model": "l-diversity", "variant": "distinct", "attribute": adult.SENSITIVE, "l": L},
    ]
    tries = broken = 0
    for _ in range(samples):
        sample = adult.people().sample(int(chance.integers(60, 401)), random_state=int(chance.integers(2**31)))
        file = adult.released(adult.job_of(models, suppression_limit=0.05), sample)
        if file is None:
            continue
        tries += 1
        classes = file.groupby(list(adult.QUASI_IDENTIFIERS))[adult.SENSITIVE]
        broken += bool((classes.size() < K).any() or (classes.nunique() < L).any())
    yield Outcome(
        "a class below k or l, suppressed records included", "samples of adult", tries, share(broken, tries), 0.0, 0.0
    )
