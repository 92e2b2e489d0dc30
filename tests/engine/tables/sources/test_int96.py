"""Times of INT96 are read as they are, or refused: no backend releases another time."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import InvalidData, run
from engine.tables.sources.source import open_path
from tests.engine.backends.test_contract import BACKENDS, document_of

pytest.importorskip("duckdb", reason="needs the extra 'duckdb'")

FIRST, LAST, NO_END, EARLY = map(dt.datetime.fromisoformat, ["1677-09-22", "2262-04-11", "9999-12-31", "1600-01-01"])


def written(folder, times, unit="us"):
    path = folder / "stays.parquet"
    columns = {"q": ["a", "b"] * 4, "until": pa.array(times, pa.timestamp(unit)), "a.b": [1] * 8}
    pq.write_table(pa.table(columns), path, use_deprecated_int96_timestamps=True, row_group_size=3)
    assert "int96 field_id=-1 until" in str(pq.read_metadata(path).schema)
    return path


def job_on(path, backend):
    document = document_of(["q"], path, backend=backend)
    document["attributes"] |= {name: {"role": "insensitive", "accept": "unique"} for name in ("until", "a.b")}
    return document


@pytest.mark.parametrize("backend", BACKENDS)
def test_times_are_released_with_all_their_digits(tmp_path, backend):
    """A nanosecond before and after 1970 is one that DuckDB by itself leaves out."""
    path = written(tmp_path, [0, 1, -1, None, 10**18, -(10**18) - 1, 999, -999], "ns")
    released = run(job_on(path, backend)).table["until"]
    assert released.type == pa.timestamp("ns")
    found = released.cast(pa.int64()).to_pylist()
    assert sorted(value for value in found if value is not None) == [-(10**18) - 1, -999, -1, 0, 1, 999, 10**18]
    assert found.count(None) == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("time", [NO_END, EARLY, LAST + dt.timedelta(days=1)])
def test_a_time_that_would_become_another_is_refused(tmp_path, backend, time):
    """Arrow by itself reads 9999-12-31 as a day in 1816."""
    path = written(tmp_path, [FIRST, LAST, None, None, FIRST, LAST, LAST, time])
    with pytest.raises(InvalidData, match=r"column 'until': holds, as INT96, times before 1677-09-22 or after 2262"):
        run(job_on(path, backend))


def test_the_first_and_the_last_time_that_fit_are_read(tmp_path):
    path = written(tmp_path, [FIRST, LAST] * 4)
    (batch,) = open_path(path).batches(["until"])
    assert batch.column(0).cast(pa.timestamp("us")).to_pylist() == [FIRST, LAST] * 4


def test_a_column_that_is_not_read_is_not_compared(tmp_path):
    (batch,) = open_path(written(tmp_path, [NO_END] * 8)).batches(["a.b"])
    assert batch.column(0).to_pylist() == [1] * 8


def test_times_within_other_values_are_refused(tmp_path):
    path = tmp_path / "stays.parquet"
    table = pa.table({"l": pa.array([[NO_END]], pa.list_(pa.timestamp("us"))), "n": [1]})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    with pytest.raises(InvalidData, match="column 'l': holds INT96 within type list"):
        list(open_path(path).batches(["l", "n"]))
