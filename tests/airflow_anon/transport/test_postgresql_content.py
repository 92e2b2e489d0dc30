"""The content hash that is read by COPY is that of the driver's cells, and another after any change."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from airflow_anon.transport import table_content
from airflow_anon.transport.connection import PLAIN
from airflow_anon.transport.content_hash import ContentHash
from airflow_anon.transport.postgresql_content import add_content
from airflow_anon.transport.table_content import hash_of_content
from tests.conftest import empty_database

pytestmark = [pytest.mark.airflow, pytest.mark.postgres]

COLUMNS = {
    "a%b": ("text", "text"),
    'quote"d': ("varchar(40)", "text"),
    "select": ("bigint", "integer"),
    "small": ("smallint", "integer"),
    "number": ("double precision", "number"),
    "flag": ("boolean", "boolean"),
    "money": ("numeric(20, 4)", "decimal"),
    "born": ("date", "date"),
    "seen": ("timestamp", "moment"),
    "zoned": ("timestamptz", "moment"),
}
"""Name: type of the server, kind of the release."""
ROWS = [
    "'', 'x', 9223372036854775807, -32768, 0.1, true, 1.5000, '2026-02-28', '2026-03-29 02:30', '2026-03-29 02:30+02'",
    "E'a\\n\"\"b,\\t\\\\N', E'\\r', -1, 0, 'NaN', false, -0.0001, '0001-01-01', '0001-01-01', '1970-01-01 00:00:00.5Z'",
    "'größer 🙂', '''', 0, 7, '-0', null, 0, '9999-12-31', '9999-12-31 23:59:59.999999', '2026-10-25 02:30+01'",
    "null, null, null, null, null, null, null, null, null, null",
    "'x', 'X ', 1, 1, 1e300, true, 12345678901234.5, '2000-02-29', '2000-02-29 00:00:00.000001', '1999-12-31 23:00Z'",
    "'null', '\\N', 1, 1, 'Infinity', true, 1, '2000-02-29', '2000-02-29', '1999-12-31 23:00Z'",
]


@pytest.fixture(params=["psycopg", "psycopg2"])
def engine(postgres_url, request):
    with empty_database(postgres_url) as url:
        engine = sa.create_engine(sa.make_url(url).set(drivername=f"postgresql+{request.param}"), poolclass=sa.NullPool)
        with engine.begin() as connection:
            do(connection, made("t", COLUMNS))
            for row in ROWS:
                do(connection, f"INSERT INTO t VALUES ({row})")
            # settings have no say
            for setting in ("datestyle = 'German, DMY'", "timezone = 'Asia/Kolkata'"):
                do(connection, f'ALTER DATABASE "{engine.url.database}" SET {setting}')
        yield engine


def do(connection, words):
    return connection.exec_driver_sql(words, execution_options=PLAIN)


def made(name, columns):
    listed = ", ".join(f'"{column.replace(chr(34), 2 * chr(34))}" {kind}' for column, (kind, _) in columns.items())
    return f"CREATE TABLE {name} ({listed})"


def kinds(columns):
    return {name: kind for name, (_, kind) in columns.items()}


def by_copy(engine, columns=COLUMNS, name="t"):
    content = ContentHash(kinds(columns), "s")
    with engine.connect() as connection:
        assert add_content(connection, name, None, content)
    return content.hexdigest()


def by_driver(engine, columns=COLUMNS, name="t"):
    with pytest.MonkeyPatch.context() as patch, engine.connect() as connection:
        patch.setattr(table_content, "add_content", lambda *_: False)
        # psycopg reads no other dates
        do(connection, "SET datestyle = 'ISO'")
        return hash_of_content(connection, name, None, ContentHash(kinds(columns), "s"))


@pytest.mark.parametrize("size", [1, 100, 1 << 22])
def test_every_kind_of_cell_has_the_hash_of_the_drivers(engine, monkeypatch, size):
    monkeypatch.setattr("airflow_anon.transport.postgresql_content.BATCH_BYTES", size)
    assert by_copy(engine) == by_driver(engine)
    with engine.connect() as connection:
        assert hash_of_content(connection, "t", None, ContentHash(kinds(COLUMNS), "s")) == by_copy(engine)


def test_settings_of_a_role_change_no_hash(engine):
    """One that has fewer digits of numbers, as where a release is validated, finds what was written."""
    columns = {**COLUMNS, "hour": ("time", "time"), "bytes": ("bytea", "bytes")}

    def found(columns):
        with engine.connect() as connection:
            return hash_of_content(connection, "t", None, ContentHash(kinds(columns), "s"))

    with engine.begin() as connection:
        do(connection, "UPDATE t SET number = number / 3 WHERE number = 0.1")
    by_copy = found(COLUMNS)
    with engine.begin() as connection:
        do(connection, "ALTER TABLE t ADD hour time DEFAULT '01:02:03.000004', ADD bytes bytea DEFAULT '\\xff00'")
    by_driver = found(columns)
    with engine.begin() as connection:
        for setting in ("extra_float_digits = -5", "bytea_output = 'escape'", "intervalstyle = 'iso_8601'"):
            do(connection, f'ALTER DATABASE "{engine.url.database}" SET {setting}')
    assert None not in {by_copy, by_driver}
    assert (found(COLUMNS), found(columns)) == (by_copy, by_driver)


def test_many_records_of_which_some_are_alike_and_one_is_long(engine):
    columns = {"a": ("text", "text"), "n": ("integer", "integer")}
    with engine.begin() as connection:
        do(connection, made("many", columns))
        do(connection, "INSERT INTO many SELECT 'é' || n / 7, n / 7 FROM generate_series(1, 3000) n")
        do(connection, "INSERT INTO many VALUES (repeat('\"', 5000000) || 'x', 1)")
        do(connection, "INSERT INTO many SELECT 'é' || n, n FROM generate_series(1, 3000) n")
    assert by_copy(engine, columns, "many") == by_driver(engine, columns, "many")


def test_a_column_that_is_missing_throughout_and_a_table_without_records(engine):
    columns = {"a": ("text", "text")}
    with engine.begin() as connection:
        do(connection, made("one", columns))
    assert by_copy(engine, columns, "one") == ContentHash(kinds(columns), "s").hexdigest()
    with engine.begin() as connection:
        do(connection, "INSERT INTO one VALUES (NULL), (NULL), ('')")
    assert by_copy(engine, columns, "one") == by_driver(engine, columns, "one")


CHANGES = {
    "a date that is missing becomes infinite": "UPDATE t SET born = 'infinity' WHERE born IS NULL",
    "a moment that is missing becomes infinite": "UPDATE t SET seen = '-infinity' WHERE seen IS NULL",
    "a date is of another era": "UPDATE t SET born = '0001-01-01 BC' WHERE born = '0001-01-01'",
    "a moment is of another era": "UPDATE t SET seen = '0001-01-01 BC' WHERE seen = '0001-01-01'",
    "a date is of a fifth digit": "UPDATE t SET born = '12026-02-28' WHERE born = '2026-02-28'",
    "a text that is missing becomes empty": 'UPDATE t SET "a%b" = \'\' WHERE "a%b" IS NULL',
    "a text that is missing becomes null": 'UPDATE t SET "a%b" = \'null\' WHERE "a%b" IS NULL',
    "a number is no number": "UPDATE t SET money = 'NaN' WHERE money IS NULL",
    "a cell moves to the next column": 'UPDATE t SET "a%b" = \'X \', "quote""d" = \'x\' WHERE "a%b" = \'x\'',
    "a microsecond": "UPDATE t SET seen = seen + interval '0.000001' WHERE born = '2026-02-28'",
    "a record twice": "INSERT INTO t SELECT * FROM t WHERE born IS NULL",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(engine, change):
    before = by_copy(engine)
    with engine.begin() as connection:
        assert do(connection, CHANGES[change])
        assert connection.scalar(sa.text("SELECT count(*) FROM t")) >= len(ROWS)
    assert by_copy(engine) != before


@pytest.mark.parametrize("kind", ["integer USING 1", "char(3)", "json USING '1'", "bytea USING ''"])
def test_a_column_of_another_type_is_left_to_the_driver(engine, kind):
    before = by_copy(engine)
    with engine.begin() as connection:
        do(connection, f'ALTER TABLE t ALTER "quote""d" TYPE {kind}')
    content = ContentHash(kinds(COLUMNS), "s")
    with engine.connect() as connection:
        assert not add_content(connection, "t", None, content)
    assert content.hexdigest() == ContentHash(kinds(COLUMNS), "s").hexdigest()
    assert by_driver(engine) != before


def test_bytes_that_are_no_text_are_no_release(postgres_url):
    """A database may keep any bytes."""
    with empty_database(postgres_url) as url:
        database = sa.create_engine(url, poolclass=sa.NullPool)
        with database.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            do(connection, "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
        try:
            ascii_ = sa.create_engine(sa.make_url(url).set(database="ascii"), poolclass=sa.NullPool)
            with ascii_.begin() as connection:
                do(connection, "CREATE TABLE t (a text)")
                do(connection, r"INSERT INTO t VALUES (E'\xff'), ('b')")
            with ascii_.connect() as connection:
                assert hash_of_content(connection, "t", None, ContentHash({"a": "text"}, "s")) is None
        finally:
            with database.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                do(connection, "DROP DATABASE ascii WITH (FORCE)")


def test_what_the_server_ends_is_an_error_of_sqlalchemy(engine):
    with engine.connect() as connection:
        view = "CREATE TEMP VIEW slow AS SELECT t.* FROM t, pg_sleep(1)"
        do(connection, "SET LOCAL statement_timeout = 300")
        do(connection, view)
        content = ContentHash(kinds(COLUMNS), "s")
        with pytest.raises(sa.exc.OperationalError, match="statement timeout"):
            add_content(connection, "slow", None, content)
