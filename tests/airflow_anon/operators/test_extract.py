"""ExtractTableOperator on real SQLite files and a real PostgreSQL, by both transports."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import sqlite3
import stat
import threading
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_anon.operators.extract import ExtractTableOperator
from engine import FingerprintKey
from tests.reference.fingerprint import plain_fingerprint

BOTH = pytest.mark.parametrize("transport", ["adbc", "sqlalchemy"])
KEY = "k" * 40
ROLES = {"id": "identifying", "age": "quasi-identifying", "sex": "quasi-identifying", "diagnosis": "sensitive"}


def sqlite_connection(monkeypatch, path, rows, columns="id INTEGER, age INTEGER, sex TEXT, diagnosis TEXT"):
    """Make a database with the table person and an Airflow connection `warehouse` to it."""
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE person ({columns})")
    for row in rows:
        connection.execute(f"INSERT INTO person VALUES ({', '.join('?' * len(row))})", row)
    connection.commit()
    connection.close()
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps({"conn_type": "sqlite", "host": str(path)}))


def extract(tmp_path, transport="auto", **arguments):
    """Run the operator; give what it returns and the table it wrote."""
    given = {"table": "person", "attributes": ROLES, **arguments}
    if "query" in given:
        given["table"] = None
    operator = ExtractTableOperator(
        task_id="extract", conn_id="warehouse", staging=str(tmp_path / "staging"), transport=transport, **given
    )
    result = operator.execute({})
    return result, pq.read_table(result["path"])


def files_of(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@BOTH
def test_identifying_column_stays_in_the_warehouse(monkeypatch, tmp_path, transport):
    """The direct identifier is neither in the file nor named in what is returned; the rest is complete and in order."""
    monkeypatch.setenv("AIRFLOW_CONN_KEY", json.dumps({"conn_type": "generic", "password": KEY}))
    monkeypatch.setenv("AIRFLOW_ANON_FINGERPRINTS", "key")
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(7001, 30, "f", "I10"), (7002, 41, "m", None)])
    result, table = extract(tmp_path, transport)
    assert result == {
        "path": str(tmp_path / "staging/source.parquet"),
        "columns": ["age", "sex", "diagnosis"],
        "transport": transport,
        "fingerprint": plain_fingerprint(table, KEY.encode()),
        "fingerprint_key_id": FingerprintKey(KEY.encode()).id,
        "read": {"table": "person", "query": None, "query_sha256": None},
    }
    assert table.to_pydict() == {"age": [30, 41], "sex": ["f", "m"], "diagnosis": ["I10", None]}
    assert b"7001" not in Path(result["path"]).read_bytes()


@BOTH
@pytest.mark.parametrize(
    ("ids", "further", "expected"),
    [
        ([7001, 7002, 7001, None], {}, {"id": True}),
        ([7001, 7002, None, None], {}, None),
        ([7001, 7002, 7001, None], {"unit": "record"}, None),
        ([7001, 7002, 7001, None], {"query": "SELECT age, sex, diagnosis FROM person"}, None),
        ([7001, 7002, 7001, None], {"query": "SELECT id, age, sex, diagnosis FROM person"}, {"id": True}),
    ],
)
def test_the_warehouse_tells_whether_an_identifying_column_repeats(
    monkeypatch, tmp_path, caplog, transport, ids, further, expected
):
    """No identifier leaves it, and a job that counts records does not ask."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(one, 30, "f", "I10") for one in ids])
    result, _ = extract(tmp_path, transport, **further)
    assert result.get("repeats") == expected
    assert "7001" not in json.dumps(result.get("repeats")) + caplog.text
    assert "7001" not in json.dumps(result["read"])


