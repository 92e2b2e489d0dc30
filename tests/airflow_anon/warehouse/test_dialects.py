"""What each dialect writes: compiled as users have it, read by a parser of its language, looked at."""

from __future__ import annotations

import math
import re
from operator import mul

import pytest
import sqlalchemy as sa
import sqlglot
from airflow.providers.common.compat.sdk import AirflowFailException
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.mysql.mariadb import MariaDBDialect

from airflow_anon.dialects.registry import DIALECTS, PROVEN, proven_dialect
from airflow_anon.share.sql_databases import MADE_INSIDE
from airflow_anon.transport.relation import Relation
from airflow_anon.warehouse import statements
from airflow_anon.warehouse.release_statement import Labelled, labels_columns, release_into, suppressed_columns
from airflow_anon.warehouse.statements import Expression
from tests.airflow_anon.warehouse.other_engine import HERE, LANGUAGES, dialect_of
from tests.profiles import only

NAMES = {"postgresql": "postgres", "mariadb": "mysql", **LANGUAGES}
"""Of sqlglot."""
COLUMNS = [
    Expression("age", "age", sa.BigInteger()),
    Expression("order", '"order"', sa.Text()),
    Expression("dose", "dose", sa.Double()),
]


def dialect(name):
    if name == "postgresql":
        return postgresql.dialect(paramstyle="named")
    return MariaDBDialect(paramstyle="named") if name == "mariadb" else dialect_of(name)


def table(name, columns):
    return sa.Table(name, sa.MetaData(), *columns, schema="research")


def release(name, of, codes=7, refuses=True):
    """Make the statement that writes a release, whose two quasi-identifiers have so many codes each."""
    weights = statements.strides([codes] * 2)
    records = statements.source_of(Relation(table="clinic.stays"), COLUMNS, of)
    labelled = {
        column.name: Labelled(
            table(f"values{place}", statements.numbered(records.c[column.name])),
            table(f"labels{place}", labels_columns(sa.Text())),
            (0, 1, None, 0),
            refuses,
            statements.stride_of(weights, place)[0],
            0,
            0,
        )
        for place, column in enumerate(COLUMNS[:2])
    }
    suppressed = table("suppressed", suppressed_columns(len(weights)))
    target = table("made", [sa.Column(column.name, sa.Text) for column in COLUMNS])
    how = DIALECTS[name]
    return release_into(
        target,
        records,
        labelled,
        suppressed,
        drop=False,
        ordered=how.ordered,
        in_order=how.in_order,
        once=how.once,
    )


def written(name, statement):
    of = dialect(name)
    return re.sub(r"\s+", " ", str(statement(of).compile(dialect=of)))


def read(name, text):
    """Read a statement by a parser of its language, to the end, as one."""
    (parsed,) = sqlglot.parse(re.sub(r"%\((\w+):\w+\)s", r"@\1", text), read=NAMES[name])
    assert not isinstance(parsed, sqlglot.exp.Command)
    return parsed


RANDOM = {
    "postgresql": "sha256(uuid_send((SELECT gen_random_uuid())) || int8send(row_number() OVER ()))",
    "mariadb": "RANDOM_BYTES(16)",
    "mssql": "CRYPT_GEN_RANDOM(16) OFFSET ? ROWS",
    "oracle": "DBMS_CRYPTO.RANDOMBYTES(16)",
    "snowflake": "SHA2(? || UUID_STRING(), 256)",
    "bigquery": "SHA256(CONCAT(%(param:STRING)s, GENERATE_UUID()))",
    "trino": "HMAC_SHA256(TO_UTF8(CAST(UUID() AS VARCHAR)), TO_UTF8(?))",
}
BYTES = {
    "postgresql": 'COLLATE "C"',
    "mariadb": "USING utf8mb4) COLLATE utf8mb4_nopad_bin",
    "mssql": "+ N'|') COLLATE Latin1_General_100_BIN2",
    "oracle": "COLLATE BINARY",
    "snowflake": "COLLATE(records.\"order\", 'utf8')",
    "bigquery": "COLLATE(`records`.`order`, '')",
    "trino": 'CAST(records."order" AS VARCHAR)',
}


