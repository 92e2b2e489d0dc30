"""Numbers and rows by COPY: what SQL reads and writes one by one is what comes and goes in bulk."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from airflow_anon.warehouse.postgresql_bulk import copied_numbers, copy_rows
from airflow_anon.warehouse.statements import whole
from tests.conftest import empty_database

pytestmark = pytest.mark.postgres

ODD = ["", " ", "\\N", "a\tb", "a\nb", "a\\b", '"', "'", "%s", "Ü", None, "\r\n"]


@pytest.fixture
def connection(postgres_url):
    with empty_database(postgres_url) as url:
        engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"))
        with engine.connect() as connection:
            yield connection
        engine.dispose()


@pytest.fixture
def table(connection):
    columns = [sa.Column("id", sa.BigInteger), sa.Column('per "cent" %(x)s', sa.Text), sa.Column("select", sa.Integer)]
    table = sa.Table('odd "%" name', sa.MetaData(), *columns)
    table.create(connection)
    return table


def test_rows_are_there_as_they_were_given(connection, table):
    rows = [(place - 2**63, text, -place) for place, text in enumerate(ODD)]
    copy_rows(connection, table, rows)
    assert [tuple(row) for row in connection.execute(sa.select(table).order_by(table.c.id))] == rows
    copy_rows(connection, table, [])
    assert connection.scalar(sa.select(sa.func.count()).select_from(table)) == len(rows)


def test_numbers_are_those_that_the_driver_reads(connection, table):
    many = 400_000
    ends = [(2**63 - 1, "%", 1), (-(2**63), ":x", 2)]
    copy_rows(connection, table, [*ends, *((place, "t", place % 7) for place in range(many))])
    asked = sa.select(table.c.id, sa.func.mod(table.c.select, 5) * whole(2**40), table.c.select % 3)
    parts = list(copied_numbers(connection, asked))
    assert len(parts) > 1
    assert all(column.flags.writeable for part in parts for column in part)
    read = [[int(cell) for part in parts for cell in part[place]] for place in range(3)]
    assert sorted(zip(*read, strict=True)) == sorted(tuple(row) for row in connection.execute(asked))
    nothing = sa.select(table.c.id).where(table.c.id == whole(5), table.c.select == whole(6))
    assert list(copied_numbers(connection, nothing)) == []


def test_an_error_is_that_of_sqlalchemy_with_its_state(connection, table):
    with pytest.raises(sa.exc.DBAPIError) as caught:
        copy_rows(connection, table, [(1, "NUL \0", 1)])
    connection.rollback()
    with pytest.raises(sa.exc.DBAPIError) as caught:
        list(copied_numbers(connection, sa.select(table.c.id)))
    assert caught.value.orig.sqlstate == "42P01"
    assert "NUL" not in str(caught.value)


def test_what_is_missing_is_no_number(connection, table):
    copy_rows(connection, table, [(1, "x", 1), (None, "y", 2)])
    with pytest.raises(ValueError, match="null"):
        list(copied_numbers(connection, sa.select(table.c.id)))
    connection.rollback()
    assert connection.scalar(sa.select(whole(1))) == 1
