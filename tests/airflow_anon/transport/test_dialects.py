"""What is sent to databases of which there is no server here is at least a statement of their language."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import sqlglot
from sqlalchemy.dialects import mssql, mysql, oracle, postgresql

from airflow_anon.transport.column import Column
from airflow_anon.transport.connection import names_of
from airflow_anon.transport.database_read import Reading
from airflow_anon.transport.linked_read import LinkedReading
from airflow_anon.transport.relation import Relation
from airflow_anon.transport.repeats import _statement

QUERY = "WITH old AS (SELECT * FROM clinic.person WHERE age > 90)\nSELECT id, age FROM old -- only these"
QUOTED_BY = {
    "tsql": mssql,
    "oracle": oracle,
    # their own dialects are no part of SQLAlchemy; these have the same quotes
    "duckdb": postgresql,
    "snowflake": postgresql,
    "bigquery": mysql,
}


def statements(dialect):
    """Yield what is sent when a table, a query and linked tables are read."""
    engine = SimpleNamespace(dialect=dialect)
    quote = names_of(dialect).quote
    for relation in (Relation(table="clinic.person"), Relation(query=QUERY)):
        columns = [Column(name, quote(name)) for name in ("age", "the age", "order")]
        reading = Reading(None, relation, columns, "sqlalchemy", 100, engine, ("id", "the age"))
        yield f"SELECT * FROM {relation.from_clause(names_of(dialect))} WHERE 1 = 0"  # relation.describe
        yield reading._select()
        yield _statement(reading, "id")
        parts = {"person": reading, "visit": Reading(None, relation, columns[:1], "sqlalchemy", 100, engine)}
        linked = [Column("table", ""), *columns]
        yield LinkedReading(None, relation, linked, "sqlalchemy", 100, engine, (), parts)._select()


@pytest.mark.parametrize("language", QUOTED_BY)
def test_every_statement_is_one_of_the_language(language):
    for statement in statements(QUOTED_BY[language].dialect()):
        (parsed,) = sqlglot.parse(statement, read=language)
        assert isinstance(parsed, sqlglot.exp.Query)
        names = {column.name for column in parsed.find_all(sqlglot.exp.Column)} - {"records"}
        assert names <= {"id", "age", "the age", "order"}


def test_the_parser_refuses_what_is_none():
    with pytest.raises(sqlglot.errors.ParseError):
        sqlglot.parse("SELECT a FROM (SELECT 1", read="oracle")
