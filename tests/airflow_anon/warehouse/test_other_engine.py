"""Whole jobs by the statements of databases that are not at hand, run by DuckDB: the same is released as from a file.

Each statement is compiled by the dialect that users have, read by a parser of its language, and run. What only a server
can show, its comparison of texts, its transactions and its drivers, is not tried here: no job runs in these databases.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from airflow_anon.dialects.registry import DIALECTS
from airflow_anon.transport.column import Column
from airflow_anon.transport.relation import Relation
from airflow_anon.warehouse import warehouse, written_release
from airflow_anon.warehouse.warehouse import SqlWarehouse
from engine import EngineError, run
from tests.airflow_anon.warehouse.inside import TABLE, by_file, in_sql, roles_of, told
from tests.airflow_anon.warehouse.other_engine import HERE, LANGUAGES, engine_of
from tests.airflow_anon.warehouse.test_contract import MODELS, job_of
from tests.profiles import only

TEXTS = ["a", "A", "a ", "", None, "ä", "é", "e\u0301", "日本", "*", "%:x"]


@pytest.fixture(params=only(LANGUAGES, HERE.__contains__))
def other(request, monkeypatch):
    """Give an engine of a dialect and its connection, as if jobs were proven to run there."""
    name = request.param
    engine, connection = engine_of(name)
    monkeypatch.setitem(DIALECTS, name, replace(DIALECTS[name], unproven=None))
    for module in (warehouse, written_release):
        monkeypatch.setattr(
            module, "typed", lambda _, relation, names, **__: columns_of(engine, connection, relation, names)
        )
    yield engine, connection
    # left to the collector, its threads would be waited for in a fork of this process, which does not have them
    connection.database.close()


def columns_of(engine, connection, relation, names):
    """Give the columns of a table by the types that DuckDB says they have, as drivers of the databases would."""
    preparer = engine.dialect.identifier_preparer
    plain = relation.table.replace('"', "")
    schema = connection.database.execute(f'SELECT * FROM "{plain}" LIMIT 0').to_arrow_reader().schema
    found = {field.name: Column(field.name, preparer.quote(field.name), _plain(field.type)) for field in schema}
    return [found[name] for name in (names or found)]


def _plain(kind):
    # Oracle has no other whole numbers
    if pa.types.is_integer(kind) or kind == pa.decimal128(19, 0):
        return pa.int64()
    return pa.timestamp("us", tz="UTC" if kind.tz else None) if pa.types.is_timestamp(kind) else kind


def filled(connection, table):
    connection.database.register("given", table)
    connection.database.execute("CREATE TABLE source AS SELECT * FROM given")


def by_statements(engine, connection, document):
    """Run a job by the statements of a dialect; give what `told` gives."""
    names = [name for name, role in roles_of(document).items() if role != "identifying"]
    quasi = [name for name, role in roles_of(document).items() if role == "quasi-identifying"]
    with engine.connect() as opened:
        target = sa.Table(TABLE, sa.MetaData())
        try:
            warehouse = SqlWarehouse(opened, Relation(table="source"), names, target)
            result = run(in_sql(document), warehouse)
        except EngineError as problem:
            return type(problem).__name__, str(problem)
        opened.commit()
        batches = connection.database.execute(f'SELECT * FROM "{TABLE}"').to_arrow_table()
        return told(result, batches.cast(warehouse.released), quasi)


def agree(other, table, document, folder):
    engine, connection = other
    filled(connection, table)
    pq.write_table(table, folder / "source.parquet")
    found = by_statements(engine, connection, document)
    expected = by_file(document, folder / "source.parquet", "arrow")
    for one, two in zip(found, expected, strict=True):
        assert one == two
    return found


def test_values_of_each_type_are_counted_and_released_alike(other, tmp_path, monkeypatch):
    """Missing ones, texts that differ in case and blanks, and names with a meaning of their own among them."""
    monkeypatch.chdir(tmp_path)
    # an empty text is a missing one in Oracle
    texts = [text or None for text in TEXTS] if other[1].name == "oracle" else TEXTS
    size = len(texts)
    utc = dt.timezone.utc
    table = pa.table(
        {
            "select": pa.array(texts * 3),
            "Mixed Case": pa.array([1, None, 3] * size, pa.int64()),
            "number": pa.array([0.5, None, 1e300] * size),
            "amount": pa.array([Decimal("1.10"), None, Decimal("-2.50")] * size, pa.decimal128(10, 2)),
            "day": pa.array([dt.date(2026, 1, 1), None, dt.date(1850, 12, 31)] * size),
            "moment": pa.array([dt.datetime(2026, 1, 1, 12, 30, 0, 123456), None, None] * size),  # noqa: DTZ001
            "seen": pa.array(
                [dt.datetime(2026, 3, 29, 1, 30, tzinfo=utc), None, None] * size, pa.timestamp("us", "UTC")
            ),
            "few": pa.array(["x", "y", None] * size),
        }
    )
    if other[1].name == "bigquery":
        table = table.drop_columns("seen")  # its dialect has no moment with a zone
    (tmp_path / "hierarchy.csv").write_text(
        "".join(f"{text or ''};*\n" for text in {*texts} - {None}), encoding="utf-8"
    )
    others = {name: {"role": "sensitive", "accept": "unique"} for name in table.schema.names[3:-1]}
    others["few"] = {"role": "insensitive"}
    quasi = {
        "select": {"unseen": "root", "maximum_level": 0},
        "Mixed Case": {"hierarchy": {"builder": "interval", "widths": [2]}, "unseen": "root"},
        "number": {"unseen": "root"},
    }
    found = agree(other, table, job_of(quasi, others, suppression_limit=1.0), tmp_path)
    assert isinstance(found[0], dict), found


@pytest.mark.parametrize(("models", "suppressed"), [("two attributes", "star"), ("t", "drop")])
def test_sensitive_values_and_suppressed_records(other, tmp_path, monkeypatch, models, suppressed):
    monkeypatch.chdir(tmp_path)
    places = range(400)
    table = pa.table(
        {
            "age": [*(place % 40 for place in places), 99, 99, 99],
            "zip": [*(f"z{place % 3}" for place in places), *["z9"] * 3],
            "s": [*(f"d{place % 7}" for place in places), *["d0"] * 3],
            "score": [*(place % 9 for place in places), 1, 1, 1],
            "cost": [*places, -1, -1, -1],
        }
    )
    (tmp_path / "zip.csv").write_text("z0;Z;*\nz1;Z;*\nz2;Y;*\n")
    document = job_of(
        {
            "age": {"hierarchy": {"builder": "interval", "widths": [10, 20]}, "weight": 2.0, "unseen": "error"},
            "zip": {"hierarchy": "zip.csv", "unseen": "suppress"},
        },
        {
            "s": {"role": "sensitive"},
            "score": {"role": "sensitive"},
            "cost": {"role": "insensitive", "accept": "unique"},
        },
        suppression_limit=0.3,
        privacy=[{"model": "k-anonymity", "k": 3}, *MODELS[models]],
        output={"suppressed": suppressed},
    )
    found = agree(other, table, document, tmp_path)
    assert isinstance(found[0], dict), found
    # in the order of the release, with random numbers within a class
    (release,) = [one for one in other[1].statements if "labelled" in one]
    assert "ORDER BY" in release[release.rindex("FROM") :]


@pytest.mark.thorough
def test_an_empty_table_is_refused(other, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    filled(other[1], pa.table({"q": pa.array([], pa.string())}))
    (tmp_path / "hierarchy.csv").write_text("x;*\n")
    kind, text = by_statements(*other, job_of(["q"]))
    assert (kind, text.startswith("the table is empty")) == ("InvalidData", True)
