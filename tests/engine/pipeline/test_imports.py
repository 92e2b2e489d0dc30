"""What a run loads: pandas takes as long as a small table, and nothing of a plain job needs it."""

from __future__ import annotations

import csv
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import ROOT

RECORDS = [
    {"age": 20 + number % 40, "sex": "fm"[number % 2], "town": None if number % 50 == 7 else f"t{number % 3}",
     "weight": number % 7 / 2, "disease": f"d{number % 4}"}
    for number in range(400)
]  # fmt: skip


def file_of(folder, kind):
    path = folder / f"patients.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(RECORDS), path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(RECORDS[0]))
            writer.writeheader()
            writer.writerows(RECORDS)
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize(
    "criterion",
    [
        {"model": "l-diversity", "variant": "distinct", "attribute": "disease", "l": 2},
        {"model": "t-closeness", "distance": "equal", "attribute": "disease", "t": 0.4},
    ],
    ids=["l-diversity", "t-closeness"],
)
def test_a_plain_run_loads_no_pandas(tmp_path, kind, criterion):
    job = {
        "name": "patients",
        "source": {"path": str(file_of(tmp_path, kind))},
        "unit": "record",
        "attributes": {
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
            "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
            "town": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
            "weight": {"role": "insensitive"},
            "disease": {"role": "sensitive"},
        },
        "privacy": [{"model": "k-anonymity", "k": 3}, criterion],
        "suppression_limit": 0.2,
        "output": {"path": str(tmp_path / "release")},
    }
    script = (
        f"import sys, engine\nresult = engine.run({job!r})\nprint(result.report['released'], 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT)
    released, has_pandas = done.stdout.split()
    assert has_pandas == "False"
    assert len(pq.read_table(tmp_path / "release" / "data.parquet")) == int(released) >= 0.8 * len(RECORDS)
