"""Reading changes alone gives what reading all rows gives, whatever happens to the rows and to what is kept of them."""

from __future__ import annotations

import json
import stat
import tempfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowFailException
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, make_url, text

from airflow_anon.operators.publish import PublishReleaseOperator
from airflow_anon.transport import counted_rows, incremental_read
from airflow_anon.transport.incremental_read import CHANGES_ALONE
from tests.airflow_anon.operators.changing_source import OVERLAP, ROLES, WAYS, ChangingSource, rows_of
from tests.profiles import examples

KEYS = st.integers(0, 7)
VALUES = st.tuples(st.integers(0, 90), st.none() | st.integers(0, 9), st.sampled_from(["I10", "E11", None]))
OPERATION = st.one_of(
    st.tuples(st.just("write"), KEYS, VALUES, st.integers(0, OVERLAP)),
    st.tuples(st.just("remove"), KEYS),
)
NIGHTS = st.lists(st.tuples(st.lists(OPERATION, max_size=5), st.booleans()), min_size=2, max_size=6)


def sqlite_source(folder, monkeypatch, way="deleted"):
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps({"conn_type": "sqlite", "host": str(folder / "w.db")}))
    return ChangingSource(create_engine(f"sqlite:///{folder}/w.db"), folder, way)


@pytest.fixture(params=list(WAYS))
def source(request, tmp_path, monkeypatch):
    return sqlite_source(tmp_path, monkeypatch, request.param)


@pytest.fixture
def one(tmp_path, monkeypatch):
    return sqlite_source(tmp_path, monkeypatch)


def night(source, **arguments):
    """Run and keep a night; give its result."""
    result = source.extract(**arguments)
    source.keep(result)
    return result


def applied(source, operation):
    kind, key, *rest = operation
    if kind == "remove":
        source.remove(key)
    else:
        source.write(key, rest[0], late=rest[1])


