"""One file with one schema from batches whose types were not known beforehand."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowFailException
from airflow.sdk.io.store import attach
from fsspec.implementations.memory import MemoryFileSystem

from airflow_anon.transport.address import path_of
from airflow_anon.transport.column import Column
from airflow_anon.transport.database_read import batch_of_rows
from airflow_anon.transport.parquet import write_parquet

COLUMNS = [Column("a", "a"), Column("b", "b")]


def written(tmp_path, *chunks):
    """Write chunks of rows as batches of inferred types; give the table and the files that stay."""
    path = path_of(str(tmp_path)) / "source.parquet"
    rows = write_parquet((batch_of_rows(chunk, COLUMNS) for chunk in chunks), path)
    assert [entry.name for entry in tmp_path.iterdir()] == (["source.parquet"] if rows else [])
    return pq.read_table(tmp_path / "source.parquet")


def test_types_grow_with_the_values(tmp_path):
    """Nulls become the first type seen, whole numbers fractions, decimals the widest scale; no record is lost."""
    table = written(
        tmp_path,
        [(None, None)],
        [(1, Decimal("1.5"))],
        [(None, Decimal("10.25"))],
        [(2.5, None)],
        [(3, Decimal("1.125"))],
    )
    assert table["a"].to_pylist() == [None, 1.0, None, 2.5, 3.0]
    assert table["b"].to_pylist() == [None, Decimal("1.5"), Decimal("10.25"), None, Decimal("1.125")]
    assert pa.types.is_decimal(table.schema.field("b").type)


def test_nulls_to_the_end_are_text(tmp_path):
    assert written(tmp_path, [(None, 1)], [(None, 2)]).schema.types == [pa.string(), pa.int64()]


def test_column_without_a_common_type(tmp_path):
    """Text after numbers is refused by name and without the value; nothing stays."""
    with pytest.raises(AirflowFailException, match=r"column 'a': holds values of type int64 and string") as raised:
        written(tmp_path, [(1, 1)], [("secret-value", 1)])
    assert "secret-value" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["secret-value", {"secret-value": 1}, 2**70])
def test_value_of_another_type_within_a_batch(tmp_path, value):
    with pytest.raises(AirflowFailException, match="column 'a': ") as raised:
        written(tmp_path, [(1, 1), (value, 1)])
    assert "secret-value" not in str(raised.value)
    assert raised.value.__suppress_context__


def test_integer_that_a_fraction_would_blur(tmp_path):
    """2**53 + 1 has no float; it is refused rather than changed."""
    with pytest.raises(AirflowFailException, match="column 'a': holds a value that does not fit double"):
        written(tmp_path, [(2**53 + 1, 1)], [(0.5, 1)])


def test_nested_values_are_refused(tmp_path):
    with pytest.raises(AirflowFailException, match="column 'a': has the type list"):
        written(tmp_path, [([1], 1)])


def test_object_storage():
    """Any address of Airflow's object storage works; here the one in memory."""
    attach("memory", fs=MemoryFileSystem())
    path = path_of("memory://staging/run") / "source.parquet"
    assert write_parquet(iter([batch_of_rows([(None, 1)], COLUMNS), batch_of_rows([(0.5, 2)], COLUMNS)]), path) == 2
    with path.fs.open(path.path, "rb") as file:
        assert pq.read_table(file).to_pydict() == {"a": [None, 0.5], "b": [1, 2]}
    assert [entry.name for entry in path.parent.iterdir()] == ["source.parquet"]
