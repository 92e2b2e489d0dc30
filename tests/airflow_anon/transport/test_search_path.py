"""Nobody else's function is called with the rights of a role that reads a source or fills a share."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from airflow.sdk.exceptions import AirflowFailException

from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.adbc import DRIVERS, connect
from airflow_anon.transport.connection import engine_of, hook_of
from airflow_anon.transport.database_read import look_at
from airflow_anon.transport.relation import Relation
from tests.airflow_anon.nights.night import connection_of
from tests.conftest import role_without_rights

pytestmark = [pytest.mark.postgres]

TYPES = ("text", "varchar", "name", "smallint", "int", "oid", "regproc")
COLUMNS = {"zip": "insensitive", "age": "insensitive"}


def ask(engine, *statements):
    with engine.begin() as connection:
        results = [connection.exec_driver_sql(one) for one in statements]
        return results[-1].all() if results[-1].returns_rows else []


@pytest.fixture
def owner(postgres_database, monkeypatch):
    """Give an engine of a superuser, whose database has a source and a schema that the search path begins with."""
    monkeypatch.setenv("AIRFLOW_CONN_CLINIC", connection_of(postgres_database))
    engine = sa.create_engine(postgres_database, poolclass=sa.NullPool)
    ask(
        engine,
        "CREATE SCHEMA app",
        f'ALTER DATABASE "{engine.url.database}" SET search_path = app, public',
        "CREATE TABLE public.stays (zip varchar, age smallint)",
        "INSERT INTO public.stays VALUES ('80001', 40)",
        "CREATE TABLE public.taken (told text)",
    )
    return engine


@pytest.fixture
def other(owner):
    """Give another role, and an engine of it."""
    with role_without_rights(owner) as (name, url):
        ask(owner, f"GRANT USAGE ON SCHEMA app TO {name}", f"GRANT INSERT ON public.taken TO {name}")
        yield name, sa.create_engine(url, poolclass=sa.NullPool)


@pytest.fixture
def group(owner):
    """Give a role of which others may become members."""
    with role_without_rights(owner) as (name, _):
        yield name


def plant(engine):
    """Make operators that fit the arguments of catalog queries and of ours better than PostgreSQL's own."""
    statements = []
    for number, (left, right) in enumerate((one, two) for one in TYPES for two in TYPES):
        taking = f"LANGUAGE plpgsql AS $$BEGIN INSERT INTO public.taken VALUES ('{left}, {right}'); RETURN true; END$$"
        statements += [
            f"CREATE FUNCTION app.f{number}(one {left}, two {right}) RETURNS boolean {taking}",
            f"CREATE OPERATOR app.= (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = app.f{number})",
            f"CREATE OPERATOR app.<> (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = app.f{number})",
        ]
    ask(engine, *statements)


def publish(folder, table="people"):
    pq.write_table(pa.table({"sex": pa.array(["m", "w"])}), folder / "data.parquet")
    return SqlShare(hook_of("clinic"), table).publish("r1", "1" * 64, folder / "data.parquet")


def extract(transport, table="stays"):
    reading = look_at(hook_of("clinic"), Relation(table=table), COLUMNS, transport, 10)
    return sum(batch.num_rows for batch in reading.batches())


def taken(engine):
    return ask(engine, "SELECT told FROM public.taken")


GRANTS = [
    pytest.param(["GRANT CREATE ON SCHEMA app TO {name}"], "{name} may create in schema app", id="granted"),
    pytest.param(["ALTER SCHEMA app OWNER TO {name}"], "{name} may create in schema app", id="owned"),
    pytest.param(
        ["GRANT CREATE ON SCHEMA app TO {group}", "GRANT {group} TO {name}", "ALTER ROLE {group} NOLOGIN"],
        "{name} may create in schema app",
        id="by a group",
    ),
    pytest.param(["GRANT CREATE ON SCHEMA app TO PUBLIC"], "everyone may create in schema app", id="everyone"),
]


@pytest.mark.parametrize(("grants", "told"), GRANTS)
def test_a_path_in_which_somebody_else_may_create_is_refused_before_a_statement_is_asked(
    owner, other, group, tmp_path, grants, told
):
    name, engine = other
    ask(owner, *(one.format(name=name, group=group) for one in grants))
    plant(engine)
    for step in (
        lambda: publish(tmp_path),
        lambda: extract("adbc"),
        lambda: extract("sqlalchemy"),
        lambda: engine_of(hook_of("clinic")).connect(),
    ):
        with pytest.raises(AirflowFailException) as caught:
            step()
        assert told.format(name=name) in str(caught.value)
        assert "SET search_path = ''" in str(caught.value)
    assert taken(owner) == []


