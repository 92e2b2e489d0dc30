"""A table of a share that could not hold exactly the records of a release is refused, and keeps what it has."""

from __future__ import annotations

import logging
import sqlite3
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from sqlalchemy import NullPool, create_engine, inspect, text

from airflow_anon.share import target_table
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport import connection as connection_module
from airflow_anon.transport.connection import hook_of
from tests.airflow_anon.nights.night import connection_of
from tests.conftest import role_without_rights

ROWS = [("m", "2*"), ("w", "3*"), ("w", "3*")]
LATER = [("m", "4*")]
FUNCTION = "CREATE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {} END'"
"""PostgreSQL calls it for each record or statement."""
AT_THE_END = """CREATE CONSTRAINT TRIGGER late AFTER INSERT ON people DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION late()"""
PARTITIONED = "CREATE TABLE people (sex text, area text) PARTITION BY LIST (sex)"


def data(folder, rows, columns=("sex", "area")):
    table = pa.table({name: pa.array([row[place] for row in rows], pa.string()) for place, name in enumerate(columns)})
    pq.write_table(table, folder / "data.parquet")
    return folder / "data.parquet"


def share():
    return SqlShare(hook_of("share"), "people")


def ask(engine, *statements):
    with engine.begin() as connection:
        results = [connection.execute(text(one)) for one in statements]
        return results[-1].all() if results[-1].returns_rows else []


def held(engine):
    return sorted(tuple(row) for row in ask(engine, "SELECT sex, area FROM people"))


def waiting(engine):
    return [name for name in inspect(engine).get_table_names() if name.startswith("load_")]


@pytest.fixture
def postgres(postgres_database, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(postgres_database))
    return create_engine(postgres_database, poolclass=NullPool)


@pytest.fixture
def sqlite(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(f"sqlite:///{tmp_path}/share.db"))
    return create_engine(f"sqlite:///{tmp_path}/share.db", poolclass=NullPool)


IN_THE_WAY = [
    pytest.param(
        ["CREATE RULE keep AS ON DELETE TO people DO INSTEAD NOTHING"],
        "a rule that rewrites what is written into it: 'keep'",
        ["DROP RULE keep ON people"],
        id="a rule that deletes nothing",
    ),
    pytest.param(
        [
            FUNCTION.format("other", "NEW.area := 1; RETURN NEW;"),
            "CREATE TRIGGER other BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION other()",
        ],
        "a trigger that may change or leave out records before they are written: 'other'",
        ["ALTER TABLE people DISABLE TRIGGER other"],
        id="a trigger that writes another value",
    ),
    pytest.param(
        [
            FUNCTION.format("spare", "RETURN NULL;"),
            "CREATE TRIGGER spare BEFORE DELETE ON people FOR EACH ROW EXECUTE FUNCTION spare()",
        ],
        "a trigger that may change or leave out records before they are written: 'spare'",
        ["DROP TRIGGER spare ON people"],
        id="a trigger that keeps old records",
    ),
    pytest.param(
        ["CREATE TABLE more () INHERITS (people)", "INSERT INTO more VALUES ('x', 'y')"],
        "has tables that inherit from it, whose records would be deleted and read with its own: 'more'",
        ["ALTER TABLE more NO INHERIT people"],
        id="a table that inherits",
    ),
    pytest.param(
        [
            "ALTER TABLE people ADD CONSTRAINT one UNIQUE (sex)",
            "CREATE TABLE notes (sex text CONSTRAINT refers REFERENCES people (sex) ON DELETE CASCADE)",
        ],
        "is referred to by foreign keys, so its records cannot be replaced, or others would go with them: 'refers'",
        ["DROP TABLE notes"],
        id="a foreign key of others",
    ),
    pytest.param(
        ["CREATE PUBLICATION everything FOR ALL TABLES"],
        "has no key by which to tell it: 'everything'; ALTER TABLE … REPLICA IDENTITY FULL",
        ["ALTER TABLE people REPLICA IDENTITY FULL"],
        id="a publication of deletes",
    ),
]


