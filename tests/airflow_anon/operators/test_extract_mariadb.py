"""ExtractTableOperator on a real MariaDB of the distribution, and what it refuses there."""

from __future__ import annotations

import datetime as dt
import gc
import json
import threading
import uuid
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_anon.operators.extract import ExtractTableOperator
from airflow_anon.operators.extract_linked import ExtractLinkedTablesOperator
from airflow_anon.transport.connection import PLAIN, engine_of, hook_of
from airflow_anon.transport.database_read import look_at
from airflow_anon.transport.failure import database_errors
from airflow_anon.transport.relation import Relation
from tests import mariadb

KEY = "k" * 40


@pytest.fixture
def warehouse(mariadb_server, monkeypatch):
    """Make an empty database, and an Airflow connection `warehouse` to it; give what runs statements in it."""
    name = f"clinic_{uuid.uuid4().hex[:8]}"
    mariadb_server.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
    document = {
        "conn_type": "mariadb",
        "login": mariadb.LOGIN,
        "password": mariadb.PASSWORD,
        "schema": name,
        "extra": {"unix_socket": mariadb_server.socket},
    }
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(document))
    monkeypatch.setenv("AIRFLOW_CONN_KEY", json.dumps({"conn_type": "generic", "password": KEY}))
    monkeypatch.setenv("AIRFLOW_ANON_FINGERPRINTS", "key")

    def run(*statements):
        return mariadb_server.run(*statements, database=name)

    yield run
    mariadb_server.run(f"DROP DATABASE {name}")


def extract(tmp_path, **arguments):
    """Run the operator; give what it returns and the table it wrote."""
    given = {"table": "person", **arguments}
    if "query" in given:
        given["table"] = None
    result = operator(tmp_path, **given).execute({})
    return result, pq.read_table(result["path"])


def operator(tmp_path, **arguments):
    return ExtractTableOperator(task_id="extract", conn_id="warehouse", staging=str(tmp_path / "staging"), **arguments)


COLUMNS = {
    "small": ("SMALLINT", "-3", -3, pa.int64()),
    "large": ("BIGINT", str(2**40), 2**40, pa.int64()),
    "plain": ("TINYINT", "7", 7, pa.int64()),
    "alive": ("BOOLEAN", "TRUE", True, pa.bool_()),
    "single": ("FLOAT", "16777215", 16777215.0, pa.float64()),
    "double_": ("DOUBLE", "0.1", 0.1, pa.float64()),
    "price": ("DECIMAL(10, 2)", "3.25", Decimal("3.25"), pa.decimal128(11, 2)),
    "free": ("DECIMAL(50, 1)", "1.5", "1.5", pa.string()),
    "name": ("VARCHAR(9) COLLATE utf8mb4_unicode_ci", "'ä%x'", "ä%x", pa.string()),
    "old": ("CHAR(9) CHARACTER SET latin1", "'é'", "é", pa.string()),
    "notes": ("LONGTEXT", "'a''b'", "a'b", pa.string()),
    "born": ("DATE", "'1969-07-20'", dt.date(1969, 7, 20), pa.date32()),
    "seen": (
        "DATETIME(6)",
        "'2026-03-01 10:00:00.000005'",
        dt.datetime(2026, 3, 1, 10, 0, 0, 5),  # noqa: DTZ001 (without a zone)
        pa.timestamp("us"),
    ),
    "sent": (
        "TIMESTAMP NULL",
        "'2026-03-01 10:00:00'",  # in a session of two hours east of Greenwich
        dt.datetime(2026, 3, 1, 8, tzinfo=dt.timezone.utc),
        pa.timestamp("us", tz="UTC"),
    ),
    "at": ("TIME", "'10:30:00'", dt.time(10, 30), pa.time64("us")),
    "year_": ("YEAR", "2026", 2026, pa.int64()),
    "flags": ("BIT(3)", "b'101'", 5, pa.int64()),
    "raw": ("VARBINARY(4)", "x'01ff'", b"\x01\xff", pa.binary()),
    "kind": ("ENUM('calm', 'Calm?')", "'calm'", "calm", pa.string()),
    "key_": ("UUID", "'00000000-0000-0000-0000-000000000001'", "00000000-0000-0000-0000-000000000001", pa.string()),
}


