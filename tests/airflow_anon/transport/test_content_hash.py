"""The hash of a table's content: the same from a file and from each database, and another after any change."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_anon.ledger.form_publication import Content
from airflow_anon.ledger.table_check import read_table
from airflow_anon.share.sql_content import content_of
from airflow_anon.share.sql_share import SqlShare
from airflow_anon.transport.connection import hook_of
from airflow_anon.transport.content_hash import ContentHash
from tests.airflow_anon.nights.night import connection_of
from tests.conftest import empty_database
from tests.profiles import examples
from tests.reference.content_hash import content_hash, content_hash_by_sums

NAIVE = dt.datetime.fromisoformat("2026-03-29T02:30:00")
EVERY_KIND = pa.table(
    {
        "text": ["", "größer", None],
        "a%b": ["'", '"', "\\"],
        "code": pa.array(["x", "y", None]).dictionary_encode(),
        "integer": [2**63 - 1, -(2**63), None],
        "small": pa.array([1, 2, None], pa.uint8()),
        "number": [0.1, float("inf"), None],
        "nan": [float("nan"), -0.0, 1e-300],
        "single": pa.array([0.1, 16777217.0, None], pa.float32()),
        "boolean": [True, False, None],
        "decimal": pa.array([Decimal("1.50"), Decimal("-99999999999999999999999999.99"), None], pa.decimal128(38, 2)),
        "date": [dt.date(1, 1, 1), dt.date(9999, 12, 31), None],
        "time": [dt.time(0, 0), dt.time(23, 59, 59, 999999), None],
        "moment": [NAIVE, NAIVE.replace(year=1900, microsecond=1), None],
        "zoned": pa.array(
            [NAIVE.replace(tzinfo=dt.timezone.utc), NAIVE.replace(year=1970, tzinfo=dt.timezone.utc), None],
            pa.timestamp("us", tz="Europe/Zurich"),
        ),
        "bytes": [b"\x00\xff", b"", None],
        "empty": pa.nulls(3),
    }
)


def kinds(table):
    return dict.fromkeys(table, "text")


def hash_of(*records, columns=("a", "b")):
    content = ContentHash(kinds(columns), "s")
    if records:
        content.add(list(zip(*records, strict=True)))
    return content.hexdigest()


@pytest.mark.airflow
@pytest.mark.parametrize("use_adbc", [True, False])
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_a_table_of_every_kind_has_the_hash_of_its_file(request, tmp_path, monkeypatch, database, use_adbc):
    pq.write_table(EVERY_KIND, tmp_path / "data.parquet")
    url = f"sqlite:///{tmp_path}/share.db"
    if database == "postgresql":
        made = empty_database(request.getfixturevalue("postgres_url"))
        url = made.__enter__()
        request.addfinalizer(lambda: made.__exit__(None, None, None))
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(url))
    SqlShare(hook_of("share"), "kinds", use_adbc=use_adbc).publish("r1", "ab" * 32, tmp_path / "data.parquet", salt="s")
    content = content_of(tmp_path / "data.parquet", database, "s")
    found = read_table("share", "kinds", Content.model_validate(content.document()))
    assert (found.release_id, found.manifest_sha256) == ("r1", "ab" * 32)
    assert found.sha256 == content.hexdigest()


def test_order_and_batches_are_no_content():
    records = [(str(number % 7), str(number % 5)) for number in range(100)]
    shuffled = random.Random(1).sample(records, len(records))
    content = ContentHash(kinds("ab"), "s")
    for start in range(0, 100, 9):
        content.add(list(zip(*shuffled[start : start + 9], strict=True)))
    assert content.hexdigest() == hash_of(*records)


CELLS = {
    "text": st.none() | st.text('aé,"\\\n', max_size=3),
    "integer": st.none() | st.integers(-(2**63), 2**63 - 1),
    "number": st.none() | st.floats(),
    "moment": st.datetimes(),
}


@given(st.data(), st.integers(0, 200), st.sampled_from([1, 7, 1000]), st.sampled_from(["sorted", None]))
@settings(max_examples=examples(50))
def test_records_have_the_hash_that_is_defined(data, records, batch, method):
    columns = [data.draw(st.lists(cells, min_size=records, max_size=records)) for cells in CELLS.values()]
    kinds = {kind: kind for kind in CELLS}
    content = ContentHash(kinds, "salt", method=method)
    for start in range(0, records, batch):
        content.add([column[start : start + batch] for column in columns])
    defined = content_hash_by_sums if method is None else content_hash
    assert content.hexdigest() == defined(kinds, zip(*columns, strict=True), "salt")


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        # printf and openssl dgst: the columns, a new line, and the sorted digests of both texts, under the key s
        ("sorted", "109e9d493441abe4c4058209ae901578912826a0a600d51f4538cd78010b19fe"),
        (None, "523e02adc014bc3d8107cc396c0a6b16747e38667981c22475ff8785a4d4274b"),
    ],
)
def test_the_hash_of_a_release_of_before_is_still_that(method, expected):
    """Ledgers and tables keep it over upgrades: worked out from the definition, outside of this code."""
    content = ContentHash(kinds("ab"), "s", method=method)
    content.add([["größer", "x"], [None, "1"]])
    assert content.hexdigest() == expected


def test_more_records_than_memory_holds(monkeypatch):
    """Beyond one digest all wait in a file of temporary files."""
    monkeypatch.setattr("airflow_anon.transport.sorted_hashes.HELD", 33)
    records = [(str(number % 11), str(number)) for number in range(100)]
    content = ContentHash(kinds("ab"), "s")
    for start in range(0, 100, 7):
        content.add(list(zip(*records[start : start + 7], strict=True)))
    assert content.hexdigest() == content_hash(kinds("ab"), records, "s")


def test_more_distinct_values_than_are_remembered(monkeypatch):
    monkeypatch.setattr("airflow_anon.transport.content_hash.CACHED", 3)
    records = [(str(number % 11), str(number)) for number in range(100)]
    assert hash_of(*records) == content_hash(kinds("ab"), records, "s")


def test_how_often_a_record_occurs_is_content():
    """Also 65,536 times more often."""
    record = ("x", "y")
    once, twice = hash_of(record), hash_of(record, record)
    many = ContentHash(kinds("ab"), "s")
    many.add([["x"] * (1 + 2**16), ["y"] * (1 + 2**16)])
    assert len({once, twice, many.hexdigest(), hash_of()}) == 4


def test_cells_stay_in_their_record_and_column():
    assert len({hash_of(("1", "2"), ("3", "4")), hash_of(("1", "4"), ("3", "2")), hash_of(("2", "1"), ("4", "3"))}) == 3
    assert hash_of(("1,2", "3")) != hash_of(("1", "2,3"))
    assert hash_of(("1", "2")) != hash_of(("1", "2"), columns=("a", "c"))


@pytest.mark.parametrize(
    ("kind", "honest", "others"),
    [
        ("text", "1", [1, 1.0, b"1", None, "1 ", "null", ["1"], "null"]),
        ("integer", 1, [True, 1.0, "1", 2, None]),
        ("number", 1.0, [1, "1.0", 1.0000000000000002, None]),
        ("boolean", True, [False, "true", 2, None]),
        ("decimal", Decimal("1.5"), ["1.51", 1.5, "x", "NaN", None]),
        ("date", dt.date(2026, 3, 1), ["2026-03-02", "yesterday", NAIVE, None]),
        ("moment", NAIVE, ["2026-03-29 02:30:01", dt.date(2026, 3, 1), "x", None]),
        ("bytes", b"1", ["31", "1", None]),
    ],
)
def test_a_cell_of_another_value_or_kind_is_another_cell(kind, honest, others):
    def of(cell):
        content = ContentHash({"a": kind}, "s")
        content.add([[cell]])
        return content.hexdigest()

    assert of(honest) not in {of(other) for other in others}


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("decimal", Decimal("1.50"), "1.5"),
        ("number", 0.0, -0.0),
        ("boolean", True, 1),
        ("date", dt.date(2026, 3, 1), "2026-03-01"),
        ("moment", dt.datetime(2026, 3, 1, tzinfo=dt.timezone.utc), "2026-03-01 00:00:00.000000"),
        ("bytes", b"1", memoryview(b"1")),
    ],
)
def test_a_value_as_another_driver_gives_it_is_the_same(kind, first, second):
    def of(cell):
        content = ContentHash({"a": kind}, "s")
        content.add([[cell]])
        return content.hexdigest()

    assert of(first) == of(second)


def test_without_the_salt_a_guess_is_not_confirmed():
    """The ledger has the hash, and the salt stands beside the table."""
    guessed = ContentHash(kinds("ab"), "")
    guessed.add([["x"], ["y"]])
    assert guessed.hexdigest() != hash_of(("x", "y"))