def test_file_is_private_and_alone(monkeypatch, tmp_path):
    """Only the owner may read the staged records, and no partial file stays."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 30, "f", "I10")])
    result, _ = extract(tmp_path)
    assert stat.S_IMODE(Path(result["path"]).stat().st_mode) == 0o600
    assert files_of(tmp_path / "staging") == ["source.parquet"]


@BOTH
def test_types_do_not_depend_on_the_first_batch(monkeypatch, tmp_path, transport):
    """A first batch of nulls, text among numbers and a fraction among integers keep one type for the whole file."""
    rows = [(0, None, None, None)] * 5 + [(1, 30, "f", 7), (2, 41.5, "m", "I10")]
    sqlite_connection(monkeypatch, tmp_path / "w.db", rows, "id, age, sex, diagnosis")
    _, table = extract(tmp_path, transport, batch_rows=2)
    assert table.schema.types == [pa.float64(), pa.string(), pa.string()]
    assert table["age"].to_pylist() == [None] * 5 + [30.0, 41.5]
    assert table["diagnosis"].to_pylist() == [None] * 5 + ["7", "I10"]


@BOTH
def test_column_without_any_value_is_text(monkeypatch, tmp_path, transport):
    """Nothing but nulls has no type of its own; text takes them."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, None, "f", None)])
    _, table = extract(tmp_path, transport)
    assert table.schema.field("age").type == pa.string()
    assert table["age"].to_pylist() == [None]


@BOTH
def test_more_records_than_a_batch(monkeypatch, tmp_path, transport):
    """All batches arrive, each record once."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(i, i, "f", "I10") for i in range(1000)])
    _, table = extract(tmp_path, transport, batch_rows=64)
    assert table["age"].to_pylist() == list(range(1000))


@BOTH
def test_the_fingerprint_is_that_of_the_records_and_not_of_their_order(monkeypatch, tmp_path, transport):
    """The same records in another order and other batches have it; one changed, more or fewer has another."""
    rows = [(i, i % 90, "f", None if i % 3 else "I10") for i in range(200)]

    def found(these, name, **arguments):
        sqlite_connection(monkeypatch, tmp_path / name, these)
        return extract(tmp_path, transport, **arguments)[0]["fingerprint"]

    first = found(rows, "a.db")
    assert found(rows[::-1], "b.db", batch_rows=7) == first
    others = [[*rows[:-1], (199, 19, "m", "I10")], rows[:-1], [*rows, rows[0]], [*rows[1:], rows[1]]]
    assert first not in [found(these, f"{place}.db") for place, these in enumerate(others)]


def test_without_a_sound_key_nothing_is_read(monkeypatch, tmp_path):
    """A wrong key ends the task before patient data is staged; the key is in no text."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 30, "f", "I10")])
    short = tmp_path / "short.key"
    short.write_text("hunter2")
    short.chmod(0o600)
    with pytest.raises(AirflowFailException, match=r"the length of .* in bytes is 7, must be at least 32") as told:
        extract(tmp_path, fingerprint_key=str(short))
    assert "hunter2" not in str(told.value)
    assert files_of(tmp_path / "staging") == []


@BOTH
def test_query(monkeypatch, tmp_path, transport):
    """A query with a comment at its end, a percent sign, a colon and a semicolon in literals is taken as it stands."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 30, "f", "a;b :x 5%"), (2, 41, "m", "I10")])
    query = "SELECT age, sex, diagnosis FROM person WHERE diagnosis LIKE '%;b :x 5%' -- only these"
    result, table = extract(tmp_path, transport, query=query)
    assert table["age"].to_pylist() == [30]
    assert result["read"] == {
        "table": None,
        "query": "SELECT age, sex, diagnosis FROM person WHERE diagnosis LIKE '...'",
        "query_sha256": hashlib.sha256(query.encode()).hexdigest(),
    }


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ("age", "query: lacks the columns 'persons', 'sex'; it must have 'persons', 'age', 'sex' and no other"),
        ("age, sex, 1 AS persons, id", "query: has the column 'id'; it must have"),
        ("age, sex AS gender, 1 AS persons", "query: has the column 'gender' and lacks the column 'sex'; it must have"),
        ("age, sex, 1 AS persons", ""),
    ],
)
def test_a_population_has_exactly_its_columns(monkeypatch, tmp_path, columns, reason):
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 30, "f", "I10"), (2, 41, "m", "I10")])
    roles = {"persons": "insensitive", "age": "quasi-identifying", "sex": "quasi-identifying"}
    arguments = {"query": f"SELECT {columns} FROM person", "attributes": roles, "population": True}
    if reason:
        with pytest.raises(AirflowFailException, match=f"^the population's {reason}"):
            extract(tmp_path, **arguments)
        assert files_of(tmp_path / "staging") == []
    else:
        _, table = extract(tmp_path, filename="population.parquet", **arguments)
        assert table.to_pydict() == {"persons": [1, 1], "age": [30, 41], "sex": ["f", "m"]}


def test_undeclared_column_is_never_passed_through(monkeypatch, tmp_path):
    """A column that the job does not name ends the task and leaves no file."""
    sqlite_connection(
        monkeypatch, tmp_path / "w.db", [(1, 30, "f", "I10", "Erika")], "id, age, sex, diagnosis, first_name"
    )
    with pytest.raises(AirflowFailException, match=r"'first_name', which the job does not name; give it a role"):
        extract(tmp_path)
    assert files_of(tmp_path / "staging") == []


@pytest.mark.parametrize(("old", "columns"), [("diagnosis", "id, age, sex, icd"), ("id", "mrn, age, sex, diagnosis")])
def test_a_renamed_column_is_told_with_its_old_name(monkeypatch, tmp_path, old, columns):
    """Else whoever follows the error chooses a new role for an old column, and the next night fails again."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 30, "f", "I10")], columns)
    with pytest.raises(AirflowFailException, match=f"a new name of '{old}', rename that"):
        extract(tmp_path)