def test_types_and_values(warehouse, tmp_path):
    """Each column keeps its type and its value, a first batch of missing ones notwithstanding."""
    columns = ", ".join(f"{name} {kind}" for name, (kind, _, _, _) in COLUMNS.items())
    values = ", ".join(written for _, written, _, _ in COLUMNS.values())
    warehouse(
        "SET SESSION time_zone = '+02:00'",
        f"CREATE TABLE person ({columns}, patient TEXT)",
        *["INSERT INTO person (patient) VALUES ('Erika')"] * 3,
        f"INSERT INTO person VALUES ({values}, 'Max')",
    )
    roles = {**dict.fromkeys(COLUMNS, "insensitive"), "patient": "identifying"}
    result, table = extract(tmp_path, attributes=roles, batch_rows=2)
    assert result["transport"] == "sqlalchemy"
    found = dict(zip(table.schema.names, table.schema.types, strict=True))
    assert found == {name: kind for name, (_, _, _, kind) in COLUMNS.items()}
    assert table.to_pylist() == [dict.fromkeys(COLUMNS)] * 3 + [
        {name: value for name, (_, _, value, _) in COLUMNS.items()}
    ]
    assert b"Erika" not in Path(result["path"]).read_bytes()


def test_values_that_a_collation_holds_for_the_same_stay_apart(warehouse, tmp_path):
    """Nor does an identifier repeat because another one differs in letter case, accents or spaces at the end."""
    words = ["i10", "I10", "I10 ", "straße", "strasse", "é", "e"]
    warehouse("CREATE TABLE person (id VARCHAR(9), diagnosis VARCHAR(9))")
    warehouse(*[f"INSERT INTO person VALUES ('{word}', '{word}')" for word in words])
    assert len(warehouse("SELECT DISTINCT diagnosis FROM person")) < len(words)
    attributes = {"id": "identifying", "diagnosis": "sensitive"}
    result, table = extract(tmp_path, attributes=attributes)
    assert table["diagnosis"].to_pylist() == words
    assert "repeats" not in result
    warehouse("INSERT INTO person VALUES ('i10', NULL)")
    assert extract(tmp_path, attributes=attributes)[0]["repeats"] == {"id": True}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("BOOLEAN", "2", "is no bool"),
        ("TIME", "'30:00:00'", "is no time64"),
        ("TIME", "'-01:00:00'", "is no time64"),
        ("DATE", "'0000-00-00'", "is no date32"),
        ("BIGINT UNSIGNED", "18446744073709551615", "is no int64"),
    ],
)
def test_a_value_that_is_none_of_its_type_is_not_made_into_another(warehouse, tmp_path, kind, value, expected):
    warehouse("SET sql_mode = ''", f"CREATE TABLE person (x {kind})", f"INSERT INTO person VALUES ({value})")
    with pytest.raises(
        AirflowFailException, match=f"column 'x': holds a value that {expected}.*; cast it to text"
    ) as told:
        extract(tmp_path, attributes={"x": "insensitive"})
    assert value.strip("'") not in str(told.value).replace("int64", "")
    _, table = extract(tmp_path, query="SELECT CAST(x AS CHAR) AS x FROM person", attributes={"x": "insensitive"})
    assert table["x"].to_pylist() == [value.strip("'")]


def test_a_query_means_what_it_means_elsewhere(warehouse, tmp_path):
    """Double quotes are around names, backslashes are plain; what is told of it has no literal."""
    warehouse('CREATE TABLE person (`the age` INT, `na"me` TEXT)')
    warehouse("INSERT INTO person VALUES (30, '50% \\\\ a'), (41, 'b')")
    query = 'SELECT "the age" AS age FROM person WHERE `na"me` LIKE \'50\\% %\' -- only these'
    result, table = extract(tmp_path, query=query, attributes={"age": "quasi-identifying"})
    assert table["age"].to_pylist() == [30]
    assert result["read"]["query"] is None
    plain = "SELECT `the age` AS age FROM person WHERE `the age` > 40"
    result, table = extract(tmp_path, query=plain, attributes={"age": "quasi-identifying"})
    assert result["read"]["query"] == "SELECT `the age` AS age FROM person WHERE `the age` > ..."


