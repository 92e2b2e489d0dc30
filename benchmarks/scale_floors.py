"""What others need to read a table, group it by the quasi-identifiers and write it: the floors of a release.

In: the table of the run that is compared, where that run finds it. Out: the number of distinct tuples. The floor of a
file is DuckDB's; of a table of PostgreSQL that is extracted, that of what plain ADBC fetches; of a release inside
PostgreSQL, two statements of the server; of Spark, Spark itself, with its start. None changes or checks anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import scale_data

FLOOR, IN_SERVER, OF_SPARK = "floor", "floor in the server", "floor of Spark"
OF = {"arrow": FLOOR, "duckdb": FLOOR, "spark": OF_SPARK, "sql": IN_SERVER}
"""Which floor a backend is compared with."""
_SHARE = 0.4
"""Of the memory, for Java, as a run gives it."""
_BYTES = {"MB": 10**6, "GB": 10**9}


def of_file(path: Path, quasi: str, folder: Path, memory: str) -> dict[str, Any]:
    """Let DuckDB read, group and write a Parquet or CSV file."""
    source = f"read_{'csv' if path.suffix == '.csv' else 'parquet'}('{path}')"
    with _duckdb(folder, memory) as connection:
        found = _grouped(connection, source, quasi)
        connection.execute(f"COPY (SELECT * FROM {source}) TO '{folder}/out.parquet' (FORMAT parquet)")
        return found


def of_extraction(address: str, table: str, quasi: str, folder: Path, memory: str) -> dict[str, Any]:
    """Let DuckDB write what plain ADBC fetches, once, and group the file."""
    import adbc_driver_postgresql.dbapi as adbc  # noqa: PLC0415 (each floor imports its own, as part of what it costs)

    with _duckdb(folder, memory) as connection:
        with adbc.connect(address) as database, database.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {table}")
            fetched = cursor.fetch_record_batch()  # noqa: F841 (DuckDB finds it by its name)
            connection.execute(f"COPY (SELECT * FROM fetched) TO '{folder}/out.parquet' (FORMAT parquet)")
        return _grouped(connection, f"read_parquet('{folder}/out.parquet')", quasi)


def of_server(address: str, table: str, quasi: str) -> dict[str, Any]:
    """Let PostgreSQL group a table and write it, into tables that are dropped again."""
    import adbc_driver_postgresql.dbapi as adbc  # noqa: PLC0415 (each floor imports its own)

    with adbc.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE floor_classes AS SELECT {quasi}, count(*) FROM {table} GROUP BY {quasi}")
        cursor.execute(f"CREATE TABLE floor_records AS SELECT * FROM {table}")
        cursor.execute("SELECT count(*) FROM floor_classes")
        ((tuples,),) = cursor.fetchall()
        cursor.execute("DROP TABLE floor_classes, floor_records")
    return {"tuples": tuples}


def of_spark(path: Path, quasi: str, folder: Path, memory: str) -> dict[str, Any]:
    """Let Spark on this machine read, group and write a Parquet or CSV file."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 (each floor imports its own)

    settings = {
        "spark.driver.memory": f"{int(int(memory[:-2]) * _BYTES[memory[-2:]] * _SHARE) >> 20}m",
        "spark.local.dir": str(folder),
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
    }
    spark = SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()
    try:
        kinds = ", ".join(
            f"{field.name} {'int' if 'int' in str(field.type) else 'string'}" for field in scale_data.SCHEMA
        )
        is_csv = path.suffix == ".csv"
        records = spark.read.csv(str(path), schema=kinds, header=True) if is_csv else spark.read.parquet(str(path))
        records.groupBy(*quasi.split(", ")).count().write.parquet(str(folder / "classes"))
        records.write.parquet(str(folder / "records"))
        return {"tuples": spark.read.parquet(str(folder / "classes")).count()}
    finally:
        java = spark.sparkContext._gateway.proc  # noqa: SLF001 (pyspark has no other way to end it)
        spark.stop()
        # it ends with its input; what it took is known only then
        java.stdin.close()
        java.wait()


def _duckdb(folder: Path, memory: str) -> Any:
    import duckdb  # noqa: PLC0415 (each floor imports its own)

    return duckdb.connect(config={"memory_limit": memory, "temp_directory": str(folder)})


def _grouped(connection: Any, source: str, quasi: str) -> dict[str, Any]:
    connection.execute(f"CREATE TEMP TABLE t AS SELECT {quasi}, count(*) AS n FROM {source} GROUP BY ALL")
    return {"tuples": connection.execute("SELECT count(*) FROM t").fetchall()[0][0]}
