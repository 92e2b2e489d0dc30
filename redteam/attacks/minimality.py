"""Somebody sees that a record of a large class is suppressed, and concludes why (minimality attack).

After Wong, Fu, Wang and Pei 2007 (Minimality attack in privacy preserving data publishing, section 3): a class of at
least k records is suppressed because of its sensitive values, so the most frequent one is likelier than elsewhere. The
attacker knows everybody's quasi-identifiers, and guesses, for each suppressed record whose combination has at least k
records, the most frequent value of that combination. The baseline is the most frequent value of the table.

In: adult under 5-anonymity and distinct 3-diversity of the occupation. With suppression of any class nothing is
promised; with `suppress: small-classes` there is no such record.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import engine
from redteam import adult
from redteam.outcome import Outcome, share

K, L = 5, 3
QUASI_IDENTIFIERS = (
    *adult.QUASI_IDENTIFIERS,
    "native-country",
    "workclass",
    "salary-class",
)


def attack() -> Iterator[Outcome]:
    """Yield the outcome where any class may be suppressed, and where small ones may."""
    models = [
        {"model": "k-anonymity", "k": K},
        {"model": "l-diversity", "variant": "distinct", "attribute": adult.SENSITIVE, "l": L},
    ]
    source = adult.people()
    baseline = float(source[adult.SENSITIVE].value_counts(normalize=True).iloc[0])
    for suppress, bound in (("any", 1.0), ("small-classes", 0.0)):
        job = adult.job_of(models, QUASI_IDENTIFIERS, suppression_limit=0.05, suppress=suppress)
        right, tries = _guesses(job, source)
        yield Outcome(
            "a sensitive value by being suppressed",
            f"adult, suppress: {suppress}",
            tries,
            share(right, tries),
            baseline,
            bound,
        )


def _guesses(job: dict[str, Any], source: pd.DataFrame) -> tuple[int, int]:
    """Return the guesses that are right, and all of them."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "release"
        engine.run(job, source[list(job["attributes"])], output=output)
        levels = json.loads((output / "report.json").read_text())["solution"]["levels"]
        file = pd.read_parquet(output / "data.parquet")[list(QUASI_IDENTIFIERS)].astype(str)
    known = pd.DataFrame(
        {name: source[name].astype(str).map(_labels(name, levels[name])) for name in QUASI_IDENTIFIERS}
    )
    known[adult.SENSITIVE] = source[adult.SENSITIVE]
    kept = set(file.itertuples(index=False, name=None))
    right = tries = 0
    for combination, values in known.groupby(list(QUASI_IDENTIFIERS))[adult.SENSITIVE]:
        if combination not in kept and len(values) >= K:
            tries += len(values)
            right += int(values.value_counts().iloc[0])
    return right, tries


def _labels(name: str, level: int) -> dict[str, str]:
    rows = (adult.DATA / "hierarchies" / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    return {row.split(";")[0]: row.split(";")[level] for row in rows}