@pytest.mark.postgres
@pytest.mark.parametrize(("statements", "told", "mended"), IN_THE_WAY)
def test_what_makes_something_else_of_a_release_is_refused(postgres, tmp_path, statements, told, mended):
    first = [("m", "2*"), ("w", "3*")]
    share().publish("r1", "1" * 64, data(tmp_path, first))
    ask(postgres, *statements)
    before = held(postgres)
    with pytest.raises(AirflowFailException) as caught:
        share().publish("r2", "2" * 64, data(tmp_path, LATER))
    assert told in str(caught.value)
    with pytest.raises(AirflowFailException) as caught:
        share().empty("r1", "1" * 64)
    assert told in str(caught.value)
    assert (held(postgres), waiting(postgres)) == (before, [])
    ask(postgres, *mended)
    assert share().publish("r2", "2" * 64, data(tmp_path, LATER)) == "loaded"
    assert held(postgres) == LATER


@pytest.mark.postgres
@pytest.mark.parametrize(("statements", "told", "mended"), IN_THE_WAY[:3])
def test_it_is_refused_too_where_it_comes_while_the_release_is_loaded(
    postgres, tmp_path, monkeypatch, statements, told, mended
):
    """Then the check before has not seen it; from the switch on, nobody can add anything."""
    del mended
    share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    late = share()
    switch = late._switch

    def switching(*given):
        ask(postgres, *statements)
        return switch(*given)

    monkeypatch.setattr(late, "_switch", switching)
    with pytest.raises(AirflowFailException) as caught:
        late.publish("r2", "2" * 64, data(tmp_path, LATER))
    assert told in str(caught.value)
    assert (held(postgres), waiting(postgres)) == (ROWS, [])


@pytest.mark.postgres
def test_records_that_a_policy_hides_from_who_publishes(postgres, tmp_path, monkeypatch):
    """It deletes what it sees, so the hidden part of an earlier release would stay."""
    share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    with role_without_rights(postgres) as (role, url):
        ask(
            postgres,
            f"GRANT ALL ON SCHEMA public TO {role}",
            f"GRANT SELECT, INSERT, DELETE ON people, people_release TO {role}",
            "ALTER TABLE people ENABLE ROW LEVEL SECURITY",
            f"CREATE POLICY own_ward ON people TO {role} USING (sex = 'm') WITH CHECK (true)",
        )
        monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(url))
        for act in (
            lambda: share().publish("r2", "2" * 64, data(tmp_path, LATER)),
            lambda: share().empty("r1", "1" * 64),
        ):
            with pytest.raises(AirflowFailException, match="row-level security that hides records from this role"):
                act()
        assert held(postgres) == ROWS
        ask(postgres, f"ALTER ROLE {role} BYPASSRLS")
        assert share().publish("r2", "2" * 64, data(tmp_path, LATER)) == "loaded"
        assert held(postgres) == LATER


@pytest.mark.postgres
def test_a_policy_on_the_bookkeeping_hides_newer_releases(postgres, tmp_path, monkeypatch):
    share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    ask(postgres, "ALTER TABLE people_release ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
    with role_without_rights(postgres) as (role, url):
        ask(postgres, f"GRANT ALL ON SCHEMA public TO {role}", f"GRANT ALL ON people, people_release TO {role}")
        monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(url))
        with pytest.raises(AirflowFailException, match="'people_release': has row-level security"):
            share().publish("r0", "0" * 64, data(tmp_path, LATER))
    assert held(postgres) == ROWS


