"""Persons are counted inside the warehouse as elsewhere: levels, suppressed records, persons, figures, sorted output."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.airflow_anon.warehouse.inside import agree, by_file, by_sql, connect, execute, extracted, table, tables

pytestmark = [pytest.mark.postgres]
pytest.importorskip("duckdb", reason="needs the extra 'duckdb'")


@pytest.fixture
def engine(monkeypatch, postgres_database):
    return connect(monkeypatch, postgres_database)


def rows_of(seed, people, most):
    """Return records of made-up visits: a person has an age and an area, and a ward and a diagnosis per visit."""
    chance = random.Random(seed)
    rows = []
    for person in range(people):
        age, area = chance.randrange(40), chance.randrange(4)
        rows += [
            (f"p{person}", age, f"8{area}", f"w{chance.randrange(3)}", chance.choice(["a", "b", "c", "d", None]))
            for _ in range(chance.randint(1, most))
        ]
    return rows


def filled(engine, rows, kind="text"):
    execute(
        engine,
        f'CREATE TABLE source (mrn {kind}, age int, zip text COLLATE "pg_c_utf8", ward text, dx text)',
    )
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO source VALUES (%s, %s, %s, %s, %s)", rows)


def job_of(privacy=(), **changes):
    return {
        "name": "persons",
        "subject": "mrn",
        "attributes": {
            "mrn": {"role": "identifying"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10, 20]}},
            "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 2}},
            "ward": {"role": "insensitive"},
            "dx": {"role": "sensitive"},
        },
        "privacy": [{"model": "k-anonymity", "k": 3}, *privacy],
        "suppression_limit": 0.4,
        **changes,
    }


DISTINCT = {"model": "l-diversity", "variant": "distinct", "attribute": "dx", "l": 2}
CLOSE = {"model": "t-closeness", "distance": "equal", "attribute": "dx", "t": 0.5}
JOBS = {
    "any-row": job_of(),
    "drop": job_of(output={"suppressed": "drop"}),
    "diverse": job_of([DISTINCT]),
    "entropy": job_of([{"model": "l-diversity", "variant": "shannon-entropy", "attribute": "dx", "l": 2}]),
    "close": job_of([CLOSE]),
    "beta": job_of([{"model": "beta-likeness", "variant": "basic", "attribute": "dx", "beta": 3}]),
    "disclosure": job_of([{"model": "delta-disclosure-privacy", "attribute": "dx", "delta": 4}]),
    "one row": job_of([DISTINCT], knows={"rows": 1}),
    "two rows": job_of(knows={"rows": 2}),
    "all rows": job_of([CLOSE], knows="all-rows", suppression_limit=0.9),
}


@pytest.mark.parametrize("name", list(JOBS))
def test_persons_are_counted_as_elsewhere(engine, tmp_path, name):
    filled(engine, rows_of(7, 120, 4))
    document = JOBS[name]
    found = agree(engine, table("source"), document, tmp_path)
    assert isinstance(found[0], dict), found
    print(found[0]["persons"], found[0]["solution"])
