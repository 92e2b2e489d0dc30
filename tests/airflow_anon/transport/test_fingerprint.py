"""The fingerprint of a source: the same for the same records in any order, another one for any other records.

And nobody without the key learns a record from it.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk import ObjectStoragePath
from airflow.sdk.exceptions import AirflowFailException
from airflow.sdk.io.store import attach
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from airflow_anon.transport import fingerprint as module
from airflow_anon.transport.fingerprint import RecordHashes, fingerprint, record_hashes
from airflow_anon.transport.parquet import stored_schema, write_parquet
from engine import FingerprintKey
from tests.reference.fingerprint import fingerprint_without_key, plain_fingerprint

SLOW_START = settings(deadline=None, suppress_health_check=list(HealthCheck))
SECRET = b"0123456789abcdef0123456789abcdef"
KEY = FingerprintKey(SECRET)
OTHER_KEY = FingerprintKey(SECRET[::-1])
TYPES = {
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, -1])),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float64": (pa.float64(), st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0])),
    "string": (pa.string(), st.text(max_size=3) | st.sampled_from(["", "0", "a", "ä"])),
    "binary": (pa.binary(), st.binary(max_size=3)),
    "bool": (pa.bool_(), st.booleans()),
    "decimal": (pa.decimal128(18, 2), st.decimals(-(10**16) + 1, 10**16 - 1, places=2)),
    "long decimal": (pa.decimal128(19, 2), st.decimals(-(10**16), 10**16, places=2)),
}


@st.composite
def tables(draw):
    """Draw a table of one to four columns, missing values and equal records among them."""
    kinds = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=4))
    cells = [st.none() | TYPES[kind][1] for kind in kinds]
    few = draw(st.lists(st.tuples(*cells), min_size=1, max_size=6))
    rows = draw(st.lists(st.sampled_from(few), min_size=1, max_size=12))
    schema = pa.schema([(f"c{place}", TYPES[kind][0]) for place, kind in enumerate(kinds)])
    return made(rows, schema)


def made(rows, schema):
    columns = [pa.array([row[place] for row in rows], field.type) for place, field in enumerate(schema)]
    return pa.table(columns, schema=schema)


def of(folder, table, key=KEY, **settings):
    pq.write_table(table, folder / "t.parquet", **settings)
    return fingerprint(folder / "t.parquet", key)


@SLOW_START
@given(tables())
def test_it_is_that_of_the_plain_twin(tmp_path_factory, table):
    assert of(tmp_path_factory.mktemp("f"), table) == plain_fingerprint(table, SECRET)


@SLOW_START
@given(tables(), st.data())
def test_the_order_of_records_and_the_row_groups_do_not_matter(tmp_path_factory, table, data):
    folder = tmp_path_factory.mktemp("f")
    order = data.draw(st.permutations(range(table.num_rows)))
    assert of(folder, table.take(order), row_group_size=data.draw(st.integers(1, 5))) == of(folder, table)


@SLOW_START
@given(tables(), st.data())
def test_a_changed_a_repeated_and_a_missing_record_are_told(tmp_path_factory, table, data):
    folder = tmp_path_factory.mktemp("f")
    before = of(folder, table)
    rows = [tuple(row.values()) for row in table.to_pylist()]
    place = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, table.num_columns - 1))
    kind = next(cells for arrow, cells in TYPES.values() if arrow == table.schema.types[column])
    value = data.draw(st.none() | kind)
    # 0.0 and -0.0 are equal and not the same
    assume(repr(value) != repr(rows[place][column]))
    changed = [*rows[place][:column], value, *rows[place][column + 1 :]]
    others = [
        [*rows[:place], tuple(changed), *rows[place + 1 :]],
        [*rows, rows[place]],
        [*rows[:place], *rows[place + 1 :]],
    ]
    assert before not in [of(folder, made(other, table.schema)) for other in others]


@SLOW_START
@given(tables().filter(lambda table: table.num_columns > 1), st.data())
def test_exchanged_columns_names_and_types_are_told(tmp_path_factory, table, data):
    folder = tmp_path_factory.mktemp("f")
    before = of(folder, table)
    order = data.draw(st.permutations(range(table.num_columns)).filter(lambda p: p != sorted(p)))
    moved = table.select(order)
    assert of(folder, moved) != before
    assert of(folder, table.rename_columns(moved.column_names)) != before
    # the cells alone are moved, under the old names, where their types let them
    if moved.schema.types == table.schema.types and moved.columns != table.columns:
        rows = sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))
        exchanged = sorted(map(repr, zip(*(column.to_pylist() for column in moved.columns), strict=True)))
        assert (of(folder, moved.rename_columns(table.column_names)) == before) == (rows == exchanged)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([None], pa.string()), pa.array([""])),
        (pa.array([None], pa.int64()), pa.array([0])),
        (pa.array([None], pa.float64()), pa.array([0.0])),
        (pa.array([None], pa.bool_()), pa.array([False])),
        (pa.array([None], pa.date32()), pa.array([dt.date(1970, 1, 1)])),
        (pa.array([Decimal("0.10")]), pa.array([Decimal("0.11")])),
        (pa.array([dt.datetime(2026, 1, 1)]), pa.array([dt.datetime(2026, 1, 1, 0, 0, 0, 1)])),  # noqa: DTZ001
        (pa.array([dt.time(10, 30)]), pa.array([dt.time(10, 31)])),
        (pa.array([1], pa.int64()), pa.array([1], pa.int32())),
        (pa.array([1], pa.int64()), pa.array(["1"])),
        (pa.array(["a"]), pa.array([b"a"])),
        (pa.array([None], pa.null()), pa.array([None], pa.string())),
    ],
    ids=str,
)
def test_values_that_look_alike(tmp_path, one, other):
    assert of(tmp_path, pa.table({"c": one})) != of(tmp_path, pa.table({"c": other}))


def test_values_that_are_coded_are_the_same_values():
    """Dictionaries and slices are only ways to hold values."""
    text = pa.array(["b", None, "a", "b"])
    plain = record_hashes(pa.record_batch([text], ["c"]), KEY)
    assert record_hashes(pa.record_batch([text.dictionary_encode()], ["c"]), KEY).tolist() == plain.tolist()
    numbers = pa.record_batch([pa.array([9, None, 7, 9])], ["c"])
    assert record_hashes(numbers.slice(1, 2), KEY).tolist() == record_hashes(numbers, KEY)[1:3].tolist()


def test_many_batches_are_one_table(tmp_path, monkeypatch):
    """A file of more records than a batch has the fingerprint of its records, each counted once."""
    sizes = []

    def counted(batch, key):
        sizes.append(batch.num_rows)
        return record_hashes(batch, key)

    monkeypatch.setattr(module, "record_hashes", counted)
    table = pa.table({"c": [*range(70_000)], "d": [str(i % 7) for i in range(70_000)]})
    assert of(tmp_path, table) == plain_fingerprint(table, SECRET)
    assert len(sizes) > 1
    assert sum(sizes) == 70_000


def test_a_file_of_object_storage(tmp_path):
    attach("memory", fs=MemoryFileSystem())
    table = pa.table({"c": ["a", None]})
    place = ObjectStoragePath("memory://source/t.parquet")
    with place.fs.open(place.path, "wb") as file:
        pq.write_table(table, file)
    assert fingerprint(place, KEY) == plain_fingerprint(table, SECRET)


def test_a_column_that_is_not_plain_is_named(tmp_path):
    with pytest.raises(AirflowFailException, match=r"^column 'codes': has the type list<.*cast it to text in a query$"):
        of(tmp_path, pa.table({"codes": [["secret"]]}))


PEOPLE = pa.schema([("age", pa.int64()), ("sex", pa.string()), ("diagnosis", pa.string())])
KNOWN = [(20 + place % 60, "fm"[place % 2], f"I{place % 9}") for place in range(40)]
UNIQUE = (87, "f", "C50")


def recovered(told, computed):
    """Return the record of `UNIQUE`'s kind that fits a fingerprint, tried by somebody who knows all the others."""
    diagnoses = [f"I{number}" for number in range(9)] + ["C50", "F32"]
    candidates = [(age, sex, diagnosis) for age in range(84, 90) for sex in "fm" for diagnosis in diagnoses]
    return [one for one in candidates if computed(made([*KNOWN, one], PEOPLE)) == told]