def test_what_the_attack_takes_without_the_refusal(owner, other):
    """A driver that asks the catalog by itself calls the operators of the other role: the test above can fail."""
    name, engine = other
    ask(owner, f"GRANT CREATE ON SCHEMA app TO {name}")
    plant(engine)
    with connect(DRIVERS["postgresql"], hook_of("clinic")) as connection:
        connection.cursor().close()
        connection.commit()
    assert taken(owner)


def test_what_was_made_before_the_right_was_taken_is_refused_too(owner, other, tmp_path):
    name, engine = other
    ask(owner, f"GRANT CREATE ON SCHEMA app TO {name}")
    ask(
        engine,
        "CREATE FUNCTION app.lower(varchar) RETURNS text LANGUAGE sql AS 'SELECT $1::text'",
        "CREATE FUNCTION app.no_name_of_postgresql(text) RETURNS text LANGUAGE sql AS 'SELECT $1'",
    )
    ask(owner, f"REVOKE CREATE ON SCHEMA app FROM {name}")
    with pytest.raises(AirflowFailException, match=rf"app\.lower of {name} has the name of one of PostgreSQL's"):
        publish(tmp_path)
    ask(engine, "DROP FUNCTION app.lower(varchar)")
    assert publish(tmp_path) == "loaded"


TRUSTED = [
    pytest.param(["ALTER ROLE {name} SUPERUSER"], id="a superuser"),
    pytest.param(['GRANT "{me}" TO {name}'], id="a member of the role itself"),
    pytest.param(['ALTER DATABASE "{base}" OWNER TO {name}'], id="the owner of the database"),
    pytest.param(["ALTER ROLE {name} NOLOGIN"], id="nobody who can log in"),
]


@pytest.mark.parametrize("statements", TRUSTED)
def test_those_who_may_do_it_anyway_may_create(owner, other, tmp_path, statements):
    name, _ = other
    ask(owner, f"GRANT CREATE ON SCHEMA app TO {name}")
    me = owner.url.username
    base = owner.url.database
    with pytest.raises(AirflowFailException, match="may create in schema app"):
        publish(tmp_path)
    ask(owner, *(one.format(name=name, me=me, base=base) for one in statements))
    assert publish(tmp_path) == "loaded"
    ask(owner, f'ALTER DATABASE "{base}" OWNER TO "{me}"')


def test_with_an_empty_path_everything_is_done_by_names_with_their_schema(owner, other, tmp_path):
    name, engine = other
    ask(owner, f"GRANT CREATE ON SCHEMA app TO {name}", f"GRANT CREATE ON SCHEMA public TO {name}")
    plant(engine)
    ask(owner, f"ALTER DATABASE \"{owner.url.database}\" SET search_path = ''")
    assert publish(tmp_path, "public.people") == "loaded"
    assert extract("adbc", "public.stays") == extract("sqlalchemy", "public.stays") == 1
    assert taken(owner) == []


def test_a_function_looked_up_in_another_path_would_read_other_records_without_an_error(owner):
    """Why a path is refused, and not replaced: an operator of a schema, as `citext` has them, is not found then."""
    ask(
        owner,
        "CREATE DOMAIN app.ci AS text",
        "CREATE FUNCTION app.same(a app.ci, b app.ci) RETURNS boolean LANGUAGE sql "
        "AS 'SELECT lower(a::text) = lower(b::text)'",
        "CREATE OPERATOR app.= (LEFTARG = app.ci, RIGHTARG = app.ci, FUNCTION = app.same)",
        "CREATE FUNCTION app.of_ward(a app.ci) RETURNS boolean LANGUAGE plpgsql "
        "AS $$BEGIN RETURN a = 'icu'::app.ci; END$$",
        "CREATE VIEW app.in_ward AS SELECT * FROM (VALUES ('ICU'::app.ci), ('icu')) AS w (w) WHERE app.of_ward(w)",
    )
    counted = "SELECT count(*) FROM app.in_ward"
    assert ask(owner, counted) == [(2,)]
    assert ask(owner, "SET LOCAL search_path = pg_catalog, pg_temp", counted) == [(1,)]
