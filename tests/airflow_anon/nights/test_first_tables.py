"""The first publishers of a table make its bookkeeping table, all at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import create_engine, inspect, text

from airflow_anon.share.sql_books import SqlBooks
from airflow_anon.transport.connection import engine_of, hook_of
from tests.airflow_anon.publication.test_two_publishers import connection_of

PUBLISHERS = 6


@pytest.mark.postgres
def test_publishers_that_make_the_same_table_at_once_all_find_it(monkeypatch, postgres_url):
    """PostgreSQL fails a CREATE TABLE that waited for another one of the same name."""
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_SHARE", connection_of(postgres_url))
    engine = create_engine(postgres_url)
    ready = Barrier(PUBLISHERS)

    def make(_):
        own = engine_of(hook_of("research_share"), create=True)
        ready.wait()
        SqlBooks("first_of_all", None).make(own)

    with ThreadPoolExecutor(PUBLISHERS) as pool:
        for _ in range(10):
            list(pool.map(make, range(PUBLISHERS)))
            assert inspect(engine).has_table("first_of_all_release")
            with engine.begin() as connection:
                connection.execute(text("DROP TABLE first_of_all_release"))
    engine.dispose()