def test_a_column_of_another_case_is_told_by_the_spelling_of_the_job(monkeypatch, tmp_path):
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 30, "f", "I10", "a")], "id, Age, SEX, diagnosis, ward")
    told = r"has the columns 'Age', 'SEX', 'ward', which the job does not name; give each a role"
    with pytest.raises(AirflowFailException, match=told) as problem:
        extract(tmp_path)
    assert "'Age' is 'age' of the job, 'SEX' is 'sex' of the job but for case or blanks" in str(problem.value)


def test_missing_column(monkeypatch, tmp_path):
    """A declared column that the table lacks is named."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 30, "f")], "id, age, sex")
    with pytest.raises(AirflowFailException, match="lacks the column 'diagnosis'"):
        extract(tmp_path)


def test_identifying_column_may_be_left_out_of_a_query(monkeypatch, tmp_path):
    """A query that never asks for the identifier is the better one."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 30, "f", "I10")])
    result, _ = extract(tmp_path, query="SELECT age, sex, diagnosis FROM person")
    assert result["columns"] == ["age", "sex", "diagnosis"]


@BOTH
def test_empty_table(monkeypatch, tmp_path, transport):
    """No record is an error, and a file of an earlier try does not stay."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [])
    (tmp_path / "staging").mkdir()
    (tmp_path / "staging/source.parquet").write_bytes(b"earlier")
    with pytest.raises(AirflowFailException, match="is empty"):
        extract(tmp_path, transport)
    assert files_of(tmp_path / "staging") == []


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("", "is empty"),
        ("-- nothing", "is empty"),
        ("SELECT 1; DROP TABLE person", "semicolon"),
        ("SELECT 1;", "semicolon"),
        ("DELETE FROM person", "SELECT or WITH"),
        ("selection", "SELECT or WITH"),
    ],
)
def test_query_must_be_one_select(monkeypatch, tmp_path, query, problem):
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 30, "f", "I10")])
    with pytest.raises(AirflowFailException, match=problem):
        extract(tmp_path, query=query)


def test_unknown_connection(tmp_path):
    """The connection and the fix are named."""
    with pytest.raises(AirflowFailException, match=r"connection 'warehouse' is not defined: .*AIRFLOW_CONN_WAREHOUSE"):
        extract(tmp_path)


def test_connection_that_is_no_database(monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps({"conn_type": "nonsense"}))
    with pytest.raises(AirflowFailException, match=r"its type has no hook .*correct the type, or install the provider"):
        extract(tmp_path)


def test_connection_of_type_mysql_may_be_of_mariadb(monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps({"conn_type": "mysql"}))
    with pytest.raises(AirflowFailException, match="for MariaDB give it the type mariadb, of airflow-anon"):
        extract(tmp_path)


def test_connection_without_a_type(monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", "nonsense")
    with pytest.raises(AirflowFailException, match="give the connection a type: an address begins with it"):
        extract(tmp_path)


def test_connection_whose_provider_an_extra_brings(monkeypatch, tmp_path):
    def without_provider(_conn_id):
        raise AirflowException('Unknown hook type "postgres"')

    monkeypatch.setattr("airflow_anon.transport.connection.BaseHook.get_hook", without_provider)
    with pytest.raises(AirflowFailException, match=r"type has no hook .*; pip install airflow-anon\[postgres\]"):
        extract(tmp_path)


@BOTH
def test_failure_in_the_middle_leaves_nothing(monkeypatch, tmp_path, transport, capfd):
    """A column that mixes bytes and text is refused before reading; an error while reading leaves no file either."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(i, i, "f", "secret-value") for i in range(100)])
    import airflow_anon.transport.parquet as module  # noqa: PLC0415 (patched here only)

    calls = []

    def failing(batch):
        calls.append(batch)
        if len(calls) == 2:
            raise ValueError("secret-value")
        return batch

    monkeypatch.setattr(module, "normalized", failing)
    with pytest.raises(AirflowException) as raised:
        extract(tmp_path, transport, batch_rows=10)
    assert files_of(tmp_path / "staging") == []
    logged = capfd.readouterr()
    assert "Reading" in logged.out
    assert "secret-value" not in str(raised.value) + logged.out + logged.err
    monkeypatch.undo()


