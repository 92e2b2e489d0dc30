"""What a series costs a night: one million made-up persons, 1% come and 1% go, beside a vault of 30 releases.

    python benchmarks/bench_nights.py [PERSONS]           # 1,000,000 by default

Out: CPU seconds of a night without a series and with one, verification included, and what the vault holds per person
and release. The vault is filled by one real release, of which the others are copies that differ in their id; it is
full, so that tonight's release removes the oldest. The night without a series is measured before and after the one
with it, because other processes slow both. Asserted in the same run: the release remembers 30 releases, its own
included, no trace is below k, and the night takes at most 1.5 times as long.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from engine import run
from engine.kernels.warm_up import warm_up

PERSONS, MEMORY, CHURN, K = 1_000_000, 30, 0.01, 5
MOST = 1.5
AREAS = {"builder": "redaction", "length": 3}


def people(number: int, begin: int = 0) -> pd.DataFrame:
    """Return so many persons, from a number on."""
    random = np.random.default_rng(begin + 1)
    return pd.DataFrame(
        {
            "mrn": [f"M{place:09}" for place in range(begin, begin + number)],
            "age": random.integers(0, 100, number).astype(str),
            "sex": random.choice(["f", "m"], number),
            "area": random.integers(100, 400, number).astype(str),
            "diagnosis": random.integers(0, 40, number).astype(str),
        }
    )


def job(series: dict[str, Any] | None) -> dict[str, Any]:
    """Return the job, at levels at which classes have about 170 persons."""
    found: dict[str, Any] = {
        "name": "nights",
        "subject": "mrn",
        "attributes": {
            "mrn": {"role": "identifying"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}, "minimum_level": 2},
            "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0},
            "area": {"role": "quasi-identifying", "hierarchy": AREAS, "maximum_level": 0},
            "diagnosis": {"role": "sensitive"},
        },
        "privacy": [
            {"model": "k-anonymity", "k": K},
            {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2},
        ],
        "suppression_limit": 0.05,
    }
    found["attributes"]["age"]["maximum_level"] = 2
    return found if series is None else {**found, "series": series}


def timed(job: dict[str, Any], table: pd.DataFrame, output: Path) -> tuple[float, Any]:
    """Run a job; return CPU seconds and the report."""
    begun = time.process_time()
    report = run(job, table, output=output).report
    return time.process_time() - begun, report


def remember(vault: Path, releases: int) -> None:
    """Copy the one release of a vault until it has so many."""
    columns = "state, facts, content, added"
    with sqlite3.connect(vault) as connection:
        for number in range(2, releases + 1):
            connection.execute(
                f"INSERT INTO series_release (series, number, release_id, {columns}) "
                f"SELECT series, ?, release_id || ?, {columns} FROM series_release WHERE number = 1",
                (number, f"-{number:03}"),
            )


def held(vault: Path) -> tuple[int, int]:
    """Return the bytes of the releases of a vault, and of its ids."""
    with sqlite3.connect(vault) as connection:
        classes = connection.execute("SELECT sum(length(content) + length(added)) FROM series_release").fetchone()[0]
        return classes, connection.execute("SELECT length(ids) FROM series").fetchone()[0]


def main(persons: int) -> None:
    """Measure and print."""
    warm_up()
    first = people(persons)
    moving = int(persons * CHURN)
    tonight = pd.concat([first.iloc[moving:], people(moving, persons)], ignore_index=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        series = job({"vault": str(folder / "vault.sqlite"), "key_file": str(folder / "key"), "memory": MEMORY})
        vault = folder / "vault.sqlite"
        begun, _ = timed(series, first, folder / "release")
        remember(vault, MEMORY)
        before, alone = timed(job(None), tonight, folder / "alone")
        beside, report = timed(series, tonight, folder / "release")
        after, _ = timed(job(None), tonight, folder / "alone")
        classes, ids = held(vault)
        size = vault.stat().st_size
    stated, times = report["series"], beside / ((before + after) / 2)
    print(f"{persons:,} persons: {before:.1f} and {after:.1f} CPU s alone, {beside:.1f} of {MEMORY} releases:")
    print(f"{times:.2f} times as much; first of the series {begun:.1f} CPU s")
    print(f"vault {size / 2**20:.0f} MiB, of which {classes / persons / MEMORY:.2f} bytes per person and release")
    print(f"and {ids / persons:.1f} bytes of ids per person; {stated}")
    print(f"seconds of the clock: alone {alone['timings']}, with a series {report['timings']}")
    assert stated["releases"] == MEMORY
    assert stated["smallest_trace"] >= K
    assert times <= MOST, f"{times:.2f} times"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PERSONS)
