"""What a table of PostgreSQL may be, and its columns: inside the warehouse it is released as where it is extracted."""

from __future__ import annotations

from collections import Counter

import pytest
import sqlalchemy as sa

from tests.airflow_anon.nights.night import connection_of
from tests.airflow_anon.warehouse.inside import CONNECTION, agree, connect, execute, table
from tests.conftest import role_without_rights

pytestmark = [pytest.mark.postgres]

DOCUMENT = {
    "name": "inside",
    "unit": "record",
    "attributes": {
        "q": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10, 20]}},
        "dx": {"role": "sensitive"},
    },
    "privacy": [
        {"model": "k-anonymity", "k": 3},
        {"model": "l-diversity", "variant": "distinct", "attribute": "dx", "l": 2},
    ],
    "suppression_limit": 0.2,
}
Q = "(ARRAY['a', 'A', 'b', 'B'])[1 + i % 4]"
DX = "(ARRAY['x', 'X', 'y'])[1 + i % 3]"
NUMBERS = "generate_series(1, 600) i"
FILL = f"INSERT INTO source SELECT {Q}, i % 5, {DX} FROM {NUMBERS}"
OWN_EQUALITY = [
    "CREATE DOMAIN ci AS text",
    "CREATE FUNCTION same(a ci, b ci) RETURNS boolean LANGUAGE sql AS 'SELECT lower(a::text) = lower(b::text)'",
    "CREATE OPERATOR = (LEFTARG = ci, RIGHTARG = ci, FUNCTION = same)",
]

SOURCES = {
    "partitioned": [
        "CREATE TABLE source (q text, age int, dx text) PARTITION BY LIST (age)",
        "CREATE TABLE young PARTITION OF source FOR VALUES IN (0, 1)",
        "CREATE TABLE others PARTITION OF source DEFAULT",
        FILL,
    ],
    "inherited": [
        "CREATE TABLE source (q text, age int, dx text)",
        "CREATE TABLE more (extra int) INHERITS (source)",
        f"INSERT INTO more SELECT {Q}, i % 5, {DX}, i FROM {NUMBERS}",
    ],
    "generated": [
        "CREATE TABLE source (q text, age int, dx text GENERATED ALWAYS AS ('d' || age % 3) STORED)",
        f"INSERT INTO source SELECT {Q}, i % 5 FROM {NUMBERS}",
    ],
    "a materialized view": [
        "CREATE TABLE base (q text, age int, dx text)",
        FILL.replace("source", "base"),
        "CREATE MATERIALIZED VIEW source AS SELECT * FROM base",
    ],
    "a domain with an equality of its own": [
        *OWN_EQUALITY,
        "CREATE TABLE source (q ci, age int, dx ci)",
        FILL,
    ],
    "arrays and an enumeration": [
        "CREATE TYPE dx_kind AS ENUM ('x', 'X', 'y')",
        "CREATE TABLE source (q text[], age int, dx dx_kind)",
        f"INSERT INTO source SELECT ARRAY['c', {Q}], i % 5, ({DX})::dx_kind FROM {NUMBERS}",
    ],
}


@pytest.fixture
def engine(monkeypatch, postgres_database):
    return connect(monkeypatch, postgres_database)


@pytest.mark.parametrize("statements", SOURCES.values(), ids=SOURCES)
def test_a_table_of_any_kind_is_released_alike(engine, tmp_path, monkeypatch, statements):
    monkeypatch.chdir(tmp_path)
    execute(engine, *(one.replace("%", "%%") for one in statements))
    report, _, _, classes = agree(engine, table("source"), DOCUMENT, tmp_path)
    assert report["rows"] == 600
    # "a" and "A" are two values
    assert len({row["q"] for row in classes}) == 4


def test_of_a_table_with_row_level_security_the_visible_records_are_released(engine, tmp_path, monkeypatch, caplog):
    """The log says that there may be others."""
    with role_without_rights(engine) as (role, url):
        execute(
            engine,
            "CREATE TABLE source (q text, age int, dx text)",
            FILL.replace("%", "%%"),
            "ALTER TABLE source ENABLE ROW LEVEL SECURITY",
            f"CREATE POLICY own_ward ON source TO {role} USING (age < 2)",
            f"GRANT SELECT ON source TO {role}",
            f"GRANT CREATE, USAGE ON SCHEMA public TO {role}",
        )
        monkeypatch.setenv(f"AIRFLOW_CONN_{CONNECTION.upper()}", connection_of(url))
        report, _, _, classes = agree(sa.create_engine(url, poolclass=sa.NullPool), table("source"), DOCUMENT, tmp_path)
    assert report["rows"] == 240
    assert Counter(row["age"] for row in classes).total() == 240
    assert "row-level security decides which of its records are read" in caplog.text