def test_leftover_of_a_killed_try_is_removed(monkeypatch, tmp_path):
    """A part that a killed process left behind does not stay beside the new file."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 30, "f", "I10")])
    (tmp_path / "staging").mkdir()
    (tmp_path / "staging/.source.parquet.0123.partial").write_bytes(b"killed")
    extract(tmp_path)
    assert files_of(tmp_path / "staging") == ["source.parquet"]


@BOTH
def test_names_that_need_quotes(monkeypatch, tmp_path, transport):
    """Reserved words, spaces, quotes and capitals in names arrive unchanged."""
    columns = '"order" INTEGER, "Body Height" REAL, "a""b" TEXT'
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 1.5, "x")], columns)
    roles = dict.fromkeys(["order", "Body Height", 'a"b'], "insensitive")
    _, table = extract(tmp_path, transport, attributes=roles)
    assert table.to_pylist() == [{"order": 1, "Body Height": 1.5, 'a"b': "x"}]


def test_missing_sqlite_file_is_not_made(monkeypatch, tmp_path):
    """A mistyped path is an error and not an empty database."""
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps({"conn_type": "sqlite", "host": str(tmp_path / "no.db")}))
    with pytest.raises(AirflowException, match="unable to open database file"):
        extract(tmp_path)
    assert not (tmp_path / "no.db").exists()


@BOTH
@pytest.mark.parametrize("form", ["sqlite://{}", "sqlite://{}?mode=ro", "sqlite:///{}"])
def test_forms_of_a_sqlite_connection(monkeypatch, tmp_path, transport, form):
    """Airflow users write the path of a SQLite file in more than one way."""
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 30, "f", "I10")])
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", form.format(tmp_path / "w.db"))
    assert extract(tmp_path, transport)[1].num_rows == 1


@pytest.mark.postgres
@BOTH
def test_killed_task_stops_the_statement(postgres_warehouse, tmp_path, transport):
    """on_kill ends the running query in the database; the task fails and leaves no file."""
    operator = ExtractTableOperator(
        task_id="extract",
        conn_id="warehouse",
        query="SELECT pg_sleep(20)::text AS age",
        attributes={"age": "insensitive"},
        staging=str(tmp_path / "staging"),
        transport=transport,
    )
    running = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
    outcome = []

    def run():
        try:
            outcome.append(operator.execute({}))
        except AirflowException as problem:
            outcome.append(problem)

    task = threading.Thread(target=run)
    task.start()
    with postgres_warehouse.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while task.is_alive() and connection.exec_driver_sql(running).scalar() == 0:
            pass
        operator.on_kill()
        task.join()
        assert connection.exec_driver_sql(running).scalar() == 0
    assert isinstance(outcome[0], AirflowException)
    assert files_of(tmp_path / "staging") == []


def test_constructor_refuses_what_cannot_be_meant():
    common = {"task_id": "extract", "conn_id": "warehouse", "staging": "/nowhere"}
    with pytest.raises(ValueError, match="either a table or a query"):
        ExtractTableOperator(**common, attributes=ROLES)
    with pytest.raises(ValueError, match="allowed roles are quasi-identifying"):
        ExtractTableOperator(**common, table="t", attributes={"age": "quasi"})
    with pytest.raises(ValueError, match="batch_rows is 0"):
        ExtractTableOperator(**common, table="t", attributes=ROLES, batch_rows=0)


POSTGRES_COLUMNS = {
    "small": ("int2", 1, pa.int64()),
    "large": ("int8", 2**40, pa.int64()),
    "single": ("float4", 1.5, pa.float64()),
    "price": ("numeric(10, 2)", Decimal("3.25"), pa.decimal128(10, 2)),
    "free": ("numeric", "4.1250", pa.string()),
    "name": ("varchar(9)", "ä%x", pa.string()),
    "born": ("date", dt.date(1969, 7, 20), pa.date32()),
    "seen": ("timestamp", dt.datetime(2026, 3, 1, 10, 0, 0, 5), pa.timestamp("us")),  # noqa: DTZ001 (without a zone)
    "sent": (
        "timestamptz",
        dt.datetime(2026, 3, 1, 8, tzinfo=dt.timezone.utc),
        pa.timestamp("us", tz="UTC"),
    ),
    "at": ("time", dt.time(10, 30), pa.time64("us")),
    "alive": ("bool", True, pa.bool_()),
    "raw": ("bytea", b"\x01\xff", pa.binary()),
    "key": ("uuid", "00000000-0000-0000-0000-000000000001", pa.string()),
    "kind": ("mood", "calm", pa.string()),
    "stay": ("interval", "1 day", pa.string()),
    "codes": ("int4[]", "{1,2}", pa.string()),
}


@pytest.fixture
def postgres_warehouse(monkeypatch, postgres_database):
    """Give an engine on an empty database, and the Airflow connection `warehouse` to it."""
    from sqlalchemy import create_engine, make_url  # noqa: PLC0415 (only with PostgreSQL)

    url = make_url(postgres_database)
    connection = {
        "conn_type": "postgres",
        "login": url.username,
        "schema": url.database,
        "extra": {"host": url.query["host"]},
    }
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(connection))
    engine = create_engine(postgres_database)
    yield engine
    engine.dispose()


@pytest.mark.postgres
@BOTH
def test_postgres_types(postgres_warehouse, tmp_path, transport):
    """Both transports give the same types and values, a first batch of nulls notwithstanding."""
    with postgres_warehouse.begin() as connection:
        connection.exec_driver_sql("CREATE TYPE mood AS ENUM ('calm')")
        connection.exec_driver_sql("CREATE SCHEMA clinic")
        columns = ", ".join(f"{name} {kind}" for name, (kind, _, _) in POSTGRES_COLUMNS.items())
        connection.exec_driver_sql(f'CREATE TABLE clinic."Person" ({columns}, patient text)')
        for _ in range(3):
            connection.exec_driver_sql("INSERT INTO clinic.\"Person\" (patient) VALUES ('Erika')")
        values = tuple(value for _, value, _ in POSTGRES_COLUMNS.values())
        connection.exec_driver_sql(
            f"INSERT INTO clinic.\"Person\" VALUES ({', '.join(['%s'] * len(values))}, 'Max')", values
        )
    roles = {**dict.fromkeys(POSTGRES_COLUMNS, "insensitive"), "patient": "identifying"}
    result, table = extract(tmp_path, transport, table="clinic.Person", attributes=roles, batch_rows=2)
    assert result["transport"] == transport
    assert table.schema.names == list(POSTGRES_COLUMNS)
    assert dict(zip(table.schema.names, table.schema.types, strict=True)) == {
        name: kind for name, (_, _, kind) in POSTGRES_COLUMNS.items()
    }
    assert table.to_pylist()[:3] == [dict.fromkeys(POSTGRES_COLUMNS)] * 3
    assert table.to_pylist()[3] == {name: value for name, (_, value, _) in POSTGRES_COLUMNS.items()}


@pytest.mark.postgres
def test_postgres_column_given_twice(postgres_warehouse, tmp_path):
    """A join that yields a name twice is refused."""
    with pytest.raises(AirflowFailException, match="more than one column 'age'"):
        extract(tmp_path, query="SELECT 1 AS age, 2 AS age", attributes={"age": "quasi-identifying"})


@pytest.mark.postgres
@BOTH
def test_postgres_error_holds_no_value(postgres_warehouse, tmp_path, transport, capfd):
    """PostgreSQL quotes the value that a cast fails on; the task's error and log do not."""
    with postgres_warehouse.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE person AS SELECT 'secret-value' AS diagnosis")
    with pytest.raises(AirflowException) as raised:
        extract(
            tmp_path,
            transport,
            query="SELECT diagnosis::int AS diagnosis FROM person",
            attributes={"diagnosis": "sensitive"},
        )
    logged = capfd.readouterr()
    assert "Reading" in logged.out
    assert "secret-value" not in str(raised.value) + logged.out + logged.err
    if transport == "sqlalchemy":  # an Arrow stream that fails has lost the state
        assert "22P02" in str(raised.value)
    assert raised.value.__suppress_context__


