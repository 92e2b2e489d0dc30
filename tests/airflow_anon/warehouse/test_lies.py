"""A database that does other things than are known of it is refused, and if it is not, no release of it is bad."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import sqlalchemy as sa
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.dialects.mariadb import MARIADB
from airflow_anon.dialects.registry import DIALECTS
from airflow_anon.warehouse import warehouse as module
from engine import EngineError, run
from tests.airflow_anon.warehouse import on_mariadb
from tests.airflow_anon.warehouse.inside import execute, in_sql, inside, table, tables, written
from tests.profiles import spread

K = 3
DOCUMENT = {
    "name": "inside",
    "unit": "record",
    "attributes": {
        "q": {"role": "quasi-identifying", "hierarchy": "q.csv"},
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 5}},
        "dx": {"role": "sensitive", "accept": "unique"},
    },
    "privacy": [
        {"model": "k-anonymity", "k": K},
        {"model": "l-diversity", "variant": "distinct", "attribute": "dx", "l": 2},
    ],
    "suppression_limit": 0.3,
}
WORDS = ("i10", "I10", "i10 ", "e11", "E11")


@pytest.fixture
def engine(mariadb_server, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.csv").write_text("".join(f"{word};{word.strip().lower()};*\n" for word in WORDS))
    with on_mariadb.databases(mariadb_server, monkeypatch):
        made = on_mariadb.writing()
        # three records of each word, but one of a word that is another one but for its case; its diagnosis is rare
        rows = [f"('{word}', '8000{place % 2}', '{word}{place % 3}')" for word in WORDS[1:] for place in range(12)]
        execute(
            made,
            "CREATE TABLE source (q VARCHAR(9), zip VARCHAR(9), dx VARCHAR(20))",
            f"INSERT INTO source VALUES {', '.join([*rows, *['(NULL, NULL, NULL)'] * 4])}, ('i10', '80009', 'rare')",
        )
        yield made


def merged(sql, _):
    return f"CONVERT({sql} USING utf8mb4) COLLATE utf8mb4_general_ci"


def split(sql, _):
    return f"concat(convert({sql} using utf8mb4), '|', RAND())"


def swapped(asked):
    first, second, *others = asked.selected_columns
    return asked.with_only_columns(second, first, *others)


def halved(asked):
    return asked.limit(20)


def twice(asked):
    return sa.select(sa.union_all(asked.order_by(None), asked.order_by(None)).subquery("doubled"))


LIES = {
    "texts that differ in case are the same": {"bytewise": merged},
    "equal texts are different": {"bytewise": split},
    "one text stands for another": {"shown": lambda text, _: f"MAX(upper({text}))"},
    "random numbers are all alike": {"secret_random": lambda _: "'1'"},
    "the order is lost": {"in_order": lambda asked: asked.order_by(None)},
    "records are lost": {"in_order": halved},
    "columns are swapped": {"in_order": swapped},
    "records come twice": {"in_order": twice},
}
TRIED = tuple(LIES)[:5]
"""What is found before anything is counted."""


@pytest.mark.parametrize("lie", spread(TRIED, 3))
def test_a_database_that_does_other_things_is_refused_before_anything_is_counted(engine, monkeypatch, lie):
    monkeypatch.setitem(DIALECTS, "mariadb", replace(MARIADB, **LIES[lie]))
    with (
        pytest.raises(AirflowFailException, match=r"this server of mariadb .*; nothing was counted"),
        inside(engine, table("source"), DOCUMENT),
    ):
        pass
    assert tables(engine) == ["source"]


@pytest.mark.parametrize("lie", spread(list(LIES), 3))
def test_a_lie_that_nobody_tried_ends_in_no_bad_release(engine, monkeypatch, lie):
    """Its records are read and counted by the task: either it is refused, or what it holds meets the criteria."""
    monkeypatch.setattr(module, "try_expressions", lambda *_: None)
    monkeypatch.setitem(DIALECTS, "mariadb", replace(MARIADB, **LIES[lie]))
    with inside(engine, table("source"), DOCUMENT) as warehouse:
        try:
            result = run(in_sql(DOCUMENT), warehouse)
        except (EngineError, sa.exc.SQLAlchemyError):
            return
        if result._refusal is not None:
            return
        records = written(warehouse).to_pylist()
    classes = Counter((row["q"], row["zip"]) for row in records)
    classes.pop(("*", "*"), None)
    assert min(classes.values()) >= K
    values = {(row["q"], row["zip"], row["dx"]) for row in records}
    assert min(Counter(value[:2] for value in values if value[:2] in classes).values()) >= 2
    assert len(records) == result.report["released"]


def test_a_table_that_keeps_what_is_rolled_back_is_refused(engine, monkeypatch):
    """As where the server makes tables without transactions whatever it is asked for."""
    monkeypatch.setattr(sa.engine.Connection, "rollback", lambda self: self.commit())
    with (
        pytest.raises(AirflowFailException, match="does not take back what a transaction has changed"),
        inside(engine, table("source"), DOCUMENT) as warehouse,
    ):
        run(in_sql(DOCUMENT), warehouse)
