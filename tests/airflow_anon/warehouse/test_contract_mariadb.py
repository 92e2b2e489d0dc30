"""Inside MariaDB the same is released as from extracted records, whatever its collations hold for the same."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter

import pyarrow.parquet as pq
import pytest

from airflow_anon.transport.relation import Relation
from engine.tables.sources.column_text import as_text
from tests.airflow_anon.warehouse import on_mariadb
from tests.airflow_anon.warehouse.inside import agree, by_sql, execute, inside, table
from tests.airflow_anon.warehouse.test_contract import MODELS, job_of
from tests.profiles import spread

pytest.importorskip("duckdb", reason="needs the extra 'duckdb'")


@pytest.fixture
def engine(mariadb_server, monkeypatch):
    with on_mariadb.databases(mariadb_server, monkeypatch):
        yield on_mariadb.writing()


TEXTS = [
    "'it''s \\ \"so\"'",
    "'🙂'",
    "'a'",
    "''",
    "NULL",
    "'ä'",
    "'a '",
    "'A'",
    "'日本'",
    "'é'",
    "'é'",
    "'*'",
    "'%%:x'",
    "'ß'",
    "'ss'",
    "' a'",
]
VALUES = {
    "text": ("VARCHAR(20)", TEXTS),
    "text of another collation": ("TEXT COLLATE utf8mb4_unicode_ci", TEXTS),
    "text of another character set": ("VARCHAR(20) CHARACTER SET latin1", ["'a'", "'A'", "'é'", "'e'", "'a '", "NULL"]),
    "padded": ("CHAR(4)", ["'a'", "'a  '", "'ab'", "NULL", "''"]),
    "long text": ("LONGTEXT", ["repeat('a', 300)", "concat(repeat('a', 300), ' ')", "repeat('A', 300)", "NULL"]),
    "kind": ("ENUM('calm', 'Calm?', '')", ["'calm'", "'Calm?'", "''", "NULL"]),
    "uuid": ("UUID", ["'00000000-0000-0000-0000-000000000001'", "NULL"]),
    "flag": ("BOOLEAN", ["TRUE", "FALSE", "NULL"]),
    "double": ("DOUBLE", ["0.0", "-1e-300", "1", "NULL", "1.5", "1e300", "0.1", "0.1 + 1e-17"]),
    "single": ("FLOAT", ["0.0", "0.1", "16777215", "16777216", "NULL", "1e30"]),
    "small": ("SMALLINT", ["1", "-1", "NULL", "3"]),
    "unsigned": ("INT UNSIGNED", ["4294967295", "0", "NULL"]),
    "big": ("BIGINT", ["9223372036854775807", "-9223372036854775808", "NULL"]),
    "decimal": ("DECIMAL(10, 2)", ["1.10", "0", "-1", "2.5", "NULL"]),
    "long decimal": ("DECIMAL(50, 1)", ["1.1", "-1", "NULL"]),
    "date": ("DATE", ["'2026-01-01'", "'1850-12-31'", "NULL"]),
    "moment": ("DATETIME(6)", ["'2026-01-01'", "'2026-01-01 12:30:00.123456'", "NULL"]),
    "moment in UTC": ("TIMESTAMP NULL", ["'2026-03-29 01:30:00'", "'2026-03-29 00:30:00'", "NULL"]),
    "time": ("TIME(6)", ["'00:00'", "'12:30:00.5'", "'23:59:59'", "NULL"]),
    "year": ("YEAR", ["2026", "1999", "NULL"]),
    "bits": ("BIT(3)", ["b'101'", "b'001'", "NULL"]),
}


@pytest.mark.parametrize("kind", spread(VALUES, 4))
def test_a_column_of_any_type_is_grouped_and_written_alike(engine, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    type_, values = VALUES[kind]
    execute(engine, f"CREATE TABLE source (q {type_}, s {type_}, few TEXT)")
    listed = [(value, value, "'x'" if place % 2 else "'y'") for place, value in enumerate(values)]
    rows = ", ".join(f"({', '.join(cells)})" for cells in listed * 2)
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


ODD = ["select", 'with "quotes"', "Mixed Case", "ünï", "n", "a.b", "count", "place", "it's", "50%", ":x", "a`b", "key"]


def test_columns_and_tables_of_any_name(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quoted = ['"' + name.replace('"', '""').replace("%", "%%") + '"' for name in [*ODD, "x" * 64]]
    rows = ", ".join(f"({', '.join([value] * len(quoted))})" for value in ["'x'", "'y'"] * 6 + ["NULL", "'z'"])
    execute(
        engine,
        f'CREATE TABLE "Order %% of" ({", ".join(f"{name} TEXT" for name in quoted)})',
        f'INSERT INTO "Order %% of" VALUES {rows}',
    )
    (tmp_path / "hierarchy.csv").write_text("x;*\ny;*\nz;*\n")
    document = job_of(ODD[:5], [*ODD[5:], "x" * 64], suppression_limit=1.0)
    found = agree(engine, table('"Order % of"'), document, tmp_path)
    assert [name for name, _ in found[1]] == [*ODD, "x" * 64]


def test_a_query_is_read_as_it_is_written(engine, tmp_path, monkeypatch):
    """With casts, texts that look like parameters, and a comment at its end."""
    monkeypatch.chdir(tmp_path)
    execute(engine, "CREATE TABLE source (q INT)", "INSERT INTO source SELECT seq %% 3 FROM seq_1_to_30")
    (tmp_path / "hierarchy.csv").write_text("a :b % 0;*\na :b % 1;*\na :b % 2;*\n")
    query = "SELECT concat('a :b % ', q) AS q, CAST('12:30' AS TIME) AS t FROM source -- 100% :all"
    found = agree(engine, Relation(query=query), job_of(["q"], ["t"]), tmp_path)
    assert found[0]["rows"] == 30


def test_an_empty_table_is_refused(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    execute(engine, "CREATE TABLE source (q TEXT)")
    (tmp_path / "hierarchy.csv").write_text("x;*\n")
    kind, text = by_sql(engine, table("source"), job_of(["q"]))
    assert (kind, text.startswith("the table is empty")) == ("InvalidData", True)


def test_missing_values_that_are_refused_are_counted_alike(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    execute(
        engine,
        "CREATE TABLE source (q TEXT, s TEXT, i TEXT)",
        *["INSERT INTO source VALUES ('a', 'u', 'x'), (NULL, NULL, NULL), ('?', '?', 'y'), ('a', 'v', '')"] * 2,
    )
    (tmp_path / "hierarchy.csv").write_text("a;*\n")
    document = job_of({"q": {"nulls": "error", "missing": ["?"]}})
    document["attributes"] |= {
        "s": {"role": "sensitive", "nulls": "error", "missing": ["?"]},
        "i": {"role": "insensitive", "nulls": "error"},
    }
    _, text = agree(engine, table("source"), document, tmp_path)
    assert "'q': missing values: 4, column 's': missing values: 4, column 'i': missing values: 2" in text


STAYS = """INSERT INTO source
SELECT seq %% 40, concat('z', seq %% 3), concat('d', seq %% 7), seq %% 9, 1.5 * (seq %% 4), seq FROM seq_0_to_399
UNION ALL SELECT 99, 'z9', 'd0', 1, NULL, -1 FROM seq_1_to_3"""


@pytest.mark.parametrize(("models", "suppressed"), [("two attributes", "star"), ("t", "drop")])
def test_sensitive_values_and_suppressed_records(engine, tmp_path, monkeypatch, models, suppressed):
    """With values without an entry, and a class of suppressed records."""
    monkeypatch.chdir(tmp_path)
    execute(engine, "CREATE TABLE source (age INT, zip TEXT, s TEXT, score INT, dose DOUBLE, cost INT)", STAYS)
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
        privacy=[{"model": "k-anonymity", "k": 3}, *MODELS[models]],
        output={"suppressed": suppressed},
    )
    found = agree(engine, table("source"), document, tmp_path)
    assert isinstance(found[0], dict), found


def test_the_sums_of_a_fingerprint_are_those_of_the_records(engine):
    """Of SHA-256 over each record: whether a cell is missing, and the bytes of its text."""
    records = [("a", 1), ("a ", None), (None, 3), ("", 4), ("ä,n", -5)]
    execute(engine, "CREATE TABLE source (q TEXT, n INT)")
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO source VALUES (%s, %s)", records)
    with inside(engine, table("source"), job_of(["q"], ["n"])) as warehouse:
        found = tuple(int(one) for one in warehouse.sums)
    cells = [["n" if cell is None else "v" + str(cell).encode().hex().upper() for cell in one] for one in records]
    digests = [hashlib.sha256(",".join(one).encode()).hexdigest() for one in cells]
    parts = [sum(int(digest[start : start + 16], 16) for digest in digests) for start in range(0, 64, 16)]
    assert found == (len(records), *parts)