def test_who_knows_all_records_but_one_does_not_find_it(tmp_path):
    """Without a key the one record that was suppressed is found at once; by all that is told of the key it is not."""
    table = made([*KNOWN[:10], UNIQUE, *KNOWN[10:]], PEOPLE)
    assert recovered(fingerprint_without_key(table), fingerprint_without_key) == [UNIQUE]
    told = of(tmp_path, table)
    assert recovered(told, fingerprint_without_key) == []
    for guessed in (b"", KEY.id.encode(), bytes.fromhex(KEY.id), OTHER_KEY.secret):
        assert recovered(told, lambda one, guessed=guessed: plain_fingerprint(one, guessed)) == []
    assert recovered(told, lambda one: plain_fingerprint(one, SECRET)) == [UNIQUE]


@SLOW_START
@given(tables())
def test_two_keys_have_nothing_in_common(tmp_path_factory, table):
    """Neither the fingerprints nor the hashes of records below them: nobody can look for two tables that collide."""
    folder = tmp_path_factory.mktemp("f")
    assert of(folder, table, KEY) != of(folder, table, OTHER_KEY)
    batch = table.combine_chunks().to_batches()[0]
    assert set(record_hashes(batch, KEY).tolist()).isdisjoint(record_hashes(batch, OTHER_KEY).tolist())


@SLOW_START
@given(tables(), st.integers(1, 5))
def test_it_is_found_while_the_file_is_written(tmp_path_factory, table, size):
    """By the batches as they are written it is that of the file; texts of earlier batches are not hashed again."""
    path = ObjectStoragePath(str(tmp_path_factory.mktemp("f") / "t.parquet"))
    hashes = RecordHashes(KEY, None)
    write_parquet(iter(table.to_batches(max_chunksize=size)), path, hashes.add)
    found = hashes.fingerprint(stored_schema(path))
    entirely_missing = any(column.null_count == len(column) for column in table.columns)
    assert found == fingerprint(path, KEY) or (entirely_missing and found is None)


def test_texts_that_are_too_many_to_be_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_REMEMBERED", 2)
    table = pa.table({"c": [f"text {number % 7}" for number in range(20)]})
    path = ObjectStoragePath(str(tmp_path / "t.parquet"))
    hashes = RecordHashes(KEY, tmp_path)
    write_parquet(iter(table.to_batches(max_chunksize=3)), path, hashes.add)
    assert hashes.fingerprint(stored_schema(path)) == plain_fingerprint(table, SECRET)


def test_types_that_become_wider_are_hashed_as_they_are_stored(tmp_path):
    """What was hashed before the wider type came is not what the file has."""
    path = ObjectStoragePath(str(tmp_path / "t.parquet"))
    batches = [pa.record_batch({"c": pa.array([1, 2])}), pa.record_batch({"c": pa.array([0.5])})]
    hashes = RecordHashes(KEY, tmp_path)
    assert write_parquet(iter(batches), path, hashes.add) == 3
    assert hashes.fingerprint(stored_schema(path)) is None
