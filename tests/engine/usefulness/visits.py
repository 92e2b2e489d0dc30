"""Visits of persons, and a job that asks how useful their release is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from engine import load_job
from tests.engine.usefulness import stays

FEW_ROWS = {"knows": {"rows": 1}, "privacy": [{"model": "k-anonymity", "k": 5}]}
ATTACKERS = {
    "any-row": {"knows": "any-row"},
    "some rows": FEW_ROWS,
    "all-rows": {"knows": "all-rows"},
}


def visits(persons=120, seed=0, rows=(1, 2, 3)):
    """Give visits of persons, each with an age of its own; those of one person are not beside each other."""
    random = np.random.default_rng(seed)
    owner = random.permutation(np.repeat(np.arange(persons), random.choice(rows, persons)))
    age = random.integers(0, 90, persons)[owner]
    ill = np.where(random.random(owner.size) < age / 90, "yes", "no")
    return table_of([f"p{one}" for one in owner], age, random.choice(["121", "122"], owner.size), ill, age / 10)


def table_of(mrn, age, zips, ill, days):
    return pa.table(
        {
            "mrn": pa.array(mrn, pa.string()),
            "age": pa.array(np.asarray(age, np.int64)),
            "zip": pa.array(list(zips), pa.string()),
            "ill": pa.array(list(ill), pa.string()),
            "days": pa.array(np.asarray(days, np.float64)),
        }
    )


def job(usefulness=None, **changes):
    """Give the job of stays, by person; suppressed records are left out."""
    document = stays.job(usefulness).document()
    document["attributes"] = {"mrn": {"role": "identifying"}, **document["attributes"]}
    counted = {"unit": None, "subject": "mrn", "output": {"path": "never-written", "suppressed": "drop"}}
    merged = {**document, **counted, **changes}
    return load_job({key: value for key, value in merged.items() if value is not None})