def test_all_records_are_read_whatever_the_server_limits(warehouse, mariadb_server, tmp_path):
    """Of most statements a server with this setting gives the first records, and says nothing."""
    warehouse("CREATE TABLE person (age INT)", "INSERT INTO person SELECT seq FROM seq_1_to_30")
    mariadb_server.run("SET GLOBAL sql_select_limit = 7")
    try:
        _, table = extract(tmp_path, attributes={"age": "insensitive"})
    finally:
        mariadb_server.run("SET GLOBAL sql_select_limit = DEFAULT")
    assert sorted(table["age"].to_pylist()) == list(range(1, 31))


def test_all_records_are_of_one_time(warehouse, mariadb_server, tmp_path):
    """Records that are changed and added while a table is read are as they were when it began."""
    warehouse("CREATE TABLE person (age INT PRIMARY KEY)", "INSERT INTO person SELECT seq FROM seq_1_to_200000")
    reading = look_at(hook_of("warehouse"), Relation(table="person"), {"age": "insensitive"}, "auto", 100)
    batches = reading.batches()
    first = next(batches)
    warehouse("UPDATE person SET age = -age WHERE age > 150000", "INSERT INTO person VALUES (0)")
    rest = [value for batch in batches for value in batch.column(0).to_pylist()]
    assert sorted([*first.column(0).to_pylist(), *rest]) == list(range(1, 200_001))


def running(warehouse, like):
    return warehouse(
        f"SELECT count(*) FROM information_schema.processlist WHERE info LIKE '{like}' AND user = '{mariadb.LOGIN}'"
    )[0][0]


def test_a_read_that_nobody_wants_to_the_end_is_ended(warehouse):
    """Its statement ends in the server, and the connection is usable until it is closed."""
    warehouse("CREATE TABLE person (t TEXT)", "INSERT INTO person SELECT repeat('x', 500) FROM seq_1_to_40000")
    ((_, before),) = warehouse("SHOW GLOBAL STATUS LIKE 'Com_kill'")
    reading = look_at(hook_of("warehouse"), Relation(table="person"), {"t": "insensitive"}, "auto", 100)
    batches = reading.batches()
    next(batches)
    assert running(warehouse, "SELECT %person%") == 1
    batches.close()
    assert running(warehouse, "SELECT %person%") == 0
    ((_, after),) = warehouse("SHOW GLOBAL STATUS LIKE 'Com_kill'")
    assert int(after) == int(before) + 1


def test_a_killed_task_stops_the_statement(warehouse, tmp_path):
    warehouse("CREATE TABLE person (age INT)", "INSERT INTO person VALUES (1)")
    task = operator(tmp_path, query="SELECT sleep(20) AS age FROM person", attributes={"age": "insensitive"})
    outcome = []

    def run():
        try:
            outcome.append(task.execute({}))
        except AirflowException as problem:
            outcome.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive() and running(warehouse, "SELECT age AS age%sleep(20)%") == 0:
        pass
    task.on_kill()
    thread.join()
    assert isinstance(outcome[0], AirflowException)
    assert list((tmp_path / "staging").iterdir()) == []


def test_the_session_can_write_nothing(warehouse):
    import sqlalchemy as sa  # noqa: PLC0415 (only with MariaDB)

    warehouse("CREATE TABLE person (age INT)")
    with (
        engine_of(hook_of("warehouse")).connect() as connection,
        pytest.raises(sa.exc.OperationalError, match="READ ONLY transaction"),
    ):
        connection.exec_driver_sql("INSERT INTO person VALUES (1)", execution_options=PLAIN)


