"""The statements in dialects other than PostgreSQL compile, or are refused by name; there is no server of them."""

from __future__ import annotations

import pyarrow as pa
import pytest
import sqlalchemy as sa
import sqlglot
from sqlalchemy.dialects import mssql, mysql, oracle, postgresql, sqlite

from airflow_anon.transport.relation import Relation
from airflow_anon.warehouse import persons, statements
from airflow_anon.warehouse.statements import Expression, Labelled

COLUMNS = [
    Expression("age", "age", sa.BigInteger()),
    Expression("zip", "zip", sa.Text()),
    Expression("dose", "dose", sa.Double()),
    Expression("day", "day", sa.Date()),
]


def statements_of(dialect):
    """Make every statement of a job."""
    records = statements.source_of(Relation(table="clinic.stays"), COLUMNS, dialect)
    numbers = {
        column.name: statements.numbered(f"n_{column.name}", "research", records.c[column.name]) for column in COLUMNS
    }
    labelled = {
        name: Labelled(
            table, statements.labels_table(f"l_{name}", "research"), (0, 1, None, 0) if name == "zip" else None
        )
        for name, table in numbers.items()
        if name != "day"
    }
    target = sa.Table(
        "made", sa.MetaData(), *(sa.Column(column.name, sa.Text) for column in COLUMNS), schema="research"
    )
    suppressed = statements.suppressed_table("suppressed", "research", len(labelled))
    star = dict.fromkeys(labelled, 0)
    yield from (statements.number_values(table, records.c[name]) for name, table in numbers.items())
    yield statements.counts_of(records, numbers)
    yield statements.figures_of(records.c.zip, ["", "?"], 5)
    yield statements.far_moments_of([records.c.day])
    for drop in (True, False):
        yield statements.release_into(target, records, labelled, suppressed, star, drop=drop)
    yield statements.classes_of(target, ["age", "zip"])
    yield from (sa.schema.CreateTable(table) for table in (target, suppressed, *numbers.values()))
    yield sa.schema.DropTable(target)
    yield from statements_of_persons(records, dialect)


def statements_of_persons(records, dialect):
    """Make every statement that only a job with a subject has."""
    columns = pa.schema([("zip", pa.string()), ("dose", pa.float64())])
    names = persons.numbered_persons("persons", "research")
    staged = persons.staged_table("staged", "research", columns, "person", dialect.name)
    people = persons.people_table("people", "research", columns, dialect.name)
    yield from (sa.schema.CreateTable(table) for table in (names, staged, people))
    yield persons.number_persons(names, records.c.age)
    yield persons.alike_of(names)
    yield persons.stage(staged, records, "age", names, in_places=True)
    yield persons.missing_of(staged, "person", names)
    yield persons.staying(staged, "person", 2)
    yield persons.beyond_of(staged, "person", 2)
    yield persons.keep_people(people, staged, columns.names, "person", 2)
    yield persons.counted_again(records, "age")


@pytest.mark.parametrize("module", [postgresql, sqlite, mysql, oracle], ids=lambda module: module.__name__[20:])
def test_every_statement_compiles(module):
    """Where there is no server this is all that is known of a dialect."""
    dialect = module.dialect(paramstyle="named")
    whole = {"render_postcompile": True}
    written = [str(statement.compile(dialect=dialect, compile_kwargs=whole)) for statement in statements_of(dialect)]
    assert all(written)
    # a parser of the language reads them, to the end, as one statement each
    for one in written:
        (parsed,) = sqlglot.parse(one, read=dialect.name.replace("postgresql", "postgres"))
        assert not isinstance(parsed, sqlglot.exp.Command)
    assert sum("FROM clinic.stays source" in one for one in written) == 12


@pytest.mark.parametrize(
    ("module", "collation", "random"),
    [
        (postgresql, 'COLLATE "C"', "gen_random_uuid()"),
        (sqlite, "COLLATE BINARY", "randomblob(16)"),
        (mysql, "COLLATE utf8mb4_0900_bin", "RANDOM_BYTES(16)"),
        (oracle, "COLLATE BINARY", "DBMS_CRYPTO.RANDOMBYTES(16)"),
    ],
    ids=lambda one: getattr(one, "__name__", "")[20:],
)
def test_texts_are_compared_by_bytes_and_the_order_is_secret(module, collation, random):
    release = next(
        one for one in statements_of(module.dialect()) if isinstance(one, sa.Insert) and one.table.name == "made"
    )
    written = str(release.compile(dialect=module.dialect()))
    assert collation in written
    assert written.rstrip().endswith(random)


def test_the_order_is_lost_in_no_dialect():
    """SQLAlchemy leaves ORDER BY out of SQL Server's INSERT ... SELECT: the release would tell the source's order."""
    with pytest.raises(sa.exc.CompileError, match="of mssql are not known; known are those of postgresql, sqlite"):
        [str(statement.compile(dialect=mssql.dialect())) for statement in statements_of(mssql.dialect())]
