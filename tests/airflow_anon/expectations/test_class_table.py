"""The class table of the expectations against counting by hand, and against the engine's."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from airflow_anon.expectations import class_table as module
from airflow_anon.expectations.class_table import class_table
from engine import InvalidData
from tests.engine.tables.test_class_table import RECORDS, tables_of
from tests.profiles import examples


def tuples_of(table, count):
    """Return the records of each row of a counted table."""
    found = Counter()
    for row in table.to_pylist():
        found[tuple(value for name, value in row.items() if name != count)] += row[count]
    assert len(found) == table.num_rows
    return found


@settings(deadline=None, max_examples=examples(200))
@given(RECORDS)
def test_a_file_and_a_table_give_what_counting_by_hand_gives(records):
    table = tables_of(records)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BATCH_ROWS", 4)
        patch.setattr(module, "WAITING", 3)
        pq.write_table(table, Path(folder) / "data.parquet", row_group_size=5)
        both = [class_table(release, ["p", "q"], ["n", "s"]) for release in (table, Path(folder) / "data.parquet")]
    for found in both:
        assert (found.rows, found.schema) == (len(records), table.schema)
        assert tuples_of(found.counted(), found.count) == Counter((p, q) for p, q, _, _ in records)
        assert tuples_of(found.counted("n"), found.count) == Counter((p, q, n) for p, q, n, _ in records)
        assert tuples_of(found.counted("s"), found.count) == Counter((p, q, s) for p, q, _, s in records)
        kept = [record for record in records if record[:2] != ("*", "*")]
        assert tuples_of(found.counted("s", starred=False), found.count) == Counter((p, q, s) for p, q, _, s in kept)
        labels = zip(*(column.to_pylist() for column in found.text().columns), strict=True)
        assert dict(zip(labels, found.sizes.tolist(), strict=True)) == Counter((p, q) for p, q, _, _ in records)


def test_columns_that_cannot_be_counted_are_left_out():
    table = pa.table([["a", "b"], ["x", "x"], [[1], [2]], ["u", "v"]], names=["p", "p", "s", "q"])
    found = class_table(table, ["p", "q", "gone"], ["s"])
    assert (list(found.labels), found.rows, found.sizes.tolist()) == (["q"], 2, [1, 1])
    with pytest.raises(InvalidData, match=r"column 's': type list<.*> cannot be counted"):
        found.tuples("s")
    assert class_table(table, ["gone"], []).rows == 2


@pytest.mark.parametrize("is_file", [True, False])
def test_values_of_no_record_have_their_type(tmp_path, is_file):
    release = pa.schema([("age", pa.string()), ("cost", pa.float32())]).empty_table()
    pq.write_table(release, tmp_path / "data.parquet")
    counted = class_table(tmp_path / "data.parquet" if is_file else release, ["age"], ["cost"])
    assert counted.tuples("cost")["value"].type == pa.float32()
    assert (counted.rows, counted.sizes.size) == (0, 0)


def test_a_file_that_cannot_be_read(tmp_path):
    pq.write_table(pa.table({"p": ["alice", "bob"] * 100}), tmp_path / "data.parquet")
    content = (tmp_path / "data.parquet").read_bytes()
    (tmp_path / "data.parquet").write_bytes(content[:4] + bytes(40) + content[44:])
    with pytest.raises(InvalidData, match=r"^data.parquet: cannot be read as Parquet"):
        class_table(tmp_path / "data.parquet", ["p"], [])
