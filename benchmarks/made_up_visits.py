"""Made-up visits: patients with one to many visits each, 13 on average, and hierarchies for them.

In: how many patients, a seed. Out: a table; nothing in it is of a real person. Age, sex and area are a patient's, month
and ward a visit's. The number of visits is negative binomial: a quarter of the patients has four or fewer, some have
more than fifty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

WARDS = 12
AREAS = 60

HIERARCHIES: dict[str, dict[str, Any]] = {
    "age": {"builder": "age"},
    "sex": {"builder": "grouping", "groups": [{"any sex": ["f", "m"]}]},
    "area": {"builder": "redaction", "length": 4},
    "month": {"builder": "interval", "widths": [3, 6], "lower": 0, "upper": 12},
    "ward": {
        "builder": "grouping",
        "groups": [
            {f"wards {w}-{w + 3}": [f"w{i:02d}" for i in range(w, w + 4)] for w in range(0, WARDS, 4)},
            {"any ward": [f"wards {w}-{w + 3}" for w in range(0, WARDS, 4)]},
        ],
    },
}


def made_up_visits(patients: int, seed: int = 1) -> pa.Table:
    """Return the visits in random order."""
    rng = np.random.default_rng(seed)
    visits = 1 + rng.negative_binomial(1.2, 1.2 / (1.2 + 12), patients)
    owner = rng.permutation(np.repeat(np.arange(patients), visits))
    ages = np.clip(rng.normal(56, 21, patients).astype(int), 0, 99)
    areas = (AREAS * rng.beta(1.0, 2.5, patients)).astype(int)
    sexes = rng.choice(["f", "m"], patients)
    home = rng.integers(0, WARDS, patients)
    ward = np.where(rng.random(owner.size) < 0.7, home[owner], rng.integers(0, WARDS, owner.size))
    return pa.table(
        {
            "mrn": [f"P{patient:07d}" for patient in owner],
            "age": ages[owner].astype(str),
            "sex": sexes[owner],
            "area": [f"{1000 + 37 * area}" for area in areas[owner]],
            "month": rng.integers(0, 12, owner.size).astype(str),
            "ward": [f"w{one:02d}" for one in ward],
            "outcome": rng.choice(
                ["home", "home care", "transfer", "left", "died"], owner.size, p=[0.6, 0.2, 0.1, 0.05, 0.05]
            ),
        }
    )


def job_of_visits(k: int, **changes: Any) -> dict[str, Any]:
    """Return a job of these visits: k-anonymity, 5% of the records may be suppressed."""
    quasi = {name: {"role": "quasi-identifying", "hierarchy": found} for name, found in HIERARCHIES.items()}
    return {
        "name": "visits",
        "attributes": {"mrn": {"role": "identifying"}, **quasi, "outcome": {"role": "sensitive"}},
        "privacy": [
            {"model": "k-anonymity", "k": k},
            {"model": "l-diversity", "variant": "distinct", "attribute": "outcome", "l": 2},
        ],
        "suppression_limit": 0.05,
        **changes,
    }