@pytest.mark.parametrize("name", only(DIALECTS, lambda name: name in HERE or name not in LANGUAGES))
def test_texts_are_compared_by_bytes_and_the_order_is_secret_and_last(name):
    text = written(name, lambda of: release(name, of))
    assert BYTES[name] in text
    ordered = re.sub(r"param_\d+", "param", text[text.rindex("ORDER BY") :].strip())
    if name == "postgresql":
        # by keys that are worked out beside the columns, and in the same order
        assert ordered == "ORDER BY ordered.key0, ordered.key1"
        ordered = text[text.index("SELECT CASE WHEN") : text.index(" AS key1")]
    assert ordered.endswith(RANDOM[name])
    # one number for both quasi-identifiers
    assert ordered.count("CASE WHEN") == 1
    parsed = read(name, text)
    assert parsed.expression.args["order"] is not None
    # a name of the language is quoted
    assert not re.search(r"(?<![\"`\[])\border\b(?![\"`\]])", text)


@pytest.mark.parametrize("name", only(DIALECTS, lambda name: name in HERE or name not in LANGUAGES))
def test_the_sums_of_a_fingerprint_are_read_to_their_end(name):
    text = written(name, lambda of: DIALECTS[name].sums(statements.source_of(Relation(table="stays"), COLUMNS, of)))
    parsed = read(name, text)
    assert len(parsed.expressions) == 5
    for column in ("age", "order", "dose"):
        assert column in text


@given(st.lists(st.tuples(st.integers(1, 2**40), st.integers(0), st.integers(0)), min_size=1, max_size=8))
def test_numbers_of_classes_differ_where_classes_do_and_sort_alike(columns):
    """Of any two rows of codes, however many bits all of them together have."""
    sizes = [size for size, _, _ in columns]
    one, other = ([column[place] % column[0] for column in columns] for place in (1, 2))
    weights = statements.strides(sizes)
    numbers = [[sum(map(mul, row, some)) for row in weights] for some in (one, other)]
    assert (numbers[0] == numbers[1], numbers[0] < numbers[1]) == (one == other, one < other)
    assert all(0 <= number < 2**63 for some in numbers for number in some)
    # as few as there can be, taken in order
    if math.prod(sizes) < 2**63:
        assert len(weights) == 1


def test_codes_that_do_not_fit_into_one_number_are_compared_by_several():
    text = written("postgresql", lambda of: release("postgresql", of, codes=2**40))
    assert "research.suppressed.class0 = labelled.class0 AND research.suppressed.class1 = labelled.class1" in text


def test_where_no_value_is_refused_no_record_is_asked_for_it():
    """Nine numbers would be carried along and added up for each record."""
    texts = [
        written("postgresql", lambda of, refuses=refuses: release("postgresql", of, refuses=refuses))
        for refuses in (True, False)
    ]
    assert ["labelled.refused > " in text for text in texts] == [True, False]
    assert ["ELSE labels1.refused END" in text for text in texts] == [True, False]


@pytest.mark.thorough
def test_a_secret_is_new_for_each_statement():
    of = dialect("snowflake")
    keys = {str(release("snowflake", of).compile(dialect=of).params) for _ in range(2)}
    assert len(keys) == 2


def test_a_dialect_that_is_not_known_compiles_to_an_error():
    records = statements.source_of(Relation(table="stays"), COLUMNS, sqlite.dialect())
    with pytest.raises(
        sa.exc.CompileError, match="the statements of sqlite are not known; known are those of postgresql"
    ):
        str(statements.figures_of(records.c.order, [], 2).compile(dialect=sqlite.dialect()))


@pytest.mark.parametrize("name", ["sqlite", "mysql", *(one for one in DIALECTS if one not in PROVEN)])
def test_a_database_in_which_no_job_was_run_is_refused_with_the_reason(name):
    with pytest.raises(
        AirflowFailException, match=f"runs in postgresql and mariadb, and .* of {name}: .*; set backend"
    ):
        proven_dialect(name)


@pytest.mark.parametrize("name", only(DIALECTS, lambda name: name in HERE or name not in LANGUAGES))
def test_names_of_helper_tables_are_short_enough(name):
    """A server would cut longer ones, or refuse them; SQL Server has 116 characters for a table of the session."""
    longest = f"{DIALECTS[name].temporary_name}load_{'0' * 16}_suppressed"
    assert len(longest) <= min(63, dialect(name).max_identifier_length or 63)


def test_what_is_made_inside_a_database_can_be_published_there():
    assert set(PROVEN) == set(MADE_INSIDE)
