"""A differentially private job, and tables for it."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from engine import load_job

KEY = hashlib.sha256(b"a key of one private sample").digest()
_FIXED = {"minimum_level": 1, "maximum_level": 1, "unseen": "root"}
DOCUMENT = {
    "name": "visits",
    "unit": "record",
    "attributes": {
        "mrn": {"role": "identifying"},
        "age": {
            "role": "quasi-identifying",
            "hierarchy": {"builder": "interval", "type": "integer", "widths": [10, 50]},
            "missing": ["unknown"],
            **_FIXED,
        },
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 3}, **_FIXED},
    },
    "privacy": [{"model": "differential-privacy", "epsilon": 2, "delta": 1.0e-6, "sampling_fraction": 0.5}],
    "sample": {"fraction": 0.5},
}
"""Classes need 24 records of the sample."""


def private(**changes):
    return load_job({key: value for key, value in {**DOCUMENT, **changes}.items() if value is not None})


def source(*more, rows=600):
    """Ages of two decades and ZIP codes of two areas, then further records: pairs of an age and a ZIP code."""
    random = np.random.default_rng(5)
    ages = [str(age) for age in random.integers(30, 50, rows)]
    zips = random.choice(["121", "122", "131", "135"], rows).tolist()
    return pa.table(
        {
            "mrn": [f"m{place}" for place in range(rows + len(more))],
            "age": pa.array([*ages, *(age for age, _ in more)], pa.string()),
            "zip": pa.array([*zips, *(code for _, code in more)], pa.string()),
        }
    )