@pytest.mark.postgres
def test_postgres_missing_table_is_named(postgres_warehouse, tmp_path):
    """An error that can only name objects is quoted."""
    with pytest.raises(AirflowFailException, match=r'relation "clinic.persn" does not exist'):
        extract(tmp_path, table="clinic.persn")


@pytest.mark.postgres
@BOTH
def test_postgres_driver_parameters_have_effect(postgres_warehouse, monkeypatch, tmp_path, transport):
    """A connection that demands TLS does not fall back to an unencrypted one."""
    document = json.loads(os.environ["AIRFLOW_CONN_WAREHOUSE"])
    document["extra"] = {"host": "localhost", "sslmode": "require", "connect_timeout": 2}
    document["password"] = "hidden-password"  # noqa: S105 (no real one)
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(document))
    from airflow_anon.transport import adbc, connection  # noqa: PLC0415 (uses Airflow's hooks)

    hook = connection.hook_of("warehouse")
    assert connection.driver_parameters(hook)["sslmode"] == "require"
    assert "sslmode=require" in adbc.DRIVERS["postgresql"].address(hook)
    with pytest.raises(AirflowException) as raised:
        extract(tmp_path, transport)
    assert "hidden-password" not in str(raised.value)


@BOTH
def test_an_identifying_column_that_a_subset_lists_records_by(monkeypatch, tmp_path, transport):
    """Only the column that the file names is read; another identifying one stays in the warehouse."""
    roles = {**ROLES, "name": "identifying"}
    columns = "id INTEGER, age INTEGER, sex TEXT, diagnosis TEXT, name TEXT"
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(7001, 30, "f", "I10", "Erika")], columns)
    (tmp_path / "subset.csv").write_text("id;age\n7001;30\n", encoding="utf-16")
    form = {"delimiter": ";", "encoding": "utf-16"}
    result, table = extract(tmp_path, transport, attributes=roles, subset=str(tmp_path / "subset.csv"), **form)
    assert result["columns"] == table.column_names == ["id", "age", "sex", "diagnosis"]
    assert table["id"].to_pylist() == [7001]
    assert b"Erika" not in Path(result["path"]).read_bytes()
    pq.write_table(pa.table({"age": [30]}), tmp_path / "subset.parquet")
    result, _ = extract(tmp_path, transport, attributes=roles, subset=str(tmp_path / "subset.parquet"))
    assert result["columns"] == ["age", "sex", "diagnosis"]


