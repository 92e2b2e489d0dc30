"""What it saves to choose classes that last: adult, 1% come and 1% go each night, with `churn` and without.

    python benchmarks/bench_lasting.py

Out: for each setting the loss of the levels, who waits and who covers on the last night as shares of the persons,
beside what was expected, and the loss as if these had lost everything. Levels are those of the first night. Asserted in
the same run: no trace is below k (each run verifies it), what was expected is within a third of what happened, and with
`churn` no more is lost in all.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from shared_tables import DATA

from engine import run

ACTIVE, SHARE, K = 22_000, 0.01, 5
QUASI_IDENTIFIERS = ("sex", "age", "race", "marital-status", "education")
MEMORIES = (11, 30)


def nights(number: int) -> Iterator[pd.DataFrame]:
    """Yield the table of each night."""
    random = np.random.default_rng(1)
    people = pd.read_csv(DATA / "adult" / "adult.csv", sep=";", dtype=str)
    people = people.assign(person=[f"P{place:05}" for place in range(len(people))])
    order = random.permutation(len(people))
    inside, waiting = order[:ACTIVE], order[ACTIVE:]
    moving = int(ACTIVE * SHARE)
    for _ in range(number):
        yield people.iloc[inside]
        gone = random.choice(inside, moving, replace=False)
        inside = np.concatenate([np.setdiff1d(inside, gone), waiting[:moving]])
        waiting = waiting[moving:]


def job(folder: str, memory: int, *, lasting: bool) -> dict[str, Any]:
    """Return the job; its vault is in a folder."""
    attributes: dict[str, Any] = {
        name: {"role": "quasi-identifying", "hierarchy": str(DATA / "adult" / "hierarchies" / f"{name}.csv")}
        for name in QUASI_IDENTIFIERS
    }
    series = {"vault": f"{folder}/vault", "key_file": f"{folder}/key", "memory": memory}
    return {
        "name": "adult",
        "attributes": {**attributes, "occupation": {"role": "sensitive"}, "person": {"role": "identifying"}},
        "subject": "person",
        "privacy": [{"model": "k-anonymity", "k": K}],
        "suppression_limit": 0.05,
        "series": series,
        "stability": {"keep_levels": True},
        **({"churn": {"arrivals": SHARE, "departures": SHARE}} if lasting else {}),
    }


def lost(memory: int, *, lasting: bool) -> float:
    """Run as many nights as are remembered; print and return what is lost in all on the last one."""
    with tempfile.TemporaryDirectory() as folder:
        made, begun = job(folder, memory, lasting=lasting), time.process_time()
        for table in nights(memory):
            report = run(made, table[list(made["attributes"])], output=Path(folder) / "release").report
    series = report["series"]
    loss, withheld = series["searched"]["information_loss"], series["held_back_share"] + series["covered_share"]
    assert loss is not None
    total = loss + (1 - loss) * withheld
    shares = f"waiting {series['held_back_share']:.3f}, covers {series['covered_share']:.3f}"
    if lasting:
        churn = series["churn"]
        shares += f" (expected {churn['held_back_share']:.3f}, {churn['covered_share']:.3f})"
        expected = churn["held_back_share"] + churn["covered_share"]
        assert abs(expected - withheld) < withheld / 3, "what was expected is far from what happened"
    seconds = time.process_time() - begun
    print(
        f"memory {memory}, {'churn' if lasting else 'plain'}: loss {loss:.3f}, {shares}, in all "
        f"{total:.3f}; {report['released']:,} released, {seconds:.0f} CPU s",
        flush=True,
    )
    return total


def main() -> None:
    """Run all settings."""
    for memory in MEMORIES:
        plain = lost(memory, lasting=False)
        assert lost(memory, lasting=True) <= plain, "classes that last lose more in all"


if __name__ == "__main__":
    main()
