"""On PostgreSQL the warehouse is the same as on SQLite, and comes in one transaction."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine, inspect, select, text

from airflow_anon.demo import build
from airflow_anon.demo.build import ForeignWarehouseError
from airflow_anon.demo.schema import METADATA, VIEWS
from airflow_anon.demo.warehouse import build_warehouse, direct_identifiers

pytestmark = pytest.mark.postgres

PERSONS = 2_000


@pytest.fixture
def engine(postgres_database):
    made = create_engine(postgres_database)
    yield made
    made.dispose()


def content(engine):
    """Read everything, in an order of no meaning but the same everywhere."""
    with engine.connect() as connection:
        tables = {t.name: sorted(connection.execute(select(t)).all(), key=repr) for t in METADATA.sorted_tables}
        views = {name: sorted(map(str, connection.execute(text(f"SELECT * FROM {name}")))) for name in VIEWS}
    return tables, views


def test_the_same_rows_as_on_sqlite(engine, tmp_path):
    assert build_warehouse(engine, persons=PERSONS, seed=3) is True
    sqlite = create_engine(f"sqlite:///{tmp_path / 'w.db'}")
    build_warehouse(sqlite, persons=PERSONS, seed=3)
    tables, views = content(engine)
    other_tables, other_views = content(sqlite)
    assert tables == other_tables
    assert len(tables["person"]) == PERSONS
    assert views["deid_demographics"] == other_views["deid_demographics"]
    assert len(views["deid_hospital_stays"]) == len(other_views["deid_hospital_stays"]) > 0
    assert set(direct_identifiers(engine)) == set(direct_identifiers(sqlite))
    sqlite.dispose()


def test_values_of_the_stays_read_as_the_same_text(engine, tmp_path):
    build_warehouse(engine, persons=PERSONS, seed=3)
    sqlite = create_engine(f"sqlite:///{tmp_path / 'w.db'}")
    build_warehouse(sqlite, persons=PERSONS, seed=3)
    read = []
    for each in (engine, sqlite):
        with each.connect() as connection:
            stays = connection.execute(text("SELECT * FROM deid_hospital_stays")).all()
        read.append(sorted(tuple(map(str, row)) for row in stays))
    assert read[0] == read[1]
    sqlite.dispose()


def test_a_second_call_changes_nothing_and_other_arguments_rebuild(engine, postgres_database):
    identity = text("SELECT oid FROM pg_class WHERE relname = 'person'")
    assert build_warehouse(postgres_database, persons=50) is True
    with engine.connect() as connection:
        before = connection.execute(identity).scalar()
    assert build_warehouse(postgres_database, persons=50) is False
    with engine.connect() as connection:
        assert connection.execute(identity).scalar() == before
    assert build_warehouse(postgres_database, persons=51) is True
    assert len(content(engine)[0]["person"]) == 51


def test_a_failing_build_leaves_nothing_and_a_failing_rebuild_the_old(engine, monkeypatch):
    real = build.load

    def load(connection, target, rows):
        if target.name == "visit_occurrence":
            raise OSError("no space left")
        real(connection, target, rows)

    with monkeypatch.context() as patched:
        patched.setattr(build, "load", load)
        with pytest.raises(OSError, match="no space left"):
            build_warehouse(engine, persons=50)
    assert inspect(engine).get_table_names() == []
    build_warehouse(engine, persons=50)
    before = content(engine)
    with monkeypatch.context() as patched:
        patched.setattr(build, "load", load)
        with pytest.raises(OSError, match="no space left"):
            build_warehouse(engine, persons=51)
    assert content(engine) == before


def test_foreign_tables_are_not_touched(engine):
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE person (person_id INTEGER)"))
        connection.execute(text("INSERT INTO person VALUES (4711)"))
    with pytest.raises(ForeignWarehouseError, match="person"):
        build_warehouse(engine, persons=50)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT person_id FROM person")).scalar() == 4711
    assert inspect(engine).get_table_names() == ["person"]