def test_linked_tables_are_one_statement(warehouse, tmp_path):
    warehouse(
        "CREATE TABLE patient (id INT, sex CHAR(1), alive BOOLEAN)",
        "CREATE TABLE visit (id INT, day DATE, cost DECIMAL(6, 2))",
        "INSERT INTO patient VALUES (1, 'f', TRUE), (2, 'F', FALSE)",
        "INSERT INTO visit VALUES (1, '2026-01-02', 9.5)",
    )
    tables = {
        "patient": {"table": "patient", "query": None, "columns": ["id", "sex", "alive"]},
        "visit": {"table": "visit", "query": None, "columns": ["id", "day", "cost"]},
    }
    roles = {"id": "identifying", **dict.fromkeys(["sex", "alive", "day", "cost"], "insensitive")}
    task = ExtractLinkedTablesOperator(
        task_id="extract",
        conn_id="warehouse",
        tables=tables,
        attributes=roles,
        subject="id",
        staging=str(tmp_path / "staging"),
    )
    table = pq.read_table(task.execute({})["path"])
    assert table["sex"].to_pylist() == ["f", "F", None]
    assert table["alive"].to_pylist() == [True, False, None]
    assert table["day"].to_pylist() == [None, None, dt.date(2026, 1, 2)]
    assert table["cost"].to_pylist() == [None, None, Decimal("9.50")]


def told_of(tmp_path, **arguments):
    with pytest.raises(AirflowException) as problem:
        extract(tmp_path, attributes={"age": "quasi-identifying"}, **arguments)
    assert mariadb.PASSWORD not in str(problem.value)
    return str(problem.value)


def test_errors_name_objects_and_no_value(warehouse, tmp_path, capfd):
    warehouse("CREATE TABLE person (age TEXT)", "INSERT INTO person VALUES ('secret-value')")
    failing = "SELECT extractvalue(age, concat('~', age)) AS age FROM person"
    assert "stays in the database's own log" in told_of(tmp_path, query=failing)
    assert "secret" not in told_of(tmp_path, query="SELECT age FROM person WHERE secret '")
    assert "SQLSTATE 42S02" in told_of(tmp_path, table="persn")
    assert "persn' doesn't exist" in told_of(tmp_path, table="persn")
    assert "SELECT command denied" in told_of(tmp_path, table="mysql.user")
    logged = capfd.readouterr()
    assert "secret-value" not in logged.out + logged.err


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"password": "wrong"}, "did not accept the user or the password"),
        ({"extra": {}, "host": "127.0.0.1", "port": 1}, "nothing listens at the host and port"),
        ({"extra": {}, "host": "no.such.host.invalid"}, "name of the host was not found"),
        ({"schema": "clinic_nowhere"}, "Unknown database"),
    ],
)
def test_a_server_that_cannot_be_reached(warehouse, mariadb_server, monkeypatch, tmp_path, changes, expected):
    document = {
        "conn_type": "mariadb",
        "login": mariadb.LOGIN,
        "password": mariadb.PASSWORD,
        "schema": "clinic_x",
        "extra": {"unix_socket": mariadb_server.socket},
    }
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps({**document, **changes}))
    assert expected in told_of(tmp_path)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # PyMySQL reads once more
def test_a_connection_that_is_lost_leaves_nothing(warehouse, mariadb_server, tmp_path):
    warehouse("CREATE TABLE person (t TEXT)", "INSERT INTO person SELECT repeat('x', 500) FROM seq_1_to_40000")
    reading = look_at(hook_of("warehouse"), Relation(table="person"), {"t": "insensitive"}, "auto", 100)
    batches = reading.batches()
    next(batches)
    ((thread,),) = warehouse(
        f"SELECT id FROM information_schema.processlist WHERE user = '{mariadb.LOGIN}' AND info LIKE 'SELECT%person%'"
    )
    mariadb_server.run(f"KILL CONNECTION {thread}")
    with pytest.raises(AirflowException, match=r"^reading: .*: Lost connection"), database_errors("reading"):
        list(batches)
    del batches, reading
    gc.collect()
