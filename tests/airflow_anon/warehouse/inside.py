"""A job on one table of a server, by every backend: its records extracted, or inside the warehouse."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from airflow_anon.dialects.registry import DIALECTS
from airflow_anon.transport.connection import hook_of
from airflow_anon.transport.database_read import look_at
from airflow_anon.transport.parquet import write_parquet
from airflow_anon.transport.relation import Relation
from airflow_anon.warehouse.typed_columns import typed
from airflow_anon.warehouse.warehouse import SqlWarehouse
from engine import EngineError, run
from tests.airflow_anon.nights.night import connection_of

CONNECTION = "clinic"
TABLE = "made"
COMPARED = ("rows", "released", "solution", "suppressed_class", "privacy", "risk", "classes", "lint", "utility")
OF_PERSONS = ("persons", "persons_suppressed_share", "knows", "further_rows", "attribute_inference")


def connect(monkeypatch, url):
    """Make the connection known to Airflow; give an engine of it."""
    monkeypatch.setenv(f"AIRFLOW_CONN_{CONNECTION.upper()}", connection_of(url))
    made = sa.make_url(url)
    if made.get_backend_name() == "postgresql":
        # the driver of Airflow's hook
        made = made.set(drivername="postgresql+psycopg")
    return sa.create_engine(made, poolclass=sa.NullPool)


def execute(engine, *statements):
    """Run statements, each of plain text."""
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def tables(engine, schema=None):
    """Name the tables of a database."""
    return sorted(sa.inspect(engine).get_table_names(schema=schema))


def roles_of(document):
    return {name: one["role"] for name, one in document["attributes"].items()}


def extracted(relation, document, path):
    """Write the records of a relation into a Parquet file, as an extraction does."""
    from airflow.sdk import ObjectStoragePath  # noqa: PLC0415 (needs the environment)

    roles = {
        name: "insensitive" if name == document.get("subject") else one for name, one in roles_of(document).items()
    }
    reading = look_at(hook_of(CONNECTION), relation, roles, "auto", 1000)
    write_parquet(reading.batches(), ObjectStoragePath(str(path)))
    return path


@contextmanager
def inside(engine, relation, document, schema=None):
    """Give the warehouse of a job, in a transaction that is rolled back at the end."""
    columns = [name for name, role in roles_of(document).items() if role != "identifying"]
    isolation = DIALECTS[engine.dialect.name].isolation
    with engine.connect().execution_options(isolation_level=isolation) as connection:
        target = sa.Table(TABLE, sa.MetaData(), schema=schema)
        # where CREATE commits, a table that is kept would outlive it
        is_kept = not DIALECTS[engine.dialect.name].copies
        yield SqlWarehouse(connection, relation, columns, target, document.get("subject"), is_kept=is_kept)
        connection.rollback()


def in_sql(document):
    """Return the same job as one inside the warehouse."""
    place = {"conn_id": CONNECTION, "table": "share"}
    return {**document, "backend": "sql", "source": place, "output": {**place, **document.get("output", {})}}


def written(warehouse):
    """Return the records that a warehouse wrote, in their order."""
    made = Relation.named(warehouse._target.name, warehouse._target.schema)
    columns = typed(warehouse._connection, made, None, is_ours=True)
    listed = ", ".join(f"{one.expression} AS c{place}" for place, one in enumerate(columns))
    rows = warehouse._connection.exec_driver_sql(f'SELECT {listed} FROM "{TABLE}"'.replace("%", "%%")).all()
    cells = list(zip(*rows, strict=True)) or [[]] * len(columns)
    given = [column if one.values is None else one.values(column) for column, one in zip(cells, columns, strict=True)]
    arrays = [pa.array(column, one.type) for column, one in zip(given, columns, strict=True)]
    return pa.table(arrays, names=[column.name for column in columns])


def told(result, table, quasi_identifiers):
    """Return the report, the columns, the records in any order, and the order of the classes."""
    report = {key: result.report[key] for key in COMPARED}
    report |= {key: result.report.get(key) for key in OF_PERSONS}
    kinds = [(name, str(kind)) for name, kind in zip(table.schema.names, table.schema.types, strict=True)]
    records = Counter(map(repr, table.to_pylist()))
    return report, kinds, records, table.select(list(quasi_identifiers)).to_pylist()


def by_file(document, path, backend):
    """Run a job on extracted records."""
    folder = path.parent / f"release-{backend}"
    output = {"path": str(folder), **document.get("output", {})}
    try:
        result = run({**document, "source": {"path": str(path)}, "backend": backend, "output": output})
    except EngineError as problem:
        return type(problem).__name__, str(problem)
    quasi = [name for name, role in roles_of(document).items() if role == "quasi-identifying"]
    return told(result, pq.read_table(folder / "data.parquet"), quasi)


def by_sql(engine, relation, document, schema=None):
    """Run it inside the warehouse."""
    quasi = [name for name, role in roles_of(document).items() if role == "quasi-identifying"]
    with inside(engine, relation, document, schema) as warehouse:
        try:
            result = run(in_sql(document), warehouse)
        except EngineError as problem:
            return type(problem).__name__, str(problem)
        if result._refusal is not None:
            return "NoSolution", result._refusal
        return told(result, written(warehouse), quasi)


def agree(engine, relation, document, folder):
    """Return what the backends release in common."""
    path = extracted(relation, document, folder / "source.parquet")
    found = by_sql(engine, relation, document)
    for backend in ("arrow", "duckdb"):
        other = by_file(document, path, backend)
        assert len(found) == len(other), (found[:2], other[:2])
        for one, two in zip(found, other, strict=True):
            assert one == two
    assert TABLE not in tables(engine)
    return found


def table(name):
    """Return a table as a relation."""
    return Relation(table=name)
