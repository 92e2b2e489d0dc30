"""A job with a lattice so small that the frontier of all its policies is found."""

from __future__ import annotations

import random

import pyarrow as pa

AGES = ["30", "31", "60", "89", "90", "95"]
PLACES = [("ab", "a", "*"), ("ac", "a", "*"), ("ba", "b", "*"), ("bb", "b", "*")]
ROWS = {"age": [(age, "*") for age in AGES], "place": PLACES}
KEYS = {"age": int, "place": None}
ALL = 1000
"""More than there are policies: five cut bits, and five cuts of the tree."""


def job_of(folder, **changes):
    """Write the hierarchies and return the job as a mapping."""
    for name, rows in ROWS.items():
        (folder / f"{name}.csv").write_text("".join(f"{';'.join(row)}\n" for row in rows))
    settings = {"policies": ALL, "initialization": "random-path", "safe_harbor": {"age": "age"}, "k_anonymity": [2, 4]}
    return {
        "name": "night",
        "attributes": {
            "age": {"role": "quasi-identifying", "hierarchy": str(folder / "age.csv"), "order": "integer"},
            "place": {"role": "quasi-identifying", "hierarchy": str(folder / "place.csv")},
        },
        "privacy": [{"model": "average-risk", "threshold": 1.0}],
        "frontier": {**settings, **changes.pop("frontier", {})},
        **changes,
    }


def people_of(number, seed=1):
    """Draw skewed people; None is never among them."""
    draw = random.Random(seed)
    ages = draw.choices(AGES, [9, 8, 5, 3, 2, 1], k=number)
    return list(zip(ages, draw.choices([row[0] for row in PLACES], [8, 1, 3, 2], k=number), strict=True))


def table_of(people):
    """Return people as a table."""
    return pa.table(
        {name: list(column) for name, column in zip(("age", "place"), zip(*people, strict=True), strict=True)}
    )


def written(folder, people, name="people.csv"):
    """Write people as a file."""
    path = folder / name
    path.write_text("age,place\n" + "".join(f"{age},{place}\n" for age, place in people))
    return str(path)
