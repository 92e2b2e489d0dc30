"""Rows against CPU seconds, wall time and memory, from a file to a verified release, beside DuckDB's floor.

`make bench-scale ROWS=5000000` writes synthetic tables of that size once (`scale_data`), runs each backend on each
format in a process of its own, and compares what they release: levels, suppressed records, and a recount of the
released file by DuckDB. The floor is what DuckDB needs to read the same file, group it by the quasi-identifiers and
write it. FORMATS (parquet, csv), BACKENDS (arrow, duckdb, spark), MEMORY (4GB) and FOLDER choose what is run and where.
Of spark the figures are those of the task and of Java together, with Java's start.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import scale_data  # noqa: E402 (the project root must be on the path)

FIGURES = {"cpu": 1, "wall": 1, "megabytes": 0, "tuples": 0}
"""What is printed, and its digits after the point."""
QUASI = "age, sex, race, ethnicity, marital, zip, year, quarter, education"


def main() -> None:
    """Run all combinations and print a table."""
    rows = int(os.environ.get("ROWS", "1000000"))
    formats = os.environ.get("FORMATS", "parquet,csv").split(",")
    backends = os.environ.get("BACKENDS", "arrow,duckdb").split(",")
    folder = Path(os.environ.get("FOLDER", tempfile.gettempdir()))
    print("| rows | format | what | CPU s | wall s | peak MB | distinct tuples | levels, suppressed |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | --- |")
    released = set()
    for suffix in formats:
        path = folder / f"scale-{rows}.{suffix}"
        scale_data.write(rows, path)
        for what in ("floor", *backends):
            found = measured(path, what)
            outcome = found.pop("outcome", "")
            released |= {outcome} - {""}
            figures = " | ".join(f"{found[name]:,.{digits}f}" for name, digits in FIGURES.items())
            print(f"| {rows:,} | {suffix} | {what} | {figures} | {outcome} |", flush=True)
            print(f"<!-- {json.dumps(found.get('timings', {}))} -->", file=sys.stderr)
    assert len(released) <= 1, f"the backends disagree: {released}"


def measured(path: Path, what: str) -> dict[str, Any]:
    """Run one measurement in a process of its own, which reports on itself."""
    command = [sys.executable, __file__, str(path), what, os.environ.get("MEMORY", "4GB")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this file)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def one(path: Path, what: str, memory: str) -> dict[str, Any]:
    """Return the figures of one run; what compiling kernels costs is not among them."""
    work = tempfile.TemporaryDirectory(dir=path.parent, prefix=".bench-")
    with work as folder:
        begin = ready(what)
        found = floor(path, Path(folder), memory) if what == "floor" else ours(path, Path(folder), what, memory)
        cpu, wall = time.process_time() - begin[0], time.perf_counter() - begin[1]
        own, java = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        cpu += java.ru_utime + java.ru_stime
        found |= {"cpu": cpu, "wall": wall, "megabytes": (own.ru_maxrss + java.ru_maxrss) / 1024}
        if what != "floor":
            recount(Path(folder) / "release" / "data.parquet", found)
    return found


def ready(what: str) -> tuple[float, float]:
    """Import and compile what is needed; return the clocks after it."""
    if what != "floor":
        from engine.kernels.warm_up import warm_up  # noqa: PLC0415

        warm_up()
    return time.process_time(), time.perf_counter()


def floor(path: Path, folder: Path, memory: str) -> dict[str, Any]:
    """Read, group by the quasi-identifiers, write."""
    import duckdb  # noqa: PLC0415

    source = f"read_{'csv' if path.suffix == '.csv' else 'parquet'}('{path}')"
    with duckdb.connect(config={"memory_limit": memory, "temp_directory": str(folder)}) as connection:
        connection.execute(f"CREATE TEMP TABLE t AS SELECT {QUASI}, count(*) AS n FROM {source} GROUP BY ALL")
        connection.execute(f"COPY (SELECT * FROM {source}) TO '{folder}/out.parquet' (FORMAT parquet)")
        return {"tuples": connection.execute("SELECT count(*) FROM t").fetchall()[0][0]}


def ours(path: Path, folder: Path, backend: str, memory: str) -> dict[str, Any]:
    """Run the job."""
    import engine  # noqa: PLC0415
    import engine.pipeline.run as steps  # noqa: PLC0415

    tuples = []
    count = steps.count
    steps.count = lambda *given, **named: tuples.append(found := count(*given, **named)) or found
    result = engine.run(scale_data.job(path, folder / "release", backend=backend, memory_limit=memory))
    report = result.report
    assert report["backend"] == backend
    solution = report["solution"]
    return {
        "tuples": tuples[0].table.counts.size,
        "outcome": f"{' '.join(map(str, solution['levels'].values()))}, {solution['suppressed']:,}",
        "timings": report["timings"],
        "released": report["released"],
    }


def recount(release: Path, found: dict[str, Any]) -> None:
    """Assert that every class of the file has five records, and that none is lost."""
    import duckdb  # noqa: PLC0415

    counted = f"SELECT min(n), sum(n) FROM (SELECT count(*) AS n FROM read_parquet('{release}') GROUP BY {QUASI})"
    smallest, records = duckdb.sql(counted).fetchall()[0]
    assert smallest >= 5, smallest
    assert records == found["released"], (records, found["released"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one(Path(sys.argv[1]), sys.argv[2], sys.argv[3])))
    else:
        main()
