"""The releases of a night of the demo, in a real Airflow: the nightly jobs on the demo's warehouse.

In: nothing. Out: each release as a frame of text, with the job that its folder has.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml

PERSONS = 3000


class Release(NamedTuple):
    """A released file and the job that made it, as a document."""

    file: pd.DataFrame
    job: dict[str, Any]


@cache
def releases() -> list[Release]:
    """Run one night, and return what readers get."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "airflow_anon.demo", "run", "--home", home, "--persons", str(PERSONS)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        folders = sorted(Path(home).glob("share/*/current"))
        if done.returncode or not folders:
            raise RuntimeError(f"the demo made no release:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return [
            Release(
                pd.read_parquet(folder / "data.parquet").astype(str), yaml.safe_load((folder / "job.yaml").read_text())
            )
            for folder in folders
        ]