@pytest.mark.parametrize("way", list(WAYS))
@settings(max_examples=examples(40))
@given(nights=NIGHTS)
def test_nights_are_those_of_full_reads(way, nights):
    """Inserts, updates, deletions, returns, late commits and nights that are not published: the same rows."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        source = sqlite_source(Path(folder), patch, way)
        for operations, is_published in nights:
            for operation in operations:
                applied(source, operation)
            if not source.rows:
                source.write(0, (50, None, "I10"))
            result = source.extract()
            assert rows_of(result) == source.present()
            assert result["fingerprint"] == source.in_full()["fingerprint"]
            if is_published:
                source.keep(result)
        source.engine.dispose()


def test_only_changes_are_read(source, monkeypatch):
    """After the first night the statement for all rows is not run, and what is kept is private."""
    for key in range(20):
        source.write(key, (key, 1, "I10"))
    assert night(source)["incremental"] == "all rows were read: nothing is kept of an earlier night"
    source.write(3, (99, 2, "E11"), late=OVERLAP)
    source.remove(4)
    source.write(30, (30, None, None))
    monkeypatch.setattr(incremental_read.IncrementalRead, "_all", None)
    result = night(source)
    assert result["incremental"] == CHANGES_ALONE
    assert rows_of(result) == source.present()
    kept = source.folder / "kept"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert sorted(path.suffix for path in kept.iterdir()) == [".hashes", ".json", ".parquet"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept.iterdir()} == {0o600}
    assert sorted(path.name for path in Path(result["path"]).parent.iterdir()) == [
        *("hashes.bin", "kept.json", "source.parquet")
    ]


def test_a_night_without_changes(source):
    source.write(1, (20, 1, "I10"))
    night(source)
    result = night(source)
    assert result["incremental"] == CHANGES_ALONE
    assert rows_of(result) == source.present()


def test_rows_without_a_mark_are_always_read(one):
    """A row whose `changed` is missing might have been written at any time."""
    night(one)
    with one.engine.begin() as connection:
        connection.execute(text("UPDATE person SET version = NULL, age = 7 WHERE mrn = :mrn"), {"mrn": one.name(0)})
        connection.execute(text("INSERT INTO person VALUES ('other', 1, NULL, 'I10', 11, 0)"))
    result = one.extract()
    assert result["incremental"] == CHANGES_ALONE
    assert sorted(pq.read_table(result["path"])["age"].to_pylist()) == [1, 7]


def broken(source, how):
    """Make the state of last night unusable."""
    kept = source.folder / "kept"
    [table], [hashes] = kept.glob("table-*.parquet"), kept.glob("table-*.hashes")
    if how == "lost":
        table.unlink()
    elif how == "truncated":
        table.write_bytes(table.read_bytes()[:-9])
    elif how == "hashes":
        hashes.write_bytes(bytes(8) + hashes.read_bytes()[8:])
    elif how == "document":
        (kept / "state.json").write_text("{")
    elif how == "mark":
        document = json.loads((kept / "state.json").read_text())
        document["state"]["mark"] += 5
        (kept / "state.json").write_text(json.dumps(document))
    elif how == "key":
        (source.folder / "other.key").write_text("k" * 64)
        (source.folder / "other.key").chmod(0o600)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("lost", "are gone"),
        ("truncated", "were changed"),
        ("hashes", "were changed"),
        ("document", "is damaged"),
        ("mark", "was changed, or is sealed by another key"),
        ("key", "was changed, or is sealed by another key"),
    ],
)
def test_a_state_that_is_lost_or_changed_is_not_used(one, caplog, how, why):
    """All rows are read, and the log and what the task returns say so."""
    one.write(1, (20, 1, "I10"))
    night(one)
    broken(one, how)
    arguments = {"fingerprint_key": str(one.folder / "other.key")} if how == "key" else {}
    with caplog.at_level("INFO"):
        result = one.extract(**arguments)
    assert why in result["incremental"]
    assert result["incremental"].startswith("all rows were read: ")
    assert result["incremental"] in caplog.text
    assert rows_of(result) == one.present()


@pytest.mark.parametrize("change", ["query", "columns", "settings", "warehouse", "type"])
def test_a_state_of_something_else_is_not_used(one, monkeypatch, change):
    one.write(1, (20, 1, "I10"))
    night(one)
    arguments = {}
    if change == "query":
        arguments = {"table": None, "query": "SELECT * FROM person WHERE age > 0"}
    elif change == "columns":
        arguments = {"attributes": {**ROLES, "diagnosis": "identifying"}}
    elif change == "settings":
        arguments = {"incremental": {**one.settings, "deleted": None, "list_keys": True}}
    elif change == "warehouse":
        (one.folder / "w.db").rename(one.folder / "v.db")
        place = {"conn_type": "sqlite", "host": str(one.folder / "v.db")}
        monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(place))
    else:
        with one.engine.begin() as connection:
            connection.execute(text("INSERT INTO person VALUES ('x', 'old', 1, 'I10', 12, 0)"))
    result = one.extract(**arguments)
    assert "another source, other columns" in result["incremental"]
    assert pq.read_table(result["path"]).num_rows == (3 if change == "type" else 2)


def test_what_others_may_open_is_refused(one):
    night(one)
    (one.folder / "kept").chmod(0o755)
    with pytest.raises(AirflowFailException, match=r"kept_in: .*mode 0700"):
        one.extract()
    (one.folder / "kept").chmod(0o700)
    (one.folder / "kept" / "state.json").chmod(0o640)
    with pytest.raises(AirflowFailException, match=r"state\.json .*mode 0600"):
        one.extract()


def test_a_source_that_is_older_than_what_is_kept(source):
    """A warehouse restored from a copy: its highest mark is below that of last night."""
    for key in range(4):
        source.write(key, (20, 1, "I10"))
    night(source)
    with source.engine.begin() as connection:
        for statement in ("UPDATE person SET version = 11", "DELETE FROM person_log WHERE number > 11"):
            connection.execute(text(statement))
    result = source.extract()
    assert "older than what is kept" in result["incremental"]
    assert rows_of(result) == source.present()


@pytest.mark.parametrize(
    "statement", ["DELETE FROM person WHERE mrn = :mrn", "INSERT INTO person VALUES (:new, 1, 2, NULL, 1, 0)"]
)
def test_rows_that_come_or_go_without_a_word_are_noticed(source, statement):
    """A row deleted for good, and one that appears with an old mark: the number of rows does not fit."""
    for key in range(8):
        source.write(key, (20, 1, "I10"))
    night(source)
    with source.engine.begin() as connection:
        connection.execute(text(statement), {"mrn": source.name(1), "new": source.name(9)})
    if statement.startswith("DELETE"):
        del source.rows[1]
    else:
        source.rows[9] = (1, 2, None)
    result = source.extract()
    seen = source.way == "list_keys" and statement.startswith("DELETE")
    assert result["incremental"] == CHANGES_ALONE if seen else "without the source telling" in result["incremental"]
    assert rows_of(result) == source.present()


def test_a_log_that_was_cut_off(tmp_path, monkeypatch):
    """What the log no longer has could have been a change."""
    source = sqlite_source(tmp_path, monkeypatch, "query")
    source.write(1, (20, 1, "I10"))
    night(source)
    source.write(1, (21, 1, "I10"))
    for _ in range(9):
        source.write(2, (22, 1, "I10"))
    with source.engine.begin() as connection:
        connection.execute(text("DELETE FROM person_log WHERE number < 16"))
    result = source.extract()
    assert "does not reach back" in result["incremental"]
    assert rows_of(result) == source.present()


def test_all_rows_are_read_every_so_many_nights(one):
    """What the source does not tell is wrong for so many nights at most."""
    given = {"incremental": {**one.settings, "full_every": 3}}
    told = [night(one, **given)["incremental"] for _ in range(6)]
    assert [how == CHANGES_ALONE for how in told] == [False, True, True, False, True, True]
    assert "every 3 nights" in told[3]


@pytest.mark.parametrize(("way", "key"), [("deleted", "age"), ("list_keys", "age"), ("deleted", "stay")])
def test_a_key_that_is_not_one_is_refused(tmp_path, monkeypatch, way, key):
    source = sqlite_source(tmp_path, monkeypatch, way)
    source.write(1, (50, 1.5, "I10"))
    with pytest.raises(AirflowFailException, match=r"incremental\.key: column '(age|stay)'"):
        source.extract(incremental={**source.settings, "key": key})


def test_a_key_that_becomes_one_twice_is_refused(tmp_path, monkeypatch):
    """One of two rows with the same key was written tonight, the other one stays."""
    source = sqlite_source(tmp_path, monkeypatch, "list_keys")
    given = {"incremental": {**source.settings, "key": "age"}}
    for key in range(8):
        source.write(key, (key, 1, "I10"))
    night(source, **given)
    for key in range(8, 16):
        source.write(key, (key - 8, 1, "I10"))
    with pytest.raises(AirflowFailException, match="has a value twice"):
        source.extract(**given)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"changed": "diagnosis"}, None),
        ({"changed": "nobody"}, r"incremental\.changed: is 'nobody'"),
        ({"changed": "stay"}, r"incremental\.changed: column 'stay' must hold whole numbers or moments"),
        ({"deleted": "diagnosis"}, r"incremental\.deleted: column 'diagnosis' must hold truth values"),
        ({"deleted": None, "query": "SELECT mrn AS m, number FROM person_log", "changed": "number"}, "lacks the key"),
        ({"deleted": None, "query": "DROP TABLE person", "changed": "number"}, r"incremental\.query: must begin with"),
    ],
)
def test_columns_that_tell_nothing_are_named(one, settings, named):
    """Text that is no moment counts as no mark: such rows are always read."""
    one.write(1, (20, 1.5, "I10"))
    given = {"incremental": {**one.settings, **settings}}
    if named is None:
        night(one, **given)
        assert "no row told when" in one.extract(**given)["incremental"]
        return
    with pytest.raises(AirflowFailException, match=named):
        one.extract(**given)


@pytest.mark.parametrize("future", ["2999-01-01 00:00:00", "2999-01-01T00:00:00Z"])
def test_a_moment_in_the_future_hides_nothing(one, future):
    """What is written after a row of the year 2999 is still read."""
    for statement in ("ALTER TABLE person ADD COLUMN at TEXT", "UPDATE person SET at = datetime('now')"):
        with one.engine.begin() as connection:
            connection.execute(text(statement))
    given = {"incremental": {**one.settings, "changed": "at"}, "attributes": {**ROLES, "at": "identifying"}}
    with one.engine.begin() as connection:
        connection.execute(text(f"INSERT INTO person VALUES ('x', 1, 1, 'I10', 1, 0, '{future}')"))
    night(one, **given)
    with one.engine.begin() as connection:
        connection.execute(text("UPDATE person SET age = 77, at = datetime('now', '-1 minute') WHERE mrn <> 'x'"))
    result = night(one, **given)
    assert result["incremental"] == CHANGES_ALONE
    assert sorted(pq.read_table(result["path"])["age"].to_pylist()) == [1, 77]


@pytest.mark.parametrize(("value", "there"), [("NULL", True), ("0", True), ("2", False), ("'2026-03-01 10:00'", False)])
def test_what_marks_a_row_as_deleted(one, value, there):
    """No value and 0 do not; another number and a moment do."""
    for key, age in ((0, 50), (1, 20)):
        one.write(key, (age, 1, "I10"))
    if value.startswith("'"):
        with one.engine.begin() as connection:
            connection.execute(text("UPDATE person SET is_deleted = NULL"))
    night(one)
    with one.engine.begin() as connection:
        connection.execute(
            text(f"UPDATE person SET is_deleted = {value}, version = 99 WHERE mrn = :mrn"), {"mrn": one.name(1)}
        )
    result = one.extract()
    assert result["incremental"] == CHANGES_ALONE
    assert pq.read_table(result["path"])["age"].to_pylist() == ([50, 20] if there else [50])


def test_other_databases_are_read_in_full(one, monkeypatch):
    monkeypatch.setattr("airflow_anon.transport.changed_rows.DIALECTS", ("postgresql",))
    with pytest.raises(AirflowFailException, match="incremental: is for postgresql, and the connection is of sqlite"):
        one.extract()


def test_a_publication_that_cannot_keep_the_rows_says_so(one, capsys):
    """The release is complete; the next night reads more."""
    job = SimpleNamespace(incremental=SimpleNamespace(kept_in=str(one.folder / "kept")))
    operator = PublishReleaseOperator(
        task_id="publish",
        job={},
        release=str(one.folder / "night 1" / "release"),
        manifest_sha256="",
        validation_sha256="",
        metrics={},
    )
    operator._keep_rows(job)
    assert "reads what changed since an earlier one, or all rows: FileNotFoundError" in capsys.readouterr().out
    one.extract()
    operator._keep_rows(job)
    assert one.extract()["incremental"] == CHANGES_ALONE


class Killed(BaseException):
    """The end of a process."""


@pytest.mark.parametrize("step", ["rows", "document", "after", "leftovers"])
def test_a_kill_while_rows_are_kept_leaves_a_state_that_can_be_used(one, monkeypatch, step):
    """Before the document is in its place that of last night counts, from then on that of tonight."""
    one.write(1, (20, 1, "I10"))
    night(one)
    one.write(1, (30, 1, "I10"))
    result = one.extract()
    replaced = Path.replace

    def replace(path, target):
        name = Path(target).name
        if (step == "rows" and name.startswith("table-")) or (step == "document" and name == "state.json"):
            raise Killed
        replaced(path, target)
        if step == "after" and name == "state.json":
            raise Killed

    def unlink(path, **arguments):
        raise Killed  # a killed process does not tidy up

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        patch.setattr(Path, "unlink", unlink)
        with pytest.raises(Killed):
            one.keep(result)
    one.write(2, (40, 1, "I10"))
    again = night(one)
    assert again["incremental"] == CHANGES_ALONE
    assert rows_of(again) == one.present()
    assert len(list((one.folder / "kept").iterdir())) == 3


def test_rows_that_are_removed_while_they_are_read(one, monkeypatch):
    """Another run may keep its rows meanwhile: a file that is open stays readable."""
    one.write(1, (20, 1, "I10"))
    result = night(one)
    stage = incremental_read.IncrementalRead._stage_changes

    def meanwhile(*arguments):
        before = list((one.folder / "kept").glob("table-*"))
        one.keep(result)
        assert not any(path.exists() for path in before)
        stage(*arguments)

    monkeypatch.setattr(incremental_read.IncrementalRead, "_stage_changes", meanwhile)
    again = one.extract()
    assert again["incremental"] == CHANGES_ALONE
    assert rows_of(again) == one.present()


@pytest.fixture
def postgres_source(request, postgres_database, tmp_path, monkeypatch):
    url = make_url(postgres_database)
    place = {
        "conn_type": "postgres",
        "login": url.username,
        "schema": url.database,
        "extra": {"host": url.query["host"]},
    }
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(place))
    engine = create_engine(postgres_database)
    yield lambda way: ChangingSource(engine, tmp_path, way)
    engine.dispose()


@pytest.mark.postgres
@pytest.mark.parametrize("transport", ["adbc", "sqlalchemy"])
@pytest.mark.parametrize("way", list(WAYS))
def test_postgres(postgres_source, way, transport, monkeypatch, caplog):
    """Keys of type uuid, decimals and truth values; each night is that of a full read."""
    monkeypatch.setattr(counted_rows, "ROWS_PER_COMBINATION", 1)
    source, counted = postgres_source(way), ["age", "stay", "diagnosis"]
    for key in range(6):
        source.write(key, (20 + key % 2, 1.5, "I10"))
    night(source, transport=transport, counted=counted)
    source.write(1, (77, None, None))
    source.write(9, (78, 2.25, "E11"), late=OVERLAP)
    source.remove(2)
    with caplog.at_level("INFO"):
        result = night(source, transport=transport, counted=counted)
    assert result["incremental"] == CHANGES_ALONE
    assert rows_of(result) == source.present()
    assert result["fingerprint"] == source.in_full(transport=transport)["fingerprint"]
    assert "Counting: only what changed" in caplog.text
    rows = pq.read_table(Path(result["path"]).parent / "counts.parquet").to_pylist()
    found = Counter(tuple(row.values()) for row in pq.read_table(result["path"], columns=counted).to_pylist())
    assert {tuple(row.values())[:-1]: row[counted_rows.ROWS] for row in rows} == found
    source.write(2, (79, 1.0, "I10"))
    assert rows_of(source.extract(transport=transport)) == source.present()


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["timestamptz", "timestamp", "date"])
def test_postgres_moments(postgres_source, kind):
    """Moments of each type are marks; one without an end is always read, and none in the future hides a write."""
    source = postgres_source("list_keys")
    for key in range(4):
        source.write(key, (20 + key, 1.5, "I10"))
    given = {
        "incremental": {**source.settings, "changed": "at", "overlap": 0},
        "attributes": {**ROLES, "at": "identifying"},
    }
    with source.engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE person ADD COLUMN at {kind}"))
        connection.execute(text("UPDATE person SET at = now() - interval '9 days'"))
        for key, at in ((1, "infinity"), (2, "2999-01-01"), (3, "-infinity")):
            connection.execute(text("UPDATE person SET at = :at WHERE mrn = :mrn"), {"at": at, "mrn": source.name(key)})
    night(source, **given)
    for key, values in source.rows.items():
        source.rows[key] = (values[0] + 50, *values[1:])
    with source.engine.begin() as connection:
        connection.execute(text("UPDATE person SET age = age + 50"))
        connection.execute(text("UPDATE person SET at = now() WHERE at < now() AND isfinite(at)"))
    result = night(source, **given)
    assert result["incremental"] == CHANGES_ALONE
    assert rows_of(result) == source.present()