@pytest.mark.postgres
def test_a_partitioned_table_gets_releases_unless_a_partition_has_such_a_trigger(postgres, tmp_path):
    ask(postgres, PARTITIONED, "CREATE TABLE men PARTITION OF people FOR VALUES IN ('m')")
    ask(postgres, "CREATE TABLE others PARTITION OF people DEFAULT")
    for release, rows in (("r1", ROWS), ("r2", LATER)):
        assert share().publish(release, "1" * 64, data(tmp_path, rows)) == "loaded"
        assert held(postgres) == rows
    ask(postgres, FUNCTION.format("drop_it", "RETURN NULL;"))
    ask(postgres, "CREATE TRIGGER drop_it BEFORE INSERT ON men FOR EACH ROW EXECUTE FUNCTION drop_it()")
    with pytest.raises(AirflowFailException, match="'drop_it'"):
        share().publish("r3", "3" * 64, data(tmp_path, ROWS))
    assert held(postgres) == LATER


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("CREATE VIEW people AS SELECT 1 AS sex", "is a view; name a table or a new name"),
        ("CREATE MATERIALIZED VIEW people AS SELECT 1 AS sex", "is a view; name a table or a new name"),
        ("CREATE SEQUENCE people", "is neither a plain nor a partitioned table"),
    ],
)
def test_what_is_no_table(postgres, tmp_path, made, told):
    ask(postgres, made)
    with pytest.raises(AirflowFailException, match=told):
        share().publish("r1", "1" * 64, data(tmp_path, ROWS))


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["ALTER TABLE people ENABLE ROW LEVEL SECURITY"], "its row-level security"),
        (["CREATE POLICY own_ward ON people USING (true)"], "policy own_ward"),
        (["CREATE VIEW men AS SELECT * FROM people"], "view men"),
        (["CREATE MATERIALIZED VIEW men AS SELECT * FROM people"], "view men"),
        (["GRANT SELECT (area) ON people TO PUBLIC"], "privileges of column area"),
        (
            ["CREATE PUBLICATION copies FOR TABLE people", "ALTER TABLE people REPLICA IDENTITY FULL"],
            "its place in publication copies",
        ),
        (
            [
                FUNCTION.format("note", "RETURN NULL;"),
                "CREATE TRIGGER note AFTER INSERT ON people EXECUTE FUNCTION note()",
            ],
            "trigger note",
        ),
        (
            ["CREATE TABLE all_people (sex text, area text)", "ALTER TABLE people INHERIT all_people"],
            "its place below table all_people",
        ),
    ],
)
def test_a_table_that_must_be_replaced_loses_nothing(postgres, tmp_path, statements, told):
    """The same columns keep the table, and all that it has; other ones would not."""
    share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    ask(postgres, *statements)
    with pytest.raises(AirflowFailException) as caught:
        share().publish("r2", "2" * 64, data(tmp_path, [("m", "2*", "x")], ("sex", "area", "more")))
    assert told in str(caught.value)
    assert "the release has other columns, so the table must be replaced" in str(caught.value)
    assert (held(postgres), waiting(postgres)) == (ROWS, [])
    assert share().publish("r2", "2" * 64, data(tmp_path, LATER)) == "loaded"
    assert held(postgres) == LATER


