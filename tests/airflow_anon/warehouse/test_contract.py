"""Inside the warehouse the same is released as from extracted records: levels, suppressed records, sorted output."""

from __future__ import annotations

import csv
import itertools
from collections import Counter

import pyarrow.parquet as pq
import pytest

from airflow_anon.transport.relation import Relation
from engine.tables.sources.column_text import as_text
from tests.airflow_anon.warehouse.inside import agree, by_sql, connect, execute, table
from tests.profiles import only, spread

pytestmark = [pytest.mark.postgres]
pytest.importorskip("duckdb", reason="needs the extra 'duckdb'")


@pytest.fixture
def engine(monkeypatch, postgres_database):
    return connect(monkeypatch, postgres_database)


def job_of(quasi_identifiers, others=(), **changes):
    """Return a job; quasi-identifiers may be given with their entries."""
    entries = quasi_identifiers if isinstance(quasi_identifiers, dict) else {name: {} for name in quasi_identifiers}
    attributes = {
        name: {"role": "quasi-identifying", "hierarchy": "hierarchy.csv", "unseen": "root", **entry}
        for name, entry in entries.items()
    }
    attributes |= dict(others) if isinstance(others, dict) else {name: {"role": "insensitive"} for name in others}
    return {
        "name": "contract",
        "unit": "record",
        "attributes": attributes,
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "suppression_limit": 0.6,
        "allow_empty_information": True,
        **changes,
    }


VALUES = {
    "text": ("text", ["'a'", "''", "NULL", "'ä'", "'a '", "'A'", "'日本'", "'é'", "'é'", "'*'", "'%:x'"]),
    "own collation": ('text COLLATE "pg_c_utf8"', ["'a'", "'A'", "'b'", "NULL", "'B'"]),
    "padded": ("char(4)", ["'a'", "'a  '", "'ab'", "NULL", "''"]),
    "varying": ("varchar(9)", ["'a'", "'a '", "NULL"]),
    "flag": ("boolean", ["true", "false", "NULL"]),
    "double": ("double precision", ["0.0", "'-0'", "'NaN'", "1", "NULL", "1.5", "1e300", "'Infinity'", "0.1"]),
    "single": ("real", ["0.0", "'-0'", "0.1", "1", "NULL", "1e30"]),
    "small": ("smallint", ["1", "-1", "NULL", "3"]),
    "big": ("bigint", ["9223372036854775807", "1", "NULL"]),
    "decimal": ("numeric(10, 2)", ["1.10", "0", "-1", "2.5", "NULL"]),
    "any number": ("numeric", ["1.10", "1.1", "-1", "2.5", "NULL"]),
    "date": ("date", ["'2026-01-01'", "'1850-12-31'", "NULL"]),
    "moment": ("timestamp", ["'2026-01-01'", "'2026-01-01 12:30:00.123456'", "NULL"]),
    "moment with zone": (
        "timestamptz",
        ["'2026-03-29 01:30+01'", "'2026-03-29 00:30+00'", "'2026-03-29 03:30+02'", "NULL"],
    ),
    "time": ("time", ["'00:00'", "'12:30:00.5'", "NULL"]),
    "uuid": ("uuid", ["'00000000-0000-0000-0000-000000000001'", "NULL"]),
}


