"""ADBC is used where its driver reads types as they are, and something else takes its place where it does not."""

from __future__ import annotations

import datetime as dt
import decimal
import logging

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from airflow.sdk.exceptions import AirflowFailException

from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from airflow_anon.transport.database_read import look_at
from airflow_anon.transport.relation import Relation
from tests.airflow_anon.nights.night import connection_of

pytestmark = [pytest.mark.postgres]

COLUMNS = ["n", "k", "t", "d"]
KINDS = [pa.int64(), pa.decimal128(5, 2), pa.string(), pa.date32()]
ROW = [1, decimal.Decimal("1.20"), "a", dt.date(2026, 1, 2)]


@pytest.fixture
def quoting(postgres_database, monkeypatch):
    """Give an engine of a database that writes all names in quotes, with a table of it."""
    monkeypatch.setenv("AIRFLOW_CONN_CLINIC", connection_of(postgres_database))
    engine = sa.create_engine(postgres_database, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE stays (n smallint, k numeric(5, 2), t text, d date)")
        connection.exec_driver_sql("INSERT INTO stays VALUES (1, 1.2, 'a', '2026-01-02')")
        connection.exec_driver_sql(f'ALTER DATABASE "{engine.url.database}" SET quote_all_identifiers = on')
    return engine


def look(transport):
    return look_at(hook_of("clinic"), Relation(table="stays"), dict.fromkeys(COLUMNS, "insensitive"), transport, 10)


def test_a_server_that_quotes_all_names_is_read_all_the_same(quoting, caplog):
    with caplog.at_level(logging.WARNING):
        reading = look("auto")
    assert reading.transport == "sqlalchemy"
    assert "ALTER ROLE … SET quote_all_identifiers = off" in caplog.text
    (batch,) = reading.batches()
    assert batch.schema.types == KINDS
    assert [column[0].as_py() for column in batch.columns] == ROW


def test_adbc_that_is_asked_for_there_says_which_setting_is_in_the_way(quoting):
    with pytest.raises(AirflowFailException, match=r"quote_all_identifiers is on; ALTER ROLE .* or use 'auto'"):
        look("adbc")


def test_a_share_that_quotes_all_names_is_filled(quoting, tmp_path):
    arrays = [pa.array([one], kind) for one, kind in zip(ROW, KINDS, strict=True)]
    for release, columns in (("r1", COLUMNS), ("r2", COLUMNS), ("r3", COLUMNS[::-1])):
        pq.write_table(pa.table(dict(zip(COLUMNS, arrays, strict=True))).select(columns), tmp_path / "data.parquet")
        assert SqlShare(hook_of("clinic"), "people").publish(release, "1" * 64, tmp_path / "data.parquet") == "loaded"
    with quoting.connect() as connection:
        assert list(connection.execute(sa.text("SELECT n, k, t, d FROM people")).one()) == ROW
