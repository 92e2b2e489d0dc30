"""The benchmark table adult, jobs on it, and what they release.

In: columns and models in the words of the job file. Out: the source and the released table as pandas frames of text.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

import engine

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "adult"
QUASI_IDENTIFIERS = ("sex", "age", "race", "marital-status", "education")
SENSITIVE = "occupation"


@cache
def people() -> pd.DataFrame:
    """Return all 30,162 records."""
    return pd.read_csv(DATA / "adult.csv", sep=";", dtype={"age": int})


def job_of(
    privacy: Sequence[Mapping[str, Any]],
    quasi_identifiers: Sequence[str] = QUASI_IDENTIFIERS,
    sensitive: str = SENSITIVE,
    **settings: Any,
) -> dict[str, Any]:
    """Return a job on some columns of adult."""
    attributes: dict[str, Any] = {
        name: {"role": "quasi-identifying", "hierarchy": str(DATA / "hierarchies" / f"{name}.csv")}
        for name in quasi_identifiers
    }
    attributes[sensitive] = {"role": "sensitive"}
    attributes.update(settings.pop("attributes", {}))
    return {"name": "adult", "attributes": attributes, "privacy": list(privacy), **settings}


def released(job: Mapping[str, Any], source: pd.DataFrame) -> pd.DataFrame | None:
    """Release a table; return the file as a reader sees it, all cells as text; None if nothing may be released."""
    columns = list(job["attributes"])
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "release"
        try:
            engine.run(job, source[columns], output=output)
        except (engine.NoSolution, engine.VerificationFailed, engine.InvalidData):
            return None
        return pq.read_table(output / "data.parquet").to_pandas().astype(str)
