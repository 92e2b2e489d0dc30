"""Verification and validation of a release against a plain group-by of the same file, by rows.

    python benchmarks/bench_verification.py [ROWS ...]

In: nothing; the records are made up: nine quasi-identifiers at fixed levels, one sensitive column, 5-anonymity and
distinct 2-diversity. Out: CPU seconds and the peak of resident memory, of one process each, of the engine's
verification, of the validation by Great Expectations, and of pyarrow, which reads the file and groups it by the
quasi-identifiers and the sensitive column (of DuckDB too, where it is installed). All must count the same classes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # (the project root must be on the path)
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = (1_000_000, 5_000_000)
VALUES = {
    "age": 90,
    "sex": 2,
    "zip": 300,
    "race": 5,
    "marital": 6,
    "education": 8,
    "month": 24,
    "insurer": 5,
    "ward": 20,
}
LEVELS = {"age": 2, "zip": 2, "marital": 1, "education": 1, "month": 2, "ward": 1}
SENSITIVE = "diagnosis"
_PART = 500_000


def job(folder: Path) -> dict[str, Any]:
    """Return the job; its hierarchies are groups of 5, then of 50 neighbouring values."""
    attributes: dict[str, Any] = {SENSITIVE: {"role": "sensitive"}, "days": {"role": "insensitive"}}
    for name, number in VALUES.items():
        rows = [f"{name}-{i:03};{i // 5};{i // 50} of fifty;*" for i in range(number)]
        (folder / f"{name}.csv").write_text("\n".join(rows))
        level = LEVELS.get(name, 0)
        fixed = {"minimum_level": level, "maximum_level": level}
        attributes[name] = {"role": "quasi-identifying", "hierarchy": str(folder / f"{name}.csv"), **fixed}
    diversity = {"model": "l-diversity", "variant": "distinct", "attribute": SENSITIVE, "l": 2}
    privacy = [{"model": "k-anonymity", "k": 5}, diversity]
    return {"name": "made-up", "attributes": attributes, "privacy": privacy, "suppression_limit": 1.0}


def write_source(path: Path, rows: int) -> None:
    """Write made-up records, frequent values first."""
    random = np.random.default_rng(7)
    writer = None
    for start in range(0, rows, _PART):
        size = min(_PART, rows - start)
        columns = {name: _column(name, number, size, random) for name, number in {**VALUES, SENSITIVE: 50}.items()}
        table = pa.table({**columns, "days": random.integers(0, 400, size)})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _column(name: str, number: int, size: int, random: np.random.Generator) -> pa.Array:
    share = 1 / np.arange(1, number + 1) ** 0.8
    codes = random.choice(number, size=size, p=share / share.sum())
    return pa.array([f"{name}-{i:03}" for i in range(number)]).take(pa.array(codes))


def release(folder: Path) -> None:
    """Make the release."""
    from engine import run  # noqa: PLC0415 (each step is measured in a process of its own)

    run({**job(folder), "source": {"path": str(folder / "source.parquet")}}, output=folder / "release")


def by_engine(folder: Path) -> Callable[[], str]:
    """Verify the release, and count its classes once more for the comparison."""
    from engine import load_job, verify  # noqa: PLC0415
    from engine.tables.class_table import SensitiveValues  # noqa: PLC0415
    from engine.verification import output  # noqa: PLC0415

    this, report = load_job(job(folder)), json.loads((folder / "release/report.json").read_text())
    made: list[SensitiveValues] = []
    count = output.class_table

    def watched(*arguments: Any) -> Any:
        table = count(*arguments)
        made.append(table.sensitive[SENSITIVE])
        return table

    output.class_table = watched

    def measured() -> str:
        assert all(finding.holds for finding in verify(folder / "release", this, report))
        return digest(made[0].records)

    return measured


def by_great_expectations(folder: Path) -> Callable[[], str]:
    """Validate the release."""
    from airflow_anon.expectations import run as module  # noqa: PLC0415
    from airflow_anon.expectations.suite import release_suite  # noqa: PLC0415
    from engine import load_job  # noqa: PLC0415

    report = json.loads((folder / "release/report.json").read_text())
    rows = pq.ParquetFile(folder / "source.parquet").metadata.num_rows
    suite = release_suite(load_job(job(folder)), report, source_rows=rows)
    made = []
    count = vars(module)["class_table"]

    def watched(*arguments: Any) -> Any:
        made.append(count(*arguments))
        return made[0]

    vars(module)["class_table"] = watched

    def measured() -> str:
        assert module.run_suite(folder / "release/data.parquet", suite)["success"] is True
        return digest(made[0].tuples(SENSITIVE)["records"].to_numpy())

    return measured


def by_pyarrow(folder: Path) -> Callable[[], str]:
    """Group the release by its quasi-identifiers and sensitive column, and that by its quasi-identifiers."""

    def measured() -> str:
        table = pq.read_table(folder / "release/data.parquet", columns=[*VALUES, SENSITIVE])
        found = table.group_by([*VALUES, SENSITIVE]).aggregate([([], "count_all")])
        found.group_by(list(VALUES)).aggregate([("count_all", "sum")])
        return digest(found["count_all"].to_numpy())

    return measured


def by_duckdb(folder: Path) -> Callable[[], str]:
    """Group as `by_pyarrow` does."""
    import duckdb  # noqa: PLC0415 (not a dependency)

    keys = ", ".join(VALUES)
    file = folder / "release/data.parquet"

    def measured() -> str:
        duckdb.sql(f"create temp table t as select {keys}, {SENSITIVE}, count(*) n from '{file}' group by all")
        duckdb.sql(f"select {keys}, sum(n) from t group by all").fetchnumpy()
        return digest(duckdb.sql("select n from t").fetchnumpy()["n"])

    return measured


STEPS: dict[str, Callable[[Path], Callable[[], str]]] = {
    "verification": by_engine,
    "validation": by_great_expectations,
    "pyarrow group-by": by_pyarrow,
    "DuckDB group-by": by_duckdb,
}


def digest(records: np.ndarray) -> str:
    """Return a hash of the numbers of records of all distinct tuples, in whatever order they come."""
    return f"{records.size} {hashlib.sha256(np.sort(records.astype(np.int64)).tobytes()).hexdigest()[:16]}"


def measure(step: str, folder: Path) -> None:
    """Print CPU seconds, the peak of resident memory in MB (Linux), and what was counted."""
    measured = STEPS[step](folder)
    start = time.process_time()
    found = measured()
    seconds = time.process_time() - start
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1000
    print(json.dumps({"cpu": seconds, "peak": peak, "found": found}))


def _in_a_process(*arguments: str) -> str:
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout


def main(rows: list[int]) -> None:
    print("| records | distinct tuples | | CPU s | peak MB |\n| ---: | ---: | --- | ---: | ---: |")
    for number in rows:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_source(folder / "source.parquet", number)
            _in_a_process("--release", name)
            found = set()
            for step in STEPS:
                if step.startswith("DuckDB") and importlib.util.find_spec("duckdb") is None:
                    continue
                result = json.loads(_in_a_process("--step", step, name).splitlines()[-1])
                found.add(result["found"])
                tuples = int(result["found"].split()[0])
                print(f"| {number:,} | {tuples:,} | {step} | {result['cpu']:.1f} | {result['peak']:.0f} |", flush=True)
            assert len(found) == 1, found


if __name__ == "__main__":
    if "--release" in sys.argv:
        release(Path(sys.argv[2]))
    elif "--step" in sys.argv:
        measure(sys.argv[2], Path(sys.argv[3]))
    else:
        main([int(text) for text in sys.argv[1:]] or list(ROWS))