@pytest.mark.parametrize("kind", [pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def test_a_table_that_is_made_anew_is_told(request, tmp_path, caplog, kind):
    """A type that changed in the source costs the readers their indexes: somebody wonders on the next day."""
    engine = request.getfixturevalue(kind)
    share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    ask(engine, "CREATE INDEX quick ON people (area)")
    with caplog.at_level(logging.WARNING):
        share().publish("r2", "2" * 64, data(tmp_path, LATER))
        assert "made anew" not in caplog.text
        share().publish("r3", "3" * 64, data(tmp_path, [("m", "2*", "x")], ("sex", "area", "more")))
    assert "is made anew, as the release has other columns or types ('more')" in caplog.text
    assert inspect(engine).get_indexes("people") == []


@pytest.mark.parametrize("kind", [pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def test_a_table_of_somebody_else_with_the_name_of_the_books_stays_as_it_is(request, tmp_path, kind):
    engine = request.getfixturevalue(kind)
    ask(engine, "CREATE TABLE people_release (release_id text, patient text)")
    with pytest.raises(AirflowFailException, match="'people_release' would book its releases, and is a table of some"):
        share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    assert [column["name"] for column in inspect(engine).get_columns("people_release")] == ["release_id", "patient"]
    assert inspect(engine).get_table_names() == ["people_release"]


@pytest.mark.postgres
def test_a_reader_who_stays_keeps_no_others_waiting_for_long(postgres, tmp_path, monkeypatch):
    """A table with other columns is dropped, for which it must have no reader; who comes later waits behind that."""
    monkeypatch.setattr(target_table, "WAIT_FOR_LOCK_MILLISECONDS", 200)
    other = [("m", "2*", "x")]
    share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    with postgres.connect() as reader:
        reader.execute(text("SELECT * FROM people"))
        with pytest.raises(AirflowException, match="somebody keeps on reading it or one of its views") as caught:
            share().publish("r2", "2" * 64, data(tmp_path, other, ("sex", "area", "more")))
    assert not isinstance(caught.value, AirflowFailException)
    assert (held(postgres), waiting(postgres)) == (ROWS, [])
    assert share().publish("r2", "2" * 64, data(tmp_path, other, ("sex", "area", "more"))) == "loaded"


@pytest.mark.postgres
def test_a_statement_that_changes_the_table_again_is_found_by_counting(postgres, tmp_path):
    share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    ask(
        postgres,
        FUNCTION.format("more", "IF pg_trigger_depth() < 2 THEN INSERT INTO people VALUES (1); END IF; RETURN NULL;"),
        "CREATE TRIGGER more AFTER INSERT ON people EXECUTE FUNCTION more()",
    )
    with pytest.raises(AirflowFailException, match="holds 2 records after it was written, not 1; a trigger"):
        share().publish("r2", "2" * 64, data(tmp_path, LATER))
    assert (held(postgres), waiting(postgres)) == (ROWS, [])


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("does", "trigger", "told"),
    [
        (
            "IF pg_trigger_depth() < 2 THEN UPDATE people SET area = 1; END IF; RETURN NULL;",
            "CREATE TRIGGER late AFTER INSERT ON people EXECUTE FUNCTION late()",
            "which a trigger of it has changed: 'late'",
        ),
        (
            "IF pg_trigger_depth() < 2 THEN UPDATE people SET area = 1; END IF; RETURN NULL;",
            AT_THE_END,
            "which a trigger of it has changed: 'late'",
        ),
        (
            "DELETE FROM people; RETURN NULL;",
            AT_THE_END,
            "holds 0 records after it was written, not 1",
        ),
    ],
)
def test_a_trigger_that_changes_records_once_they_are_written(postgres, tmp_path, does, trigger, told):
    """Also one that waits for the end of the transaction."""
    share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    ask(postgres, FUNCTION.format("late", does), trigger)
    with pytest.raises(AirflowFailException) as caught:
        share().publish("r2", "2" * 64, data(tmp_path, LATER))
    assert told in str(caught.value)
    assert (held(postgres), waiting(postgres)) == (ROWS, [])


@pytest.mark.postgres
def test_a_trigger_that_only_notes_what_is_written_may_stay(postgres, tmp_path):
    share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    ask(
        postgres,
        "CREATE TABLE notes (area text)",
        FUNCTION.format("note", "INSERT INTO notes VALUES (NEW.area); RETURN NULL;"),
        "CREATE TRIGGER note AFTER INSERT ON people FOR EACH ROW EXECUTE FUNCTION note()",
    )
    for release, rows in (("r2", LATER), ("r3", ROWS)):
        assert share().publish(release, "2" * 64, data(tmp_path, rows)) == "loaded"
        assert held(postgres) == sorted(rows)
    assert len(ask(postgres, "SELECT * FROM notes")) == len(LATER) + len(ROWS)


def test_triggers_of_sqlite_are_found_by_counting(sqlite, tmp_path):
    share().publish("r1", "1" * 64, data(tmp_path, ROWS))
    ask(sqlite, "CREATE TRIGGER spare BEFORE DELETE ON people BEGIN SELECT RAISE(IGNORE); END")
    for act in (lambda: share().publish("r2", "2" * 64, data(tmp_path, LATER)), lambda: share().empty("r1", "1" * 64)):
        with pytest.raises(AirflowFailException, match="records after it was written, not"):
            act()
    assert (held(sqlite), waiting(sqlite)) == (ROWS, [])
    with pytest.raises(AirflowFailException, match="would be lost: trigger spare"):
        share().publish("r2", "2" * 64, data(tmp_path, [("m", "2*", "x")], ("sex", "area", "more")))
    assert (held(sqlite), waiting(sqlite)) == (ROWS, [])


def test_readers_of_a_file_of_sqlite_find_no_record_that_was_removed(sqlite, tmp_path, monkeypatch):
    """Whether free pages are overwritten is a setting, which SQLite has on as Debian builds it and off elsewhere."""

    def connect(*args, **options):
        connection = sqlite3.connect(*args, **options)
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    monkeypatch.setattr(connection_module, "sqlite3", SimpleNamespace(connect=connect))
    many = [("w", f"earlier {number}") for number in range(500)]
    share().publish("r1", "1" * 64, data(tmp_path, many))
    assert b"earlier 499" in (tmp_path / "share.db").read_bytes()
    share().publish("r2", "2" * 64, data(tmp_path, LATER))
    assert b"earlier" not in (tmp_path / "share.db").read_bytes()
    share().publish("r3", "3" * 64, data(tmp_path, many))
    assert share().empty("r3", "3" * 64)
    assert b"earlier" not in (tmp_path / "share.db").read_bytes()
    assert held(sqlite) == []


def test_a_virtual_table_of_sqlite(sqlite, tmp_path):
    ask(sqlite, "CREATE VIRTUAL TABLE people USING fts5(sex, area)")
    with pytest.raises(AirflowFailException, match="is neither a plain nor a partitioned table"):
        share().publish("r1", "1" * 64, data(tmp_path, ROWS))
