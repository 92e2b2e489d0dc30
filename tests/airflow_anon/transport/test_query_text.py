"""What may be told of a query: no literal, whatever dialect it is in."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_anon.transport.query_text import what_was_read, without_literals
from tests.profiles import examples

PLANTED = "Zq7Roe"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT age\n  FROM person", "SELECT age FROM person"),
        ("SELECT age FROM t2 WHERE day = '2026-03-01' LIMIT 10", "SELECT age FROM t2 WHERE day = '...' LIMIT ..."),
        (
            "SELECT a.b, c FROM x WHERE a.b>-1.5e3 AND n IN (1,.5)",
            "SELECT a.b, c FROM x WHERE a.b>-... AND n IN (...,...)",
        ),
        ("SELECT 'it''s', $x$ any ' $x$, E'a' -- Jane\nFROM t /* Roe */", "SELECT '...', '...', E'...' FROM t"),
        ("SELECT 'a -- b' FROM t", "SELECT '...' FROM t"),
        ("SELECT 'open FROM t", None),
        (r"SELECT 'a\'b', 'c\'d' FROM t", None),
        ("SELECT a FROM t # Jane\n", None),
        ("SELECT `the age` FROM t WHERE n = 'Jane'", "SELECT `the age` FROM t WHERE n = '...'"),
        ("SELECT `a'b` FROM t WHERE n = 'Jane' AND `c'd` = 1", None),
        ("SELECT a /* x /* y */ Jane */ FROM t", None),
    ],
)
def test_literals_are_withheld(query, told):
    assert without_literals(query, quotes_names=True) == told


def test_double_quotes_are_names_in_postgresql_and_may_be_texts_elsewhere():
    query = 'SELECT "BMI 30" FROM "Per""son"'
    assert without_literals(query, quotes_names=True) == query
    assert without_literals(query, quotes_names=False) == "SELECT '...' FROM '...'"


LITERALS = st.sampled_from(
    [f"'{PLANTED}'", f"'{PLANTED}''s'", f"$${PLANTED}$$", f"$q${PLANTED}$q$", f"-- {PLANTED}\n", f"/* {PLANTED} */"]
)
PIECES = st.sampled_from(
    ["SELECT", " ", ",", "age", "'", '"', "$$", "$q$", "--", "/*", "*/", "\n", "\\'", "''", "1", "."]
)


@settings(max_examples=examples(500))
@given(st.lists(LITERALS | PIECES, max_size=12))
def test_what_is_left_never_has_a_literal_that_stands_in_the_open(parts):
    """A literal may be cut by what is around it; then nothing is told, or what is left is not of it."""
    told = without_literals(" ".join(parts), quotes_names=False)
    balanced = all(part not in {"'", '"', "$$", "$q$", "--", "/*", "*/", "\\'"} for part in parts)
    assert not balanced or (told is not None and PLANTED not in told)


def test_the_hash_is_of_the_whole():
    query = "SELECT age FROM person WHERE day = '2026-03-01'"
    assert what_was_read(None, query, "postgresql") == {
        "table": None,
        "query": "SELECT age FROM person WHERE day = '...'",
        "query_sha256": hashlib.sha256(query.encode()).hexdigest(),
    }
    assert what_was_read("clinic.person", None, "sqlite") == {
        "table": "clinic.person",
        "query": None,
        "query_sha256": None,
    }
