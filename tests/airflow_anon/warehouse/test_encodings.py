"""A database that keeps texts in another encoding than UTF-8: what it holds is released as it is, or refused."""

from __future__ import annotations

import uuid

import pytest
import sqlalchemy as sa
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.operators.deidentify import engine_errors
from airflow_anon.share.made_table import made_table
from airflow_anon.transport.connection import engine_of, hook_of
from airflow_anon.transport.database_read import look_at
from airflow_anon.transport.relation import Relation
from airflow_anon.warehouse.failure import warehouse_errors
from engine import run
from tests.airflow_anon.warehouse.inside import CONNECTION, TABLE, connect, execute, in_sql, inside, table, written
from tests.airflow_anon.warehouse.test_failures import DOCUMENT

pytestmark = [pytest.mark.postgres]
TEXTS = {"LATIN1": "e4", "SQL_ASCII": "c3a4"}
"""The bytes of "ä", as a program writes it into a database of that encoding."""


@pytest.fixture(params=TEXTS)
def engine(request, monkeypatch, postgres_url):
    name = f"test_{uuid.uuid4().hex}"
    administration = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    made = f"CREATE DATABASE {name} ENCODING '{request.param}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    with administration.connect() as connection:
        connection.exec_driver_sql(made)
    connect(monkeypatch, sa.make_url(postgres_url).set(database=name).render_as_string(hide_password=False))
    try:
        yield engine_of(hook_of(CONNECTION), create=True), request.param
    finally:
        with administration.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


def release(engine, encoding, written_as, changes=None, **keys):
    """Release records with a text of these bytes, as a task does; give the texts that are released."""
    execute(
        engine,
        f"CREATE TABLE source AS SELECT i %% 50 AS age, '8000' || i %% 5 AS zip, "
        f"convert_from('\\x{written_as}'::bytea, '{encoding}') AS dx, 'p' || i AS mrn FROM generate_series(1, 600) i",
    )
    attributes = {**DOCUMENT["attributes"], "mrn": {"role": "identifying"}, **(changes or {})}
    document = {**DOCUMENT, **keys, "attributes": attributes}
    with (
        engine_errors(),
        warehouse_errors("counting", CONNECTION, None),
        inside(engine, table("source"), document) as warehouse,
    ):
        result = run(in_sql(document), warehouse)
        made_table(warehouse._connection, TABLE, None, warehouse.released, result.report["released"])
        return set(written(warehouse)["dx"].to_pylist())


def test_texts_are_released_as_they_are(engine):
    engine, encoding = engine
    assert release(engine, encoding, TEXTS[encoding], {"dx": {"role": "sensitive", "missing": ["?"]}}) == {"ä"}


def test_persons_are_not_told_apart_without_all_letters(engine):
    engine, encoding = engine
    with pytest.raises(AirflowFailException, match=f"subject: the database keeps texts as {encoding}, .* auto"):
        release(engine, encoding, "61", subject="mrn", unit=None)


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_bytes_that_are_no_text(engine, role):
    """One that is counted, and one that is only released."""
    engine, encoding = engine
    if encoding == "LATIN1":
        assert release(engine, encoding, "e4", {"dx": {"role": role}}) == {"ä"}
        return
    with pytest.raises(AirflowFailException, match=r"text (that )?is not UTF-8.*SQL_ASCII.* leave its column out"):
        release(engine, encoding, "e4", {"dx": {"role": role}})


def test_a_character_that_the_database_lacks(engine):
    engine, encoding = engine
    changes = {"dx": {"role": "sensitive", "missing": ["≥1"]}}
    if encoding == "SQL_ASCII":
        assert release(engine, encoding, "61", changes) == {"a"}
        return
    with pytest.raises(AirflowFailException, match="lacks a character of a label or of `missing`; write these"):
        release(engine, encoding, "61", changes)


def test_a_role_that_reads_another_encoding(monkeypatch, postgres_database):
    """Texts that have no letters there are read and written all the same."""
    engine = connect(monkeypatch, postgres_database)
    execute(engine, f"ALTER DATABASE \"{engine.url.database}\" SET client_encoding = 'LATIN1'")
    asked = sa.select(sa.literal("日本") + sa.literal_column(r"U&'\65e5'"))
    with engine_of(hook_of(CONNECTION)).connect() as connection:
        assert connection.scalar(asked) == "日本日"


@pytest.mark.parametrize("transport", ["adbc", "sqlalchemy"])
def test_an_extraction_by_a_role_that_reads_another_encoding(monkeypatch, postgres_database, transport):
    """The bytes of the second text in that encoding are the first one in UTF-8."""
    engine = connect(monkeypatch, postgres_database)
    execute(
        engine,
        "CREATE TABLE source (q text)",
        "INSERT INTO source VALUES ('é'), ('Ã©')",
        f"ALTER DATABASE \"{engine.url.database}\" SET client_encoding = 'LATIN1'",
    )
    reading = look_at(hook_of(CONNECTION), Relation.named("source", None), {"q": "insensitive"}, transport, 10)
    read = [cell for batch in reading.batches() for cell in batch.column(0).to_pylist()]
    assert read == ["é", "Ã©"]
