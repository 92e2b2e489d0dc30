"""Counts of values in bounded memory: exact while there are few, close beyond, and hashes as their slow twin's."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.job.load import load_job
from engine.linter.columns import ColumnCounts, Variation
from engine.linter.value_counts import ValueCounts
from engine.linter.values import counted_hashes, hashes
from tests.reference.text_hashes import text_hash

JOB = {
    "name": "visits",
    "source": {"path": "visits.csv"},
    "attributes": {
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10]}},
        "note": {"role": "insensitive"},
    },
    "privacy": [{"model": "k-anonymity", "k": 2}],
    "output": {"path": "release"},
}


def counted(values, kept=1 << 18, size=1000):
    counts = ValueCounts(kept)
    for start in range(0, len(values), size):
        found, there = hashes(pa.array(values[start : start + size], pa.string()), "x")
        counts.add(found[there])
    return counts


@given(st.lists(st.one_of(st.none(), st.text(max_size=5)), max_size=30), st.integers(0, 5))
def test_hashes_are_those_of_the_slow_twin(values, start):
    column = pa.array(values, pa.string()).slice(start)
    found, there = hashes(column, "x", frozenset({"?"}))
    assert there.tolist() == [value not in (None, "", "?") for value in column.to_pylist()]
    expected = [text_hash((value or "").encode()) for value in column.to_pylist()]
    assert found.tolist() == expected


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 1, 2]),
        pa.array([[1], [1], [2]]),
        pa.array([b"\xff", b"\xff", b"\xfe"]),
        pa.array(["a", "a", "b"]).dictionary_encode(),
    ],
)
def test_columns_of_every_type_are_compared(column):
    found, there = hashes(column, "x")
    assert there.all()
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None, "", "?", "a", "b"]),
        pa.array([0.0, -0.0, float("nan"), 1.5, None, 0.0, float("nan")]),
        pa.array([[1], [1], None, [2], []]),
        pa.array([b"\xff", b"\xff", None, b"\xfe"]),
        pa.array(["a", "?", "a", "b", None]).dictionary_encode().slice(2),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 3, 1, None]), pa.array(["a", "a", "never", None])),
        pa.nulls(3),
        pa.nulls(0, pa.string()),
    ],
)
def test_each_value_is_hashed_once_and_counted(column):
    found, there = hashes(column, "x", frozenset({"?"}))
    told = Counter()
    for value, records in zip(*(one.tolist() for one in counted_hashes(column, "x", frozenset({"?"}))), strict=True):
        assert records > 0
        told[value] += records
    assert told == Counter(found[there].tolist())


@pytest.mark.parametrize("distinct", [3, 40, 400])
def test_a_column_whose_values_stop_repeating_is_counted_alike(distinct):
    values = [f"v{n % 4}" for n in range(200)] + [f"w{n % distinct}" for n in range(400)] + ["v1"] * 200
    columns = ColumnCounts(load_job(JOB))
    for start in range(0, len(values), 100):
        columns.see(pa.record_batch({"note": values[start : start + 100]}))
    records = Counter(values)
    assert columns.own()["note"] == Variation(
        len(values),
        len(records),
        sum(count * (count - 1) for count in records.values()),
        sum(count for count in records.values() if count < 2),
    )


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=60), st.integers(1, 7))
def test_of_few_values_everything_is_exact(values, size):
    found, records = counted(values, size=size), Counter(values)
    assert (found.records, found.distinct) == (len(values), len(records))
    assert found.agreeing_pairs == sum(count * (count - 1) for count in records.values())
    assert found.records_of_rare(3) == sum(count for count in records.values() if count < 3)


def test_of_many_values_the_figures_are_close():
    """60,000 values of one record each, 20,000 of two, one of 100,000; 4,096 are kept, so the error is 1.6%."""
    values = [f"u{n}" for n in range(60_000)] + [f"p{n}" for n in range(20_000)] * 2 + ["often"] * 100_000
    np.random.default_rng(5).shuffle(values)
    found = counted(values, kept=1 << 12)
    assert found.records == 200_000
    assert found.distinct == pytest.approx(80_001, rel=0.06)
    assert found.records_of_rare(5) == pytest.approx(100_000, rel=0.06)
    assert found.agreeing_pairs == pytest.approx(100_000 * 99_999 + 40_000, rel=0.03)
    assert found._values.size == 1 << 12
