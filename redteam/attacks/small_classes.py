"""Somebody who knows that a person took part, and their quasi-identifiers, looks for their class in the file.

The suppressed records are a class of it as well. In: random samples of adult, 60 to 400 records each, under k-anonymity
and distinct l-diversity with 5% suppressed at most; and the releases of a night of the demo. A release counts as broken
if one class of the file has fewer than k records or fewer than l sensitive values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from redteam import adult, demo
from redteam.outcome import Outcome, share

K, L = 5, 3
SAMPLES = 40
NAME = "a class below k or l, suppressed records included"


def attack(samples: int = SAMPLES) -> Iterator[Outcome]:
    """Yield the shares of releases in which a class is smaller, or less diverse, than the job demands."""
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
        broken += is_broken(file, adult.job_of(models))
    yield Outcome(NAME, "samples of adult", tries, share(broken, tries), 0.0, 0.0)
    releases = demo.releases()
    broken = sum(is_broken(*release) for release in releases)
    yield Outcome(NAME, "a night of the demo", len(releases), share(broken, len(releases)), 0.0, 0.0)


def is_broken(file: pd.DataFrame, job: Mapping[str, Any]) -> bool:
    """Tell whether a class of a file is smaller, or less diverse, than the job demands."""
    quasi = [name for name, attribute in job["attributes"].items() if attribute["role"] == "quasi-identifying"]
    classes = file.groupby(quasi)
    for model in job["privacy"]:
        if model["model"] == "k-anonymity" and (classes.size() < model["k"]).any():
            return True
        if model["model"] == "l-diversity" and (classes[model["attribute"]].nunique() < model["l"]).any():
            return True
    return False