@pytest.mark.parametrize("kind", spread(VALUES, 8))
def test_a_column_of_any_type_is_grouped_and_written_alike(engine, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    type_, values = VALUES[kind]
    execute(
        engine,
        f"CREATE TABLE source (q {type_}, s {type_}, few text)",
    )
    listed = [(value, value, "'x'" if place % 2 else "'y'") for place, value in enumerate(values)]
    rows = ", ".join(f"({', '.join(cells)})" for cells in listed * 2).replace("%", "%%")
    execute(engine, f"INSERT INTO source VALUES {rows}")
    (tmp_path / "hierarchy.csv").write_text("never;*\n", encoding="utf-8")
    others = {"s": {"role": "sensitive", "accept": "unique"}, "few": {"role": "insensitive"}}
    found = agree(engine, table("source"), job_of(["q"], others), tmp_path)
    assert isinstance(found[0], dict), found
    # and as its own value, where every pair of equal records is a class
    texts = as_text(pq.read_table(tmp_path / "source.parquet")["q"].combine_chunks(), "q").to_pylist()
    with (tmp_path / "values.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows((text, "*") for text in sorted({*texts} - {None}))
    entry = {"hierarchy": "values.csv", "unseen": "error", "maximum_level": 0}
    found = agree(engine, table("source"), job_of({"q": entry}, others, suppression_limit=0), tmp_path)
    assert isinstance(found[0], dict), found
    assert Counter(row["q"] for row in found[3]) == Counter(texts)


ODD = ["select", 'with "quotes"', "Mixed Case", "ünï", "n", "a.b", "count", "place", "it's", "line\nbreak", "50%", ":x"]


def test_columns_tables_and_schemas_of_any_name(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quoted = ['"' + name.replace('"', '""').replace("%", "%%") + '"' for name in ODD]
    rows = ", ".join(f"({', '.join([value] * len(ODD))})" for value in ["'x'", "'y'"] * 6 + ["NULL", "'z'"])
    execute(
        engine,
        'CREATE SCHEMA "Clinic %% of"',
        f'CREATE TABLE "Clinic %% of"."Order" ({", ".join(f"{name} text" for name in quoted)})',
        f'INSERT INTO "Clinic %% of"."Order" VALUES {rows}',
    )
    (tmp_path / "hierarchy.csv").write_text("x;*\ny;*\nz;*\n")
    document = job_of(ODD[:5], ODD[5:], suppression_limit=1.0)
    found = agree(engine, table('"Clinic % of"."Order"'), document, tmp_path)
    assert [name for name, _ in found[1]] == ODD


def test_a_query_is_read_as_it_is_written(engine, tmp_path, monkeypatch):
    """With casts, texts that look like parameters, and a comment at its end."""
    monkeypatch.chdir(tmp_path)
    execute(engine, "CREATE TABLE source (q int)", "INSERT INTO source SELECT i %% 3 FROM generate_series(1, 30) i")
    (tmp_path / "hierarchy.csv").write_text("a :b % 0;*\na :b % 1;*\na :b % 2;*\n")
    query = "SELECT 'a :b % ' || q::text AS q, '12:30'::time AS t FROM source -- 100% :all"
    found = agree(engine, Relation(query=query), job_of(["q"], ["t"]), tmp_path)
    assert found[0]["rows"] == 30


@pytest.mark.parametrize(
    "setting", ["TimeZone = 'Europe/Berlin'", "DateStyle = 'ISO, DMY'", "IntervalStyle = 'iso_8601'"]
)
def test_settings_of_a_role_say_what_a_view_means(engine, tmp_path, monkeypatch, setting):
    """On which day a moment is, and which number of a date is its month."""
    monkeypatch.chdir(tmp_path)
    execute(
        engine,
        "CREATE TABLE stays AS SELECT timestamptz '2026-03-01 22:50+00' + i %% 3 * interval '20 minutes' AS moment, "
        "'03.04.0' || 1 + i %% 3 AS born, i %% 4 * interval '1 day' AS stayed FROM generate_series(1, 60) i",
        "CREATE VIEW source AS SELECT moment::date AS q, moment::text AS told, to_char(moment, 'HH24:MI') AS hour, "
        "(CASE WHEN born LIKE '%%.%%' THEN born END)::date AS born, stayed::text AS days, moment FROM stays",
        f'ALTER DATABASE "{engine.url.database}" SET {setting}',
    )
    (tmp_path / "hierarchy.csv").write_text("2026-03-01;*\n2026-03-02;*\n")
    found = agree(engine, table("source"), job_of(["q"], ["told", "hour", "born", "days", "moment"]), tmp_path)
    assert found[0]["released"] == 60
    assert len(set(map(str, found[3]))) == 1 + setting.startswith("TimeZone")


def test_an_empty_table_is_refused(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    execute(engine, "CREATE TABLE source (q text)")
    (tmp_path / "hierarchy.csv").write_text("x;*\n")
    kind, text = by_sql(engine, table("source"), job_of(["q"]))
    assert kind == "InvalidData"
    assert text.startswith("the table is empty")


def test_missing_values_that_are_refused_are_counted_alike(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    execute(
        engine,
        "CREATE TABLE source (q text, s text, i text)",
        "INSERT INTO source SELECT v.* FROM generate_series(1, 2), "
        "(VALUES ('a', 'u', 'x'), (NULL, NULL, NULL), ('?', '?', 'y'), ('a', 'v', '')) v",
    )
    (tmp_path / "hierarchy.csv").write_text("a;*\n")
    document = job_of({"q": {"nulls": "error", "missing": ["?"]}})
    document["attributes"] |= {
        "s": {"role": "sensitive", "nulls": "error", "missing": ["?"]},
        "i": {"role": "insensitive", "nulls": "error"},
    }
    _, text = agree(engine, table("source"), document, tmp_path)
    assert "'q': missing values: 4, column 's': missing values: 4, column 'i': missing values: 2" in text


def test_values_without_an_entry_are_counted_alike(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    execute(
        engine, "CREATE TABLE source (q text)", "INSERT INTO source VALUES ('a'), ('b'), ('new'), ('newer'), ('new')"
    )
    (tmp_path / "hierarchy.csv").write_text("a;*\nb;*\n")
    document = job_of({"q": {"unseen": "error"}})
    assert (
        "its hierarchy has no entry for 2 of the distinct values, in 3 of the records"
        in agree(engine, table("source"), document, tmp_path)[1]
    )


STAYS = """INSERT INTO source SELECT i %% 40, 'z' || i %% 3, 'd' || i %% 7, i %% 9, 1.5 * (i %% 4), i
FROM generate_series(0, 399) i UNION ALL SELECT 99, 'z9', 'd0', 1, NULL, -1 FROM generate_series(1, 3)"""
MODELS = {
    "l": [{"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2}],
    "t": [{"model": "t-closeness", "distance": "equal", "attribute": "s", "t": 0.6}],
    "ordered t": [{"model": "t-closeness", "distance": "ordered", "attribute": "score", "t": 0.5}],
    "two attributes": [
        {"model": "l-diversity", "variant": "recursive", "attribute": "s", "c": 4, "l": 2},
        {"model": "l-diversity", "variant": "shannon-entropy", "attribute": "score", "l": 1.5},
    ],
    "beta": [{"model": "beta-likeness", "variant": "enhanced", "attribute": "s", "beta": 3.0}],
}


@pytest.mark.parametrize(
    ("models", "suppressed"),
    only(itertools.product(MODELS, ["star", "drop"]), lambda case: case[1] == "star" or case[0] == next(iter(MODELS))),
)
def test_sensitive_values_weights_and_suppressed_records(engine, tmp_path, monkeypatch, models, suppressed):
    """With values without an entry, and a class of suppressed records."""
    monkeypatch.chdir(tmp_path)
    execute(
        engine,
        "CREATE TABLE source (age int, zip text, s text, score int, dose float8, cost int)",
        STAYS,
    )
    (tmp_path / "zip.csv").write_text("z0;Z;*\nz1;Z;*\nz2;Y;*\n")
    document = job_of(
        {
            "age": {"hierarchy": {"builder": "interval", "widths": [10, 20]}, "weight": 2.0, "unseen": "error"},
            "zip": {"hierarchy": "zip.csv", "unseen": "suppress"},
        },
        {
            "s": {"role": "sensitive"},
            "score": {"role": "sensitive"},
            "dose": {"role": "sensitive"},
            "cost": {"role": "insensitive", "accept": "unique"},
        },
        suppression_limit=0.3,
        privacy=[{"model": "k-anonymity", "k": 3}, *MODELS[models]],
        output={"suppressed": suppressed},
    )
    found = agree(engine, table("source"), document, tmp_path)
    assert isinstance(found[0], dict), found
    assert found[0]["solution"]["suppressed"] >= 3


def test_a_population_in_a_file(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    execute(
        engine,
        "CREATE TABLE source (age int, zip text)",
        "INSERT INTO source SELECT i %% 10, 'z' || i %% 2 FROM generate_series(1, 60) i",
    )
    (tmp_path / "hierarchy.csv").write_text("".join(f"{age};{age // 5};*\n" for age in range(12)))
    (tmp_path / "zip.csv").write_text("z0;*\nz1;*\nz2;*\n")
    people = [f"{age},z{place}\n" for age in range(11) for place in range(3) for _ in range(1 + age % 4)]
    (tmp_path / "people.csv").write_text("age,zip\n" + "".join(people))
    document = job_of(
        {"age": {"unseen": "error"}, "zip": {"hierarchy": "zip.csv", "unseen": "error"}},
        privacy=[{"model": "k-map", "k": 4, "population": "people.csv"}, {"model": "k-anonymity", "k": 2}],
    )
    found = agree(engine, table("source"), document, tmp_path)
    assert isinstance(found[0], dict), found