@BOTH
def test_the_column_of_persons_is_staged(monkeypatch, tmp_path, transport):
    """Whose a record is must be known to count persons; another identifying column stays, and nothing is asked."""
    roles = {**ROLES, "name": "identifying"}
    columns = "id INTEGER, age INTEGER, sex TEXT, diagnosis TEXT, name TEXT"
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(7001, 30, "f", "I10", "Erika")] * 2, columns)
    result, table = extract(tmp_path, transport, attributes=roles, subject="id")
    assert result["columns"] == table.column_names == ["id", "age", "sex", "diagnosis"]
    assert "repeats" not in result
    assert b"Erika" not in Path(result["path"]).read_bytes()
    assert "7001" not in json.dumps(result)


def test_a_subject_is_an_identifying_column():
    with pytest.raises(ValueError, match="subject is 'age', must be a column with role identifying"):
        ExtractTableOperator(task_id="e", conn_id="w", staging="s", table="t", attributes=ROLES, subject="age")


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\n1\n"], ids=["missing", "empty", "no text"])
def test_a_subset_that_cannot_be_read_ends_the_task(monkeypatch, tmp_path, content):
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(7001, 30, "f", "I10")])
    if content is not None:
        (tmp_path / "subset.csv").write_bytes(content)
    with pytest.raises(AirflowFailException, match=r"^subset subset.csv: cannot be read") as problem:
        extract(tmp_path, subset=str(tmp_path / "subset.csv"))
    assert str(tmp_path) not in str(problem.value)
    assert files_of(tmp_path / "staging") == []


