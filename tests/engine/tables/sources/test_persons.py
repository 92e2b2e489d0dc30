"""Rows that stand for several persons: counted, never repeated."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from engine.errors import InvalidData
from engine.tables.sources.persons import by_person, counted_batches
from engine.tables.sources.source import open_data


def read(table, columns=("q",)):
    """Return the rows with their persons."""
    found = []
    for batch, persons in counted_batches(by_person(open_data(pa.table(table)), columns, "the people"), columns):
        assert persons.dtype == np.int64
        found += zip(*(column.to_pylist() for column in batch.columns), persons.tolist(), strict=True)
    return found


def test_each_row_has_its_persons_and_nobody_has_no_row():
    assert read({"q": ["a", "b", "c"], "persons": [2, 0, 3]}) == [("a", 2), ("c", 3)]
    assert read({"q": ["a", "b"], "persons": ["2", "1"]}) == [("a", 2), ("b", 1)]


def test_without_the_column_or_if_the_job_reads_it_each_row_is_a_person():
    assert read({"q": ["a", "a"]}) == [("a", 1), ("a", 1)]
    assert read({"q": ["a"], "persons": [7]}, ("q", "persons")) == [("a", 7, 1)]


def test_many_persons_take_no_memory():
    tracemalloc.start()
    try:
        assert read({"q": ["a", "b"], "persons": [5_000_000_000, 10**14]}) == [("a", 5_000_000_000), ("b", 10**14)]
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("persons", [[10**15, 1], [2**62] * 4, [2**63 - 1, 2**63 - 1]])
def test_more_persons_than_can_be_counted_are_refused(persons):
    with pytest.raises(InvalidData, match=r"the people: the column 'persons' adds up to more than 1000000000000000"):
        read({"q": ["a"] * len(persons), "persons": persons})


@pytest.mark.parametrize("persons", [[-1], [None], ["many"], [1.5], [str(2**64)]])
def test_other_things_than_whole_numbers_are_refused(persons):
    with pytest.raises(InvalidData, match=r"the people: the column 'persons' says how many persons"):
        read({"q": ["a"], "persons": persons})
