"""What goes wrong inside a warehouse says so, names the fix, and leaves nothing."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import Counter

import pytest
import sqlalchemy as sa
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.dialects.postgresql import POSTGRESQL
from airflow_anon.operators.deidentify import engine_errors
from airflow_anon.share.made_table import holds_made, made_table
from airflow_anon.transport.connection import hook_of
from airflow_anon.transport.content_hash import ContentHash
from airflow_anon.transport.database_read import canceller, look_at
from airflow_anon.transport.relation import Relation
from airflow_anon.transport.repeats import repeating
from airflow_anon.transport.table_content import hash_of_content
from airflow_anon.warehouse import statements
from airflow_anon.warehouse.expressions import SecretRandom
from airflow_anon.warehouse.failure import warehouse_errors
from airflow_anon.warehouse.warehouse import SqlWarehouse
from engine import InvalidData, InvalidJob, run
from tests.airflow_anon.warehouse.inside import (
    CONNECTION,
    TABLE,
    connect,
    execute,
    in_sql,
    inside,
    table,
    tables,
    written,
)

pytestmark = [pytest.mark.postgres]

DOCUMENT = {
    "name": "inside",
    "unit": "record",
    "attributes": {
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10, 20]}},
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 5}},
        "dx": {"role": "sensitive"},
    },
    "privacy": [{"model": "k-anonymity", "k": 3}],
    "suppression_limit": 0.2,
}
FILL = "SELECT (i * 7) %% 50, '8000' || i %% 5, 'd' || i %% 6 FROM generate_series(1, 600) i"


@pytest.fixture
def engine(monkeypatch, postgres_database):
    made = connect(monkeypatch, postgres_database)
    execute(made, "CREATE TABLE source (age int, zip text, dx text)", f"INSERT INTO source {FILL}")
    return made


@pytest.fixture
def role(engine):
    """Give a role without rights of its own, and an engine of it."""
    name = f"role_{id(engine)}"
    execute(engine, f"CREATE ROLE {name} LOGIN", "REVOKE ALL ON SCHEMA public FROM PUBLIC")
    execute(engine, f'REVOKE TEMPORARY ON DATABASE "{engine.url.database}" FROM PUBLIC')
    yield name, sa.create_engine(engine.url.set(username=name), poolclass=sa.NullPool)
    execute(engine, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def test_a_role_that_reads_a_view_and_creates_in_one_schema_is_enough(engine, role):
    """Not even temporary tables are its right, nor the table behind the view."""
    name, limited = role
    execute(
        engine,
        "CREATE SCHEMA views",
        "CREATE VIEW views.stays AS SELECT * FROM public.source",
        "CREATE SCHEMA research",
        f"GRANT USAGE ON SCHEMA views TO {name}",
        f"GRANT SELECT ON views.stays TO {name}",
        f"GRANT USAGE, CREATE ON SCHEMA research TO {name}",
    )
    with inside(limited, table("views.stays"), DOCUMENT, "research") as warehouse:
        assert run(in_sql(DOCUMENT), warehouse).report["rows"] == 600
        made = tables(limited, "research")
    assert made == []
    assert tables(engine, "research") == []


def test_a_role_that_may_not_create_is_told_the_statement_and_the_grant(engine, role):
    name, limited = role
    execute(engine, "CREATE SCHEMA research", f"GRANT USAGE ON SCHEMA public, research TO {name}")
    execute(engine, f"GRANT SELECT ON source TO {name}")
    with pytest.raises(AirflowFailException) as caught, inside(limited, table("source"), DOCUMENT, "research"):
        pass
    told = f"CREATE TABLE is refused in schema research; GRANT CREATE, USAGE ON SCHEMA research TO {name}"
    assert told in str(caught.value)


def test_a_schema_that_is_not_there(engine):
    with (
        pytest.raises(AirflowFailException, match="there is no schema nowhere"),
        inside(engine, table("source"), DOCUMENT, "nowhere"),
    ):
        pass


def test_names_of_roles_and_schemas_are_quoted_in_a_grant(engine, role):
    name, limited = role
    execute(engine, 'CREATE SCHEMA "My Share"', f"GRANT USAGE ON SCHEMA public TO {name}")
    with (
        pytest.raises(AirflowFailException, match='GRANT CREATE, USAGE ON SCHEMA "My Share" TO role_'),
        inside(limited, table("source"), DOCUMENT, "My Share"),
    ):
        pass


def test_a_function_of_somebody_else_gets_no_record(engine, role):
    """PostgreSQL calls the one whose arguments fit best, wherever it is in the search path."""
    name, other = role
    execute(
        engine,
        "GRANT CREATE, USAGE ON SCHEMA public TO PUBLIC",
        "CREATE TABLE taken (told text)",
        f"GRANT INSERT ON taken TO {name}",
    )
    execute(
        other,
        "CREATE FUNCTION convert_to(told text, other text) RETURNS bytea LANGUAGE sql AS "
        "'INSERT INTO public.taken VALUES (told); SELECT pg_catalog.convert_to(told, ''UTF8'')'",
    )
    with (
        pytest.raises(AirflowFailException, match=r"everyone may create in schema public; .* REVOKE CREATE"),
        inside(engine, table("source"), DOCUMENT) as warehouse,
    ):
        assert warehouse.sums
    execute(engine, "CREATE SCHEMA own", f'ALTER DATABASE "{engine.url.database}" SET search_path = own')
    with inside(engine, table("public.source"), DOCUMENT) as warehouse:
        assert warehouse.sums
        assert warehouse._connection.exec_driver_sql("SELECT count(*) FROM public.taken").scalar() == 0


def test_a_role_that_may_not_read_is_told_the_grant(engine, role):
    name, limited = role
    execute(engine, "CREATE SCHEMA research", f"GRANT USAGE, CREATE ON SCHEMA research TO {name}")
    execute(engine, f"GRANT USAGE ON SCHEMA public TO {name}")
    with (
        pytest.raises(
            AirflowFailException, match=f"permission denied for table source; GRANT SELECT on .* '{CONNECTION}'"
        ),
        engine_errors(),
        warehouse_errors("counting", CONNECTION, None),
        inside(limited, table("source"), DOCUMENT, "research"),
    ):
        pass


def test_a_transaction_without_a_snapshot_is_refused(engine):
    with engine.connect() as connection, pytest.raises(AirflowFailException, match="must be REPEATABLE READ"):
        SqlWarehouse(connection, table("source"), ["age"], sa.Table(TABLE, sa.MetaData()))


def test_a_database_that_was_not_proven_is_refused():
    with (
        sa.create_engine("sqlite://").connect() as connection,
        pytest.raises(AirflowFailException, match="is of sqlite"),
    ):
        SqlWarehouse(connection, table("source"), ["age"], sa.Table(TABLE, sa.MetaData()))


def test_records_that_come_and_go_while_the_task_searches_change_nothing(engine):
    """All counts, and the release, are of the moment at which the transaction began to read."""
    with inside(engine, table("source"), DOCUMENT) as warehouse:
        assert warehouse.rows == 600
        execute(engine, "DELETE FROM source WHERE age < 20", f"INSERT INTO source {FILL}")
        result = run(in_sql(DOCUMENT), warehouse)
        assert result.report["rows"] == 600
        assert written(warehouse).num_rows == 600


def test_a_view_that_depends_on_chance_is_refused(engine):
    """A snapshot does not hold such a view: what is written is compared with what was counted."""
    execute(engine, "CREATE VIEW chance AS SELECT * FROM source WHERE random() < 0.5")
    with (
        inside(engine, table("chance"), DOCUMENT) as warehouse,
        pytest.raises((InvalidData, InvalidJob, Exception)) as caught,
    ):
        run(in_sql(DOCUMENT), warehouse)
    assert type(caught.value).__name__ in {"InvalidData", "VerificationFailed", "NoSolution"}
    assert TABLE not in tables(engine)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("date", "'infinity'"),
        ("date", "'4713-01-01 BC'"),
        ("timestamp", "'-infinity'"),
        ("time", "'24:00'"),
        ("numeric(5, 2)", "'NaN'"),
    ],
)
@pytest.mark.parametrize("role", ["quasi-identifying", "insensitive"])
def test_a_value_that_two_backends_would_write_differently_is_refused(engine, kind, value, role):
    execute(
        engine, f"CREATE TABLE odd (age {kind}, zip text, dx text)", f"INSERT INTO odd VALUES ({value}, '80001', 'd1')"
    )
    document = {**DOCUMENT, "attributes": {**DOCUMENT["attributes"]}}
    document["attributes"]["age"] = (
        {"role": "quasi-identifying", "unseen": "root", "hierarchy": {"builder": "redaction", "length": 2}}
        if role == "quasi-identifying"
        else {"role": role, "accept": "unique"}
    )
    with (
        pytest.raises((InvalidData, AirflowException)) as caught,
        engine_errors(),
        warehouse_errors("counting", CONNECTION, None),
        inside(engine, table("odd"), document) as warehouse,
    ):
        run(in_sql(document), warehouse)
    assert "'age'" in str(caught.value), caught.value
    assert "make the column text in a query" in str(caught.value)


def run_prepared(engine, *statements):
    """Run a job as a task does, once its transaction has run some statements."""
    counting = warehouse_errors("counting", CONNECTION, None)
    with engine_errors(), counting, inside(engine, table("source"), DOCUMENT) as warehouse:
        for statement in statements:
            warehouse._connection.exec_driver_sql(statement)
        run(in_sql(DOCUMENT), warehouse)


def test_a_server_that_only_reads(engine):
    """As a standby, or a role whose transactions are read-only."""
    with pytest.raises(AirflowFailException, match="read-only transaction; the connection leads to a server or role"):
        run_prepared(engine, "SET TRANSACTION READ ONLY")


def test_a_lock_that_is_not_given_in_time(engine):
    """What another session locks is free later: a retry helps."""
    execute(engine, "CREATE TABLE held (a int)")
    with engine.connect() as other:
        other.exec_driver_sql("LOCK TABLE held IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(AirflowException, match="another session uses the table") as caught:
            run_prepared(engine, "SET LOCAL lock_timeout = 100", "SELECT count(*) FROM held")
    assert not isinstance(caught.value, AirflowFailException)


SLOW = Relation(query="SELECT age, zip, dx FROM source, LATERAL (SELECT pg_sleep(0.1 + 0 * age)) s")


def run_slowly(engine, prepare):
    """Run a job that would take minutes, as a task does."""
    with engine_errors(), warehouse_errors("counting", CONNECTION, None), inside(engine, SLOW, DOCUMENT) as warehouse:
        prepare(warehouse._connection)
        run(in_sql(DOCUMENT), warehouse)


def test_a_statement_that_takes_too_long_is_ended_and_leaves_nothing(engine):
    with pytest.raises(AirflowException, match="took longer than statement_timeout") as caught:
        run_slowly(engine, lambda connection: connection.exec_driver_sql("SET LOCAL statement_timeout = 300"))
    assert not isinstance(caught.value, AirflowFailException)
    assert tables(engine) == ["source"]


def test_a_question_before_the_transaction_that_takes_too_long(engine):
    """Whether an identifying column repeats is not known then, but a retry may tell."""
    slow = Relation(query="SELECT age AS mrn FROM source, LATERAL (SELECT pg_sleep(0.1 + 0 * age)) s")
    execute(engine, f'ALTER DATABASE "{engine.url.database}" SET statement_timeout = 300')
    reading = look_at(hook_of(CONNECTION), slow, {"mrn": "insensitive"}, "sqlalchemy", 1)
    with (
        pytest.raises(AirflowException, match="took longer than statement_timeout") as caught,
        warehouse_errors("counting", CONNECTION, None),
    ):
        repeating(reading, ["mrn"])
    assert not isinstance(caught.value, AirflowFailException)


def test_a_server_that_ends_the_transaction_during_the_search(engine):
    def idle(connection):
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 100")
        time.sleep(0.5)

    with pytest.raises(AirflowException, match="raise idle_in_transaction_session_timeout") as caught:
        run_slowly(engine, idle)
    assert not isinstance(caught.value, AirflowFailException)
    assert tables(engine) == ["source"]


def test_a_statement_that_is_cancelled_says_so(engine):
    """As a task does whose run is ended by somebody."""

    def cancel_when_it_waits(connection):
        def begun(_connection, _cursor, statement, *_):
            # whatever the task did before, and however long it took
            if "pg_sleep" in statement:
                threading.Timer(1.0, cancel).start()

        cancel = canceller(connection)
        sa.event.listen(connection, "before_cursor_execute", begun)

    with pytest.raises(AirflowException, match="somebody cancelled the statement"):
        run_slowly(engine, cancel_when_it_waits)
    assert tables(engine) == ["source"]


def test_records_of_a_warehouse_cannot_be_read(engine):
    with inside(engine, table("source"), DOCUMENT) as warehouse:
        with pytest.raises(InvalidData, match="records of a warehouse are not read outside of it"):
            warehouse.batches(["age"])
        with pytest.raises(InvalidJob, match="backend: is auto, must be sql"):
            run({**DOCUMENT}, warehouse)


def test_the_order_within_a_class_is_another_one_each_time(engine):
    """Records with the same labels come at random: a column that counts them would tell their order."""
    execute(
        engine,
        "CREATE TABLE ordered AS SELECT 1 AS age, text '80001' AS zip, 'd' || i AS dx FROM generate_series(1, 200) i",
    )
    document = {**DOCUMENT, "attributes": {**DOCUMENT["attributes"], "dx": {"role": "sensitive", "accept": "unique"}}}
    orders = []
    for _ in range(2):
        with inside(engine, table("ordered"), document) as warehouse:
            run(in_sql({**document, "allow_empty_information": True}), warehouse)
            orders.append(written(warehouse)["dx"].to_pylist())
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]
    kept = sum(one == f"d{place}" for place, one in enumerate(orders[0], start=1))
    assert kept < 20


def test_nothing_that_is_written_before_it_is_published_is_logged(engine):
    """Logical replication of the schema would send records of the source, and identifiers, to its subscribers."""
    execute(engine, "ALTER TABLE source ADD mrn text", "UPDATE source SET mrn = 'p' || age")
    document = {**DOCUMENT, "subject": "mrn", "max_rows": 8}
    document["attributes"] = {**DOCUMENT["attributes"], "mrn": {"role": "identifying"}}
    del document["unit"]
    made = []

    def begun(_connection, _cursor, statement, *_):
        if statement.lstrip().startswith("CREATE"):
            made.append(statement.split()[:4])

    with inside(engine, table("source"), document) as warehouse:
        sa.event.listen(warehouse._connection, "before_cursor_execute", begun)
        run(in_sql(document), warehouse)
    names = {words[3] for words in made}
    assert {TABLE, *(f"{TABLE}_{what}" for what in ("persons", "staged", "people", "values0", "labels0"))} <= names
    assert {tuple(words[:3]) for words in made} == {("CREATE", "UNLOGGED", "TABLE")}, made


def test_a_record_is_hashed_once_for_all_its_sums(engine):
    """The planner would hash it for each of them."""
    records = sa.select(sa.table("source", sa.column("age", sa.Integer), sa.column("zip", sa.Text))).subquery("records")
    written = str(POSTGRESQL.sums(records).compile(engine, compile_kwargs={"literal_binds": True}))
    with engine.connect() as connection:
        plan = "\n".join(connection.exec_driver_sql("EXPLAIN (VERBOSE) " + written.replace("%", "%%")).scalars())
    # what is above the scan is written with its expression, but reads what that gave out
    assert "Output: sha256(" in plan.partition("Seq Scan")[2], plan


@pytest.mark.parametrize("version", [None, (17, 9)])
def test_the_sums_of_a_fingerprint_are_those_of_the_records(engine, version):
    """Of SHA-256 over the text of each record, whatever the server can cast: as those of earlier releases."""
    texts = ["(1,a)", '(,"a ")', "(3,)", '(4,"")', '(-5,"ä,n")', '(1,"a""b")']
    execute(
        engine,
        "CREATE TABLE told (age int, zip text)",
        """INSERT INTO told VALUES (1, 'a'), (NULL, 'a '), (3, NULL), (4, ''), (-5, 'ä,n'), (1, 'a"b')""",
    )
    records = sa.select(sa.table("told", sa.column("age", sa.Integer), sa.column("zip", sa.Text))).subquery("records")
    with engine.connect() as connection:
        dialect = connection.dialect
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dialect, "server_version_info", version or dialect.server_version_info)
            words = str(POSTGRESQL.sums(records).compile(dialect=dialect))
            found = tuple(map(int, connection.execute(POSTGRESQL.sums(records)).one()))
    # bits are what servers of before can cast
    assert ("BIT(256)" in words) == ((version or dialect.server_version_info) < (18,))
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    parts = [
        sum(int.from_bytes(digest[start : start + 8], "big", signed=True) for digest in digests)
        for start in range(0, 32, 8)
    ]
    assert found == (len(texts), *parts)


def test_records_are_sorted_once_by_keys_that_stand_first(engine):
    """Behind the columns of a release each key would be looked up by walking over them, once for each comparison."""
    columns = [sa.column("age", sa.Integer), sa.column("dx", sa.Text)]
    of_age = sa.select(*columns).select_from(sa.table("source", *columns))
    ordered = POSTGRESQL.ordered(of_age, [columns[0] + 1, SecretRandom()])
    words = str(ordered.compile(engine, compile_kwargs={"literal_binds": True}))
    with engine.connect() as connection:
        plan = "\n".join(connection.exec_driver_sql("EXPLAIN (VERBOSE) " + words).scalars())
        found = [tuple(row) for row in connection.execute(POSTGRESQL.ordered(of_age, [columns[0], SecretRandom()]))]
        kept = [tuple(row) for row in connection.exec_driver_sql("SELECT age, dx FROM source ORDER BY age")]
    assert plan.count("Sort Key") == 1, plan
    sorted_ = plan[: plan.index("Sort Key")]
    output = re.findall(r"Output: (.*)", sorted_)[-1]
    assert output.startswith("((source.age + 1)), (sha256("), plan
    # the words themselves say the order, whatever becomes of that of a subquery
    assert words.rstrip().endswith("ORDER BY ordered.key0, ordered.key1"), words
    assert [age for age, _ in found] == [age for age, _ in kept]
    assert sorted(found) == sorted(kept)


def test_the_order_is_drawn_by_a_key_that_each_statement_draws_anew(engine):
    """One key for all records: one for each would take five times as long."""
    asked = sa.select(SecretRandom()).select_from(sa.func.generate_series(1, 1000).alias("records"))
    words = asked.compile(engine, compile_kwargs={"literal_binds": True})
    with engine.connect() as connection:
        first, second = ({bytes(one) for one in connection.scalars(asked)} for _ in range(2))
        plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN (ANALYZE) {words}").scalars())
    assert len(first | second) == 2000
    # beside the records, and once
    assert re.search(r"InitPlan 1.*\n.*Result .*rows=1(\.00)? loops=1", plan), plan


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
@pytest.mark.parametrize("kind", ["text", "date"])
def test_a_release_is_hashed_and_counted_by_one_reading_where_a_driver_gives_it_in_parts(engine, driver, kind):
    """The hash is that of another reading, and its classes are those that the database counts."""
    if kind == "date":
        execute(engine, "ALTER TABLE source ALTER dx TYPE date USING date '2026-01-01' + substr(dx, 2)::int")
    of_driver = sa.create_engine(engine.url.set(drivername=f"postgresql+{driver}"), poolclass=sa.NullPool)
    counted = []

    def begun(_connection, _cursor, statement, *_):
        counted.extend(re.findall(r"GROUP BY keyed", statement))

    with inside(of_driver, table("source"), DOCUMENT) as warehouse:
        result = run(in_sql(DOCUMENT), warehouse)
        described = warehouse._connection, TABLE, None, warehouse.released, result.report["released"]
        content = warehouse.content
        sa.event.listen(warehouse._connection, "before_cursor_execute", begun)
        names = ["age", "zip", "dx"]
        counts = Counter()
        for batch in warehouse.classes(names, "n"):
            *cells, records = (column.to_pylist() for column in batch.columns)
            for values, number in zip(zip(*cells, strict=True), records, strict=True):
                counts[values] += number
        # text alone is what an array of Arrow is made of without the driver
        assert (not counted, content is not None) == ((driver, kind) == ("psycopg", "text"),) * 2
        asked = "SELECT age, zip, dx, count(*) FROM made GROUP BY age, zip, dx"
        assert counts == {tuple(values): number for *values, number in warehouse._connection.exec_driver_sql(asked)}
        if content is not None:
            again = ContentHash(content.kinds, content.salt)
            found = made_table(*described, content)
            assert found["sha256"] == hash_of_content(warehouse._connection, TABLE, None, again)
            assert found["salt"] != made_table(*described)["salt"]
            warehouse._connection.exec_driver_sql(
                "UPDATE made SET dx = dx || '!' WHERE ctid = (SELECT min(ctid) FROM made)"
            )
            assert not holds_made(warehouse._connection, None, found)


def test_groups_are_made_by_hashing(engine):
    """Which takes a quarter of what sorting many texts takes."""
    execute(
        engine,
        "CREATE TABLE wide AS SELECT i AS age, repeat(md5(i::text), 5) AS zip, 'd' AS dx "
        "FROM generate_series(1, 20000) i",
        "ANALYZE wide",
    )
    asked = str(
        statements.classes_of(sa.table("wide", *map(sa.column, ("age", "zip", "dx"))), ["zip", "age"]).compile(engine)
    )

    def plan(connection):
        # more than fits, whatever the server is set to
        connection.exec_driver_sql("SET LOCAL work_mem = '64kB'")
        return "\n".join(connection.exec_driver_sql(f"EXPLAIN {asked}").scalars())

    with engine.connect() as connection:
        plans = [plan(connection)]
    with inside(engine, table("wide"), DOCUMENT) as warehouse:
        plans.append(plan(warehouse._connection))
    assert ["HashAggregate" in plan for plan in plans] == [False, True], plans
