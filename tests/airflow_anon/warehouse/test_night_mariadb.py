"""A night inside MariaDB, where CREATE and DROP commit, by its operators: whole, cancelled, or killed anywhere."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import threading
import time
from collections import Counter
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.cli import main
from airflow_anon.operators.deidentify_inside import DeidentifyInWarehouseOperator
from airflow_anon.operators.publish import PublishReleaseOperator
from airflow_anon.operators.validate import ValidateReleaseOperator
from airflow_anon.publication.settle import remove_leftovers, settle
from airflow_anon.run.check_table import check_job
from airflow_anon.run.release_id import release_id
from airflow_anon.share import sql_statistics
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from engine import load_job
from tests import mariadb
from tests.airflow_anon.publication.publishing import VALIDATION, run_context
from tests.airflow_anon.warehouse import on_mariadb
from tests.airflow_anon.warehouse.inside import CONNECTION
from tests.profiles import only, spread, thorough

_KILLED = 99
UMASK = 0o022


class World:
    """The databases of a test, its ledger, and the tasks of its nights."""

    def __init__(self, server, folder, own, shared):
        self.server, self.folder, self.own, self.shared = server, folder, own, shared
        self.job = {
            "name": "stays",
            "unit": "record",
            "backend": "sql",
            "source": {"conn_id": CONNECTION, "table": "source"},
            "output": {"conn_id": CONNECTION, "table": f"{shared}.stays"},
            "attributes": {
                "mrn": {"role": "identifying"},
                "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10, 20]}},
                "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 5}},
                "dx": {"role": "sensitive"},
                "flag": {"role": "insensitive"},
            },
            "privacy": [{"model": "k-anonymity", "k": 3}],
            "suppression_limit": 0.2,
        }

    def fill(self):
        self.run(
            "CREATE TABLE source (mrn TEXT, age INT, zip VARCHAR(9), dx TEXT, flag BOOLEAN)",
            "INSERT INTO source SELECT concat('p', seq), (seq * 7) % 50, concat('8000', seq % 5), "
            "elt(1 + seq % 4, 'i10', 'I10', 'i10 ', NULL), seq % 2 FROM seq_1_to_600",
        )

    def of_persons(self, **changes):
        """Let persons have three records each; the collation holds the identifiers of each two persons for the same."""
        self.run("UPDATE source SET mrn = concat(if(substr(mrn, 2) % 2, 'e', 'é'), substr(mrn, 2) DIV 6)")
        del self.job["unit"]
        self.job |= {"subject": "mrn", **changes}

    def staging(self, day):
        return self.folder / f"staging-{day}"

    def deidentify(self, day=1, **changes):
        staging = self.staging(day)
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
        task = DeidentifyInWarehouseOperator(
            task_id="deidentify", job={**self.job, **changes}, staging=str(staging), fingerprint_key="key"
        )
        return task.execute(run_context(day))

    def validate(self, made, day=1):
        told = {"release": made["release"], "manifest_sha256": made["manifest_sha256"]}
        return ValidateReleaseOperator(task_id="validate", job=self.job, **told).execute(run_context(day))

    def validated(self, made, day=1):
        """Do as if the release had been validated; Great Expectations takes its time."""
        content = json.dumps({**VALIDATION, "manifest_sha256": made["manifest_sha256"]}).encode()
        (self.staging(day) / "validation.json").write_bytes(content)
        return {"validation_sha256": hashlib.sha256(content).hexdigest()}

    def publish(self, made, validated, day=1):
        told = {"release": made["release"], "manifest_sha256": made["manifest_sha256"], "metrics": made["metrics"]}
        told["validation_sha256"] = validated["validation_sha256"]
        task = PublishReleaseOperator(task_id="publish", job=self.job, outlets=[], extracted=made, **told)
        return task.execute(run_context(day))

    def night(self, day=1):
        made = self.deidentify(day)
        return self.publish(made, self.validated(made, day), day)

    def record_attempt(self, day):
        """Do what the task does at the end of a run: settle what was cut off, remove what is left; give the entry."""
        ledger = open_ledger()
        for pending in ledger.pending("stays"):
            settle(pending, ledger, UMASK)
        remove_leftovers(load_job(self.job), release_id(run_context(day)), ledger, UMASK)
        return ledger.released("stays", release_id(run_context(day)))

    def run(self, *statements):
        return self.server.run(*statements, database=self.own)

    def tables(self):
        asked = "SELECT table_name FROM information_schema.tables WHERE table_schema = '{}' ORDER BY 1"
        return [[name for (name,) in self.run(asked.format(one))] for one in (self.own, self.shared)]

    def held(self):
        """Give the newest release of the books, its number of records, and that of the table."""
        if "stays" not in self.tables()[1]:
            return None
        books = self.run(f"SELECT release_id, `rows` FROM {self.shared}.stays_release ORDER BY 1 DESC LIMIT 1")
        return (*(books[0] if books else (None, 0)), self.run(f"SELECT count(*) FROM {self.shared}.stays")[0][0])


LEFT = ["source"]
PUBLISHED = ["stays", "stays_release"]


@pytest.fixture
def world(mariadb_server, monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW_CONN_KEY", '{"conn_type": "generic", "password": "' + "k" * 40 + '"}')
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/ledger.sqlite")
    with on_mariadb.databases(mariadb_server, monkeypatch) as (own, shared):
        found = World(mariadb_server, tmp_path, own, shared)
        found.fill()
        yield found


def test_a_release_arrives_in_its_table_and_nothing_is_left(world):
    """Diagnoses that its collation holds for the same stay apart, and are counted as they are."""
    made = world.deidentify()
    assert world.tables() == [[f"load_{waiting(world)}", "source"], []]
    published = world.publish(made, world.validate(made))
    assert world.tables() == [LEFT, PUBLISHED]
    assert world.held() == (published["release_id"], 600, 600)
    rows = world.run(f"SELECT age, zip, dx FROM {world.shared}.stays")
    classes = Counter(row[:2] for row in rows)
    assert min(classes.values()) >= 3
    assert Counter(row[2] for row in rows) == dict.fromkeys(("i10", "I10", "i10 ", None), 150)
    # by class, and within a class in another order than that of the source
    assert len(classes) == 1 + sum(one[:2] != other[:2] for one, other in itertools.pairwise(rows))
    (entry,) = open_ledger().entries()
    assert open_ledger().document(entry.sequence)["source"]["fingerprint"]
    ledger = os.environ["AIRFLOW_ANON_LEDGER"]
    assert main(["verify", "--files", "--ledger", ledger]) == 0
    world.run(f"UPDATE {world.shared}.stays SET dx = 'I10' WHERE dx = 'i10' COLLATE utf8mb4_bin LIMIT 1")
    assert main(["verify", "--files", "--ledger", ledger]) == 4


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("ALTER TABLE stays ADD SYSTEM VERSIONING", "keeps the records of earlier releases as versions"),
        (
            "CREATE TRIGGER other BEFORE INSERT ON stays FOR EACH ROW SET NEW.dx = NULL",
            "a trigger that may change or leave out records before they are written: 'other'",
        ),
        (
            "CREATE TABLE notes (age VARCHAR(99), CONSTRAINT refers FOREIGN KEY (age) REFERENCES stays (age))",
            "is referred to by foreign keys, so its records cannot be replaced, or others would go with them: 'refers'",
        ),
    ],
)
def test_a_table_that_could_not_hold_a_release_is_refused_before_one_is_made(world, statement, told):
    world.run(f"CREATE TABLE {world.shared}.stays (age VARCHAR(99), dx TEXT, KEY (age)) ENGINE = InnoDB")
    world.server.run(statement, database=world.shared)
    with pytest.raises(AirflowFailException) as caught:
        world.deidentify()
    assert told in str(caught.value)
    assert world.tables()[0] == LEFT


def test_a_trigger_that_comes_between_is_told_and_changes_nothing(world, monkeypatch):
    """Whether a role sees a trigger hangs on its rights, so what was written is compared too."""
    published = world.night()
    made = world.deidentify(day=2)
    trigger = "CREATE TRIGGER other BEFORE INSERT ON stays FOR EACH ROW SET NEW.dx = NULL"
    world.server.run(trigger, database=world.shared)
    monkeypatch.setattr("airflow_anon.share.sql_share.refuse_obstacles", lambda *_: None)
    with pytest.raises(AirflowFailException, match="'stays': does not hold what was written into it, a trigger of it"):
        world.publish(made, world.validated(made, 2), 2)
    assert world.held() == (published["release_id"], 600, 600)


ATTACKERS = {
    "any-row": {"knows": "any-row"},
    "some rows": {"knows": {"rows": 2}, "max_rows": 2, "suppression_limit": 0.5},
    "all-rows": {"knows": "all-rows", "max_rows": 1, "suppression_limit": 0.5},
}


@pytest.mark.parametrize("knows", only(ATTACKERS, lambda name: name == "some rows"))
def test_persons_are_counted_and_their_numbers_are_gone_with_the_night(world, knows):
    """Both judges count them by numbers beside the release, and no identifier is anywhere but in the source."""
    world.of_persons(**ATTACKERS[knows])
    made = world.deidentify()
    load = f"load_{waiting(world)}"
    assert world.tables() == [[load, f"{load}_people", "source"], []]
    cells = {str(cell) for row in world.run(f"SELECT * FROM {load}_people") for cell in row}
    assert not cells & {mrn for (mrn,) in world.run("SELECT mrn FROM source")}
    ((persons,),) = world.run("SELECT count(DISTINCT mrn COLLATE utf8mb4_nopad_bin) FROM source")
    assert world.run(f"SELECT count(DISTINCT person), sum(records) FROM {load}_people") == [(persons, 600)]
    published = world.publish(made, world.validate(made))
    assert world.tables() == [LEFT, PUBLISHED]
    most = ATTACKERS[knows].get("max_rows", 3)
    assert world.held()[0] == published["release_id"]
    assert 0.5 * persons * most <= world.held()[2] <= persons * most
    (entry,) = open_ledger().entries()
    document = open_ledger().document(entry.sequence)
    assert document["validation"]["success"] is True
    assert [model["holds"] for model in document["privacy"]] == [True]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE {} SET person = 0", "does not meet expect_persons_in_each_class"),
        ("DROP TABLE {}", "the table that says whose the records are is gone"),
        ("UPDATE {} SET records = records + 1 LIMIT 1", "does not meet expect_persons_in_each_class"),
    ],
)
def test_the_second_judge_counts_persons_anew(world, change, told):
    world.of_persons()
    made = world.deidentify()
    world.run(change.format(f"load_{waiting(world)}_people"))
    with pytest.raises(AirflowException, match=told):
        world.validate(made)


def waiting(world):
    (name,) = [name for name in world.tables()[0] if name.startswith("load_") and not name.endswith("_people")]
    return name.removeprefix("load_")


@pytest.mark.thorough
def test_grants_of_readers_stay_and_an_older_release_changes_nothing(world):
    world.night(1)
    world.run("CREATE USER researcher@localhost", f"GRANT SELECT ON {world.shared}.stays TO researcher@localhost")
    world.run("INSERT INTO source SELECT * FROM source")
    second = world.night(2)
    assert world.held() == (second["release_id"], 1200, 1200)
    assert any("`stays`" in grant for (grant,) in world.run("SHOW GRANTS FOR researcher@localhost"))
    world.run("DROP USER researcher@localhost")


def statements(work, before=None):
    """Do a work in a forked process that ends before a statement or a commit, without any clean-up.

    Returns
    -------
    int
        Statements and commits; -1 if it was killed.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            reached = 0

            def step(*_, **__):
                nonlocal reached
                if reached == before:
                    os._exit(_KILLED)
                reached += 1

            sa.event.listen(sa.Engine, "before_cursor_execute", step)
            sa.event.listen(sa.Engine, "commit", step)
            work()
            os.write(write, str(reached).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    told = os.read(read, 20)
    os.close(read)
    assert status in (0, _KILLED), status
    return -1 if status == _KILLED else int(told)


def some(number, most):
    """Give all numbers below one, or in the gate so many of them, the last ones among them."""
    if thorough():
        return list(range(number))
    return sorted({*range(0, number, max(1, number // most)), number - 2, number - 1})


def assert_settled(world, expected):
    """Wait until the server has noticed that a process is gone."""
    for _ in range(100):
        if not world.run("SELECT 1 FROM information_schema.innodb_trx"):
            break
        time.sleep(0.05)
    assert world.tables() == expected


@pytest.mark.parametrize("counts", ["records", "persons"])
def test_a_de_identification_that_is_killed_at_any_statement_leaves_nothing(world, counts):
    """But its own tables at most, which the end of the run or the next try removes."""
    if counts == "persons":
        world.of_persons(**ATTACKERS["some rows"])
    number = statements(world.deidentify)
    world.record_attempt(1)
    for before in some(number, 2):
        assert statements(world.deidentify, before) == -1
        own, shared = world.tables()
        assert (shared, {name.split("_")[0] for name in own} <= {"load", "source"}) == ([], True)
        if before % 2:
            world.record_attempt(1)
            assert_settled(world, [LEFT, []])
    world.deidentify()
    assert [name for name in world.tables()[0] if not name.startswith("load_")] == LEFT
    world.record_attempt(1)
    assert world.tables() == [LEFT, []]


@pytest.mark.parametrize("counts", only(["records", "persons"], lambda counts: counts == "persons"))
def test_a_publication_that_is_killed_at_any_statement_is_whole_or_not_there(world, counts):
    """Readers have the last night's release or this one's, and the ledger says which."""
    if counts == "persons":
        world.of_persons(suppression_limit=0)
    first = world.night(1)
    old = (first["release_id"], 600, 600)
    world.run("INSERT INTO source SELECT * FROM source LIMIT 100")
    made = world.deidentify(2)
    validated = world.validated(made, 2)
    load = f"load_{waiting(world)}"
    world.run(f"CREATE TABLE kept LIKE {load}", f"INSERT INTO kept SELECT * FROM {load}")
    people = f"{load}_people" in world.tables()[0]
    assert people == (counts == "persons")
    ledger = world.folder / "ledger.sqlite"
    shutil.copy(ledger, world.folder / "before.sqlite")
    new = (release_id(run_context(2)), 700, 700)

    def again():
        shutil.copy(world.folder / "before.sqlite", ledger)
        world.run(
            f"CREATE TABLE IF NOT EXISTS {load} LIKE kept",
            f"DELETE FROM {load}",
            f"INSERT INTO {load} SELECT * FROM kept",
            *([f"CREATE TABLE IF NOT EXISTS {load}_people (person BIGINT)"] if people else []),
            f"DELETE FROM {world.shared}.stays_release WHERE release_id > '{first['release_id']}'",
            f"DELETE FROM {world.shared}.stays",
            f"INSERT INTO {world.shared}.stays SELECT * FROM kept LIMIT 600",
        )

    def publish():
        return world.publish(made, validated, 2)

    number = statements(publish)
    outcomes = Counter()
    for before in some(number, 3):
        again()
        assert statements(publish, before) == -1
        found = world.held()
        assert found in (old, new)
        if before % 3:
            entry = world.record_attempt(2)
            assert (entry is not None) == (found == new)
            assert world.held() == found
        else:
            publish()
            assert world.held() == new
            assert open_ledger().released("stays", new[0]) is not None
        assert_settled(world, [["kept", "source"], PUBLISHED])
        outcomes[found] += 1
    assert set(outcomes) == {old, new}


@pytest.mark.thorough
def test_a_first_publication_that_is_killed_leaves_an_empty_table_at_most(world):
    made = world.deidentify()
    validated = world.validated(made)
    killed_before = "INSERT INTO"

    def die(_connection, _cursor, statement, *_):
        if statement.startswith(killed_before):
            os._exit(_KILLED)

    child = os.fork()
    if child == 0:
        sa.event.listen(sa.Engine, "before_cursor_execute", die)
        try:
            world.publish(made, validated)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == _KILLED
    assert world.record_attempt(1) is None
    assert world.held() in (None, (None, 0, 0))
    assert world.tables()[0] == LEFT
    world.night(2)
    assert world.held()[1:] == (600, 600)


@pytest.mark.thorough
def test_two_publishers_of_one_table_and_two_nights(world):
    """One waits for the other; an older release changes nothing."""
    nights = []
    for day in (1, 2):
        made = world.deidentify(day)
        nights.append((made, world.validated(made, day), day))
    children = []
    for night in nights:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                world.publish(*night)
                status = 0
            except AirflowFailException as problem:
                status = 3 if "holds a newer release" in str(problem) else 1
            finally:
                os._exit(status)
        children.append(child)
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert ends in ([0, 0], [3, 0])
    assert world.held() == (release_id(run_context(2)), 600, 600)
    for day in (1, 2):
        world.record_attempt(day)
    assert world.tables() == [LEFT, PUBLISHED]
    assert len(list(open_ledger().entries())) == (2 if ends == [0, 0] else 1)


def test_a_statement_that_is_cancelled_says_so_and_leaves_nothing(world):
    world.run("CREATE VIEW slow AS SELECT source.* FROM source WHERE sleep(0.05) = 0")
    task = DeidentifyInWarehouseOperator(
        task_id="deidentify",
        job=world.job,
        table="slow",
        staging=str(world.folder / "slow"),
        fingerprint_key="key",
    )
    (world.folder / "slow").mkdir()
    asleep = f"SELECT 1 FROM information_schema.processlist WHERE db = '{world.own}' AND state = 'User sleep'"

    def cancel():
        while not world.run(asleep):  # whatever the task does before, and however long it takes
            time.sleep(0.05)
        task._cancelled()

    threading.Thread(target=cancel, daemon=True).start()
    with pytest.raises(
        AirflowException, match="somebody cancelled the statement, or it took longer than max_statement"
    ):
        task.execute(run_context())
    assert world.tables()[0] == ["slow", "source"]


@pytest.mark.thorough
@contextmanager
def set_to(server, **settings):
    """Set variables of the server, and set them back."""
    before = {name: server.run(f"SELECT @@GLOBAL.{name}")[0][0] for name in settings}
    try:
        for name, value in settings.items():
            server.run(f"SET GLOBAL {name} = {value}")
        yield
    finally:
        for name, value in before.items():
            server.run(f"SET GLOBAL {name} = {value}")


@pytest.mark.parametrize(
    ("settings", "kind", "told"),
    [
        ({"read_only": 1}, AirflowFailException, r"the server only reads \(read_only\).*lead to the primary server"),
        ({"tmp_disk_table_size": 1024, "max_heap_table_size": 16384}, AirflowException, "make room in the temporary"),
    ],
)
def test_a_server_that_takes_nothing_says_what_to_do(world, settings, kind, told):
    with set_to(world.server, **settings), pytest.raises(AirflowException, match=told) as caught:
        world.deidentify()
    assert type(caught.value) is kind
    assert world.tables() == [LEFT, []]
    world.night()
    assert world.tables() == [LEFT, PUBLISHED]


def test_a_session_that_the_server_ends_says_so_and_leaves_nothing(world):
    def end(connection, _cursor, statement, *_):
        if statement.startswith("INSERT INTO load_") and "labelled" in statement:
            thread = connection.connection.driver_connection.thread_id()
            world.run(f"KILL CONNECTION {thread}")

    sa.event.listen(sa.Engine, "before_cursor_execute", end)
    try:
        with pytest.raises(AirflowException, match="raise wait_timeout and idle_transaction_timeout"):
            world.deidentify()
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", end)
    assert world.tables() == [LEFT, []]


def test_writers_of_the_source_are_not_waited_for_and_change_nothing(world):
    """The copy is of one moment, and what is not committed then is not in it."""
    import pymysql  # noqa: PLC0415 (only tests of the server need it)

    writer = pymysql.connect(
        unix_socket=world.server.socket, user=mariadb.LOGIN, password=mariadb.PASSWORD, database=world.own
    )
    writer.cursor().execute("UPDATE source SET dx = 'changed'")
    added = []

    def add(_connection, _cursor, statement, *_):
        if "_suppressed" in statement and not added:
            writer.commit()
            added.append(world.run("DELETE FROM source WHERE age < 20"))

    sa.event.listen(sa.Engine, "before_cursor_execute", add)
    try:
        world.deidentify()
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", add)
        writer.close()
    assert added
    found = world.run(f"SELECT count(*), sum(dx = 'changed') FROM load_{waiting(world)}")
    assert found[0] == (600, 0)


@pytest.mark.parametrize(
    ("grants", "statement"),
    [
        pytest.param(
            ["SELECT, INSERT, CREATE, DROP ON {own}.*"],
            "Access denied for user 'weak'@'localhost' to database",
            marks=pytest.mark.thorough,
        ),
        (["SELECT, CREATE TEMPORARY TABLES ON {own}.*"], "CREATE command denied to user 'weak'@'localhost'"),
    ],
)
def test_a_role_without_a_right_is_told_the_statement_and_the_grant(world, monkeypatch, grants, statement):
    world.run(f"CREATE OR REPLACE USER weak@localhost IDENTIFIED BY '{mariadb.PASSWORD}'")
    for grant in grants:
        world.run(f"GRANT {grant.format(own=world.own)} TO weak@localhost")
    monkeypatch.setenv(f"AIRFLOW_CONN_{CONNECTION.upper()}", on_mariadb.connection_to(world.server, world.own, "weak"))
    with pytest.raises(AirflowFailException) as caught:
        world.deidentify()
    assert statement in str(caught.value)
    assert "GRANT SELECT on what source names, CREATE, CREATE TEMPORARY TABLES" in str(caught.value)
    assert world.tables() == [LEFT, []]
    world.run("DROP USER weak@localhost")


@pytest.mark.parametrize("counts", only(["records", "persons"], lambda counts: counts == "persons"))
def test_the_least_rights_are_enough_for_a_night(world, monkeypatch, counts):
    """To read one view, to work in one database, and to write into another."""
    if counts == "persons":
        world.of_persons()
    world.run(
        f"CREATE DATABASE {world.own}_nightly",
        "CREATE VIEW stays AS SELECT * FROM source",
        f"CREATE OR REPLACE USER nightly@localhost IDENTIFIED BY '{mariadb.PASSWORD}'",
        f"GRANT SELECT ON {world.own}.stays TO nightly@localhost",
        f"GRANT CREATE, CREATE TEMPORARY TABLES, DROP, SELECT, INSERT ON {world.own}_nightly.* TO nightly@localhost",
        f"GRANT CREATE, SELECT, INSERT, DELETE ON {world.shared}.* TO nightly@localhost",
    )
    monkeypatch.setenv(
        f"AIRFLOW_CONN_{CONNECTION.upper()}", on_mariadb.connection_to(world.server, f"{world.own}_nightly", "nightly")
    )
    world.job["source"]["table"] = f"{world.own}.stays"
    try:
        published = world.night()
        assert world.held() == (published["release_id"], 600, 600)
        assert world.run(f"SELECT 1 FROM information_schema.tables WHERE table_schema = '{world.own}_nightly'") == []
    finally:
        world.run(f"DROP DATABASE {world.own}_nightly", "DROP USER nightly@localhost")


def test_a_table_beside_those_that_wait_is_refused(world):
    for named in ("stays", f"{world.own}.stays", f"{world.own.upper()}.stays"):
        output = {"conn_id": CONNECTION, "table": named}
        with pytest.raises(AirflowFailException, match="where releases wait until they are published"):
            world.deidentify(output=output)
    assert world.tables() == [LEFT, []]


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("(age TEXT, zip TEXT)", "has other columns than the release"),
        pytest.param(
            "LIKE {load}; ALTER TABLE {target} ENGINE = MyISAM",
            "keeps changes of a transaction that ends early",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_a_table_that_cannot_be_switched_in_one_transaction_is_refused(world, made, told):
    release = world.deidentify()
    validated = world.validated(release)
    names = {"load": f"{world.own}.load_{waiting(world)}", "target": f"{world.shared}.stays"}
    for statement in f"CREATE TABLE {{target}} {made}".format(**names).split("; "):
        world.run(statement)
    with pytest.raises(AirflowFailException, match=told):
        world.publish(release, validated)
    assert world.held() == (None, 0, 0)
    assert world.record_attempt(1) is None
    assert world.tables()[0] == LEFT


def test_a_release_that_is_changed_before_it_is_published_is_not_published(world):
    made = world.deidentify()
    load = f"load_{waiting(world)}"
    validated = world.validate(made)
    world.run(f"UPDATE {load} SET dx = 'I10' WHERE dx = 'i10' COLLATE utf8mb4_bin LIMIT 1")
    with pytest.raises(AirflowFailException, match="is not the release made in the warehouse"):
        world.publish(made, validated)
    with pytest.raises(AirflowFailException, match="is not the release made in the warehouse"):
        world.validate(made)
    assert world.held() == (None, 0, 0)


@pytest.mark.thorough
def test_a_trigger_that_changes_what_arrives_is_found_out(world):
    """It is refused by its name, before a record is written."""
    world.night(1)
    made = world.deidentify(2)
    validated = world.validated(made, 2)
    before = world.held()
    world.run(
        f"CREATE TRIGGER {world.shared}.alter_it BEFORE INSERT ON {world.shared}.stays "
        "FOR EACH ROW SET NEW.dx = upper(NEW.dx)"
    )
    with pytest.raises(
        AirflowFailException,
        match="has a trigger that may change or leave out records before they are written: 'alter_it'",
    ):
        world.publish(made, validated, 2)
    assert world.held() == before


@pytest.mark.thorough
def test_a_recalled_release_leaves_an_empty_table(world):
    world.night()
    job = load_job(world.job)
    share = SqlShare(hook_of(CONNECTION), job.output.table, made_inside=True)
    (entry,) = open_ledger().entries()
    assert share.empty(entry.release_id, entry.manifest_sha256)
    assert world.held()[2] == 0


def kept(world):
    """Give the values of columns of the share's table that are in the statistics of the server."""
    asked = "SELECT column_name, min_value, max_value FROM mysql.column_stats WHERE db_name = '{}' ORDER BY 1"
    return [row for row in world.run(asked.format(world.shared)) if row[1:] != (None, None)]


def test_statistics_tell_nothing_of_a_recalled_release(world, caplog):
    """Somebody had them collected; DELETE leaves the least and the greatest value of each column."""
    world.night()
    world.run(f"ANALYZE TABLE {world.shared}.stays PERSISTENT FOR ALL")
    assert kept(world)
    (entry,) = open_ledger().entries()
    share = SqlShare(hook_of(CONNECTION), f"{world.shared}.stays", made_inside=True)
    assert share.empty(entry.release_id, entry.manifest_sha256)
    assert kept(world) == []
    assert "column_stats" not in caplog.text


def test_where_statistics_cannot_be_taken_away_a_warning_says_so(world, caplog, monkeypatch):
    world.night()
    (entry,) = open_ledger().entries()
    share = SqlShare(hook_of(CONNECTION), f"{world.shared}.stays", made_inside=True)
    monkeypatch.setattr(sql_statistics, "_ANALYZE", "ANALYZE TABLE no_such.{}")
    assert share.empty(entry.release_id, entry.manifest_sha256)
    assert world.run(f"SELECT count(*) FROM {world.shared}.stays") == [(0,)]
    assert "mysql.column_stats may still have values" in caplog.text


@pytest.mark.thorough
@pytest.mark.parametrize("counts", ["records", "persons"])
def test_a_check_leaves_nothing_and_says_what_a_release_would_be(world, counts):
    if counts == "persons":
        world.of_persons(**ATTACKERS["some rows"])
    found = check_job(load_job(world.job))
    assert found.exit_code == 0, found
    assert world.tables() == [LEFT, []]


@pytest.mark.parametrize(
    ("kind", "value"),
    spread(
        [
            ("BOOLEAN", "7"),
            ("DATE", "'0000-00-00'"),
            ("TIME", "'25:00:00'"),
            ("TIME", "'-01:00:00'"),
            ("BIGINT UNSIGNED", "18446744073709551615"),
        ],
        1,
    ),
)
def test_a_value_that_two_backends_would_write_differently_is_refused(world, kind, value):
    refused_as_unlike(world, kind, value)


def test_it_is_where_persons_are_counted_too(world):
    world.of_persons()
    refused_as_unlike(world, "BOOLEAN", "7")


def refused_as_unlike(world, kind, value):
    world.run("SET sql_mode = ''", f"ALTER TABLE source MODIFY flag {kind}", f"UPDATE source SET flag = {value}")
    with pytest.raises(AirflowException) as caught:
        world.deidentify()
    assert "'flag'" in str(caught.value)
    assert value.strip("'") not in str(caught.value)
    assert world.tables() == [LEFT, []]
