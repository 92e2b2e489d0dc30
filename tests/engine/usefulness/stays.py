"""A table of stays, and a job that asks how useful its release is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from engine import load_job


def stays(records=600, seed=0, rare=12):
    """Give stays of which `rare` have a ZIP code that hardly anybody else has."""
    random = np.random.default_rng(seed)
    age = random.integers(0, 90, records)
    zips = random.choice(["121", "122"], records)
    if rare:
        zips[:rare] = [f"9{place % 3}{place % 2}" for place in range(rare)]
    # the older, the likelier
    ill = np.where(random.random(records) < age / 90, "yes", "no")
    days = np.round(age / 10 + random.exponential(3, records), 1)
    return pa.table({"age": age, "zip": zips, "ill": ill, "days": days})


def job(usefulness=None, **changes):
    """Give a job whose ages keep their level 3 (bands of ten years), and whose ZIP codes stay as they are."""
    attributes = {
        "age": {
            "role": "quasi-identifying",
            "hierarchy": {"builder": "interval", "widths": [10], "lower": 0, "upper": 100},
            "minimum_level": 1,
            "maximum_level": 1,
        },
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0},
        "ill": {"role": "sensitive"},
        "days": {"role": "insensitive"},
    }
    document = {
        "name": "stays",
        "unit": "record",
        "attributes": attributes,
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "suppression_limit": 0.3,
        "usefulness": usefulness or {"columns": ["age", "zip", "ill", "days"]},
        **changes,
    }
    return load_job({key: value for key, value in document.items() if value is not None})
