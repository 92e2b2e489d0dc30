"""Synthetic tables of any size for the benchmark of scale, streamed into a file in memory independent of their size.

In: the number of rows. Out: a Parquet or CSV file, and the document of a job on it. Nine quasi-identifiers
with hierarchies of the engine, a sensitive column and a column that is released as it is. Each record is one of a pool
of persons, some of whom come often; the values of a person are drawn from skewed distributions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

BATCH = 1 << 20
POOL = 8
"""Records per person of the pool."""

SCHEMA = pa.schema(
    [
        ("age", pa.int16()),
        ("sex", pa.string()),
        ("race", pa.string()),
        ("ethnicity", pa.string()),
        ("marital", pa.string()),
        ("zip", pa.string()),
        ("year", pa.int16()),
        ("quarter", pa.string()),
        ("education", pa.string()),
        ("diagnosis", pa.string()),
        ("cost", pa.int32()),
    ]
)
_WORDS = {
    "sex": (["F", "M"], 1.0),
    "race": (["white", "black", "asian", "native", "pacific", "other"], 2.5),
    "ethnicity": (["no", "yes"], 3.0),
    "marital": (["married", "single", "divorced", "widowed"], 1.5),
    "quarter": (["1", "2", "3", "4"], 1.0),
    "education": ([f"grade {n}" for n in range(12)], 1.5),
    "diagnosis": ([f"D{n:02}" for n in range(60)], 2.0),
}


def batches(rows: int, seed: int = 14) -> Iterator[pa.RecordBatch]:
    """Yield the records: of `rows` about a tenth are distinct tuples."""
    random = np.random.default_rng(seed)
    zips = pa.array([f"{n:05}" for n in range(10_000, 10_400)])
    for start in range(0, rows, BATCH):
        size = min(BATCH, rows - start)
        person = (random.random(size) ** 2 * max(1, rows // POOL)).astype(np.uint64)

        def skewed(number: int, power: float, salt: int, person: NDArray[np.uint64] = person) -> NDArray[np.int32]:
            return np.minimum((_uniform(person, salt) ** power * number).astype(np.int32), number - 1)

        columns: dict[str, pa.Array] = {
            "age": pa.array(skewed(90, 1.3, 1).astype(np.int16)),
            "zip": pa.DictionaryArray.from_arrays(pa.array(skewed(400, 3.0, 2)), zips).dictionary_decode(),
            "year": pa.array((2010 + skewed(10, 1.0, 3)).astype(np.int16)),
            "cost": pa.array((random.random(size) ** 2 * 5000).astype(np.int32)),
        }
        for salt, (name, (words, power)) in enumerate(_WORDS.items(), start=4):
            codes = pa.array(skewed(len(words), power, salt))
            columns[name] = pa.DictionaryArray.from_arrays(codes, pa.array(words)).dictionary_decode()
        yield pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _uniform(person: NDArray[np.uint64], salt: int) -> NDArray[np.float64]:
    """Return a number from 0 to 1 for each person, by the finalizer of MurmurHash3."""
    state = person * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        state = (state ^ (state >> np.uint64(33))) * np.uint64(factor)
    return (state >> np.uint64(11)) / 2.0**53


def write(rows: int, path: Path) -> None:
    """Write a table, once: a file that is there is kept."""
    if path.exists():
        return
    partial = path.with_name(f".{path.name}.partial")
    writer = pa.csv.CSVWriter if path.suffix == ".csv" else pa.parquet.ParquetWriter
    with writer(partial, SCHEMA) as file:
        for batch in batches(rows):
            file.write_batch(batch)
    partial.rename(path)


def job(path: Path, output: Path, **settings: Any) -> dict[str, Any]:
    """Return the document of a job on such a file."""
    flat = {
        name: {"builder": "order", "values": words, "fanouts": [2]}
        for name, (words, _) in _WORDS.items()
        if name != "diagnosis"
    }
    quasi = {
        "age": {"builder": "age"},
        "zip": {"builder": "redaction", "length": 5},
        "year": {"builder": "interval", "widths": [5, 10]},
        **flat,
    }
    attributes: dict[str, Any] = {name: {"role": "insensitive"} for name in SCHEMA.names}
    for name, hierarchy in quasi.items():
        attributes[name] = {"role": "quasi-identifying", "hierarchy": hierarchy}
    attributes["diagnosis"] = {"role": "sensitive"}
    return {
        "name": "scale",
        "source": {"path": str(path)},
        "unit": "record",
        "attributes": attributes,
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "suppression_limit": 0.05,
        "output": {"path": str(output)},
        **settings,
    }