ODD = ("BMI %", "100%s", "%(age)s", "%%", 'a "b" %d', "rate:%", "{%}")
"""Names that a driver could take for places of parameters."""


@pytest.mark.postgres
@BOTH
def test_postgres_names_with_percent_signs(postgres_warehouse, tmp_path, transport):
    from sqlalchemy import Column, Integer, MetaData, Numeric, Table  # noqa: PLC0415 (only with PostgreSQL)

    columns = [*(Column(name, Integer) for name in ODD), Column("score %", Numeric(5, 2)), Column("any %", Numeric)]
    for name in ("per%son", "50%s"):
        table = Table(name, MetaData(), *(Column(column.name, column.type) for column in columns))
        table.create(postgres_warehouse)
        with postgres_warehouse.begin() as connection:
            connection.execute(table.insert().values([*range(len(ODD)), Decimal("1.25"), Decimal("0.5")]))
        roles = {column.name: "insensitive" for column in columns}
        _, found = extract(tmp_path, transport, table=name, attributes=roles)
        assert found.to_pylist() == [
            {**{name: place for place, name in enumerate(ODD)}, "score %": Decimal("1.25"), "any %": "0.5"}
        ]


@pytest.mark.postgres
@BOTH
def test_settings_of_a_postgres_role_change_no_number_and_no_moment(postgres_warehouse, tmp_path, transport):
    with postgres_warehouse.begin() as connection:
        for statement in (
            "CREATE TABLE person AS SELECT 0.1::float8 / 3 AS dose, timestamptz '2026-07-01 12:00+00' AS seen",
            f"ALTER DATABASE {postgres_warehouse.url.database} SET datestyle = 'German, DMY'",
            f"ALTER DATABASE {postgres_warehouse.url.database} SET extra_float_digits = -5",
        ):
            connection.exec_driver_sql(statement)
    _, table = extract(tmp_path, transport, attributes={"dose": "insensitive", "seen": "insensitive"})
    seen = dt.datetime(2026, 7, 1, 12, tzinfo=dt.timezone.utc)
    assert table.to_pylist() == [{"dose": 0.1 / 3, "seen": seen}]


@BOTH
def test_sqlite_names_with_percent_signs(monkeypatch, tmp_path, transport):
    sqlite_connection(monkeypatch, tmp_path / "w.db", [(1, 30)], 'id INTEGER, "BMI %" INTEGER')
    _, table = extract(tmp_path, transport, attributes={"id": "identifying", "BMI %": "quasi-identifying"})
    assert table.to_pylist() == [{"BMI %": 30}]


@pytest.mark.postgres
def test_columns_that_postgres_cannot_compare_are_not_known(postgres_warehouse, tmp_path):
    """Type json has no equality there; the columns asked after it are still told."""
    with postgres_warehouse.begin() as connection:
        connection.exec_driver_sql('CREATE TABLE person (id json, "m%%r n" text, age int)')
        connection.exec_driver_sql("INSERT INTO person VALUES ('7001', 'a', 30), ('7002', 'a', 31)")
    attributes = {"id": "identifying", "m%r n": "identifying", "age": "quasi-identifying"}
    result, _ = extract(tmp_path, attributes=attributes)
    assert result["repeats"] == {"id": None, "m%r n": True}
