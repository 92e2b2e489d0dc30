"""Somebody holds everything that a release folder tells, and asks how many records were left out of the file.

In: records in classes of at least k, and 1 to k - 1 others that no class can hold, so that they are left out. The
attacker can run the code: for each number they compare the report of a table of their own with the one that they hold,
all its figures together, but for times, hashes of them and paths. A guess is drawn from the numbers that fit.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

import engine
from redteam.outcome import Outcome

K = 5
CHANGING = ("timings", "seconds", "sha256", "versions", "path", "salt")
"""Parts of the names of keys whose values differ between two runs of the same table."""


def attack(sizes: tuple[int, ...] = (120, 400, 2000)) -> Iterator[Outcome]:
    """Yield the outcome over tables of some sizes and each number of records left out."""
    tries = 0
    right = 0.0
    for kept in sizes:
        told = {few: _told(kept, few) for few in range(1, K)}
        for truth in told.values():
            right += 1 / sum(one == truth for one in told.values())
            tries += 1
    name = f"{len(sizes)} tables, 1 to {K - 1} left out"
    yield Outcome("how many records were left out", name, tries, right / tries, 1 / (K - 1), 1 / (K - 1), exact=True)


def _told(kept: int, few: int) -> str:
    """Return all that the documents of a release tell."""
    draw = random.Random(kept)  # noqa: S311 (a table of an attack, not a secret)
    rows = [(str(draw.randrange(30, 40)), draw.choice("FM"), draw.choice("abc")) for _ in range(kept)]
    rows += [(str(90 + place), "M", "c") for place in range(few)]
    decades = {"builder": "redaction", "length": 2}
    job = {
        "name": "attacked",
        "attributes": {
            "age": {"role": "quasi-identifying", "hierarchy": decades, "minimum_level": 1, "maximum_level": 1},
            "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 1, "alphabet": "any"}},
            "diagnosis": {"role": "sensitive"},
        },
        "privacy": [
            {"model": "k-anonymity", "k": K},
            {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2},
        ],
        "suppression_limit": 0.1,
        "output": {"path": "release", "suppressed": "drop"},
    }
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "release"
        engine.run(job, pd.DataFrame(rows, columns=["age", "sex", "diagnosis"]), output=output)
        told = [_lasting(json.loads(path.read_text())) for path in sorted(output.glob("*.json"))]
    return json.dumps(told, sort_keys=True)


def _lasting(document: Any) -> Any:
    if isinstance(document, Mapping):
        lasting = {name: value for name, value in document.items() if not any(one in name for one in CHANGING)}
        return {name: _lasting(value) for name, value in lasting.items() if name not in {"files", "bytes"}}
    if isinstance(document, list):
        return [_lasting(one) for one in document]
    return document
