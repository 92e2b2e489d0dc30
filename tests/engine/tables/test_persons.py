"""Population tables in which a row counts as several persons."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidData
from engine.tables import persons
from engine.tables.persons import by_person
from engine.tables.source import open_data


def read(counts, kind=None):
    table = pa.table({"zip": [str(place) for place in range(len(counts))], "persons": pa.array(counts, kind)})
    people = by_person(open_data(table), ("zip",), "population people.csv")
    return list(people.batches(["zip"]))


@given(st.lists(st.integers(0, 9), max_size=20))
def test_each_person_is_a_row_in_batches_of_bounded_size(counts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(persons, "_AT_ONCE", 4)
        batches = read(counts, pa.int64())
    assert all(0 < batch.num_rows <= 4 for batch in batches)
    found = [value for batch in batches for value in batch.column("zip").to_pylist()]
    assert found == [str(place) for place, count in enumerate(counts) for _ in range(count)]


@pytest.mark.parametrize("count", [-1, 10**10 + 1, 2**63 - 1, 2**63, "9" * 30, "x", 1.5, None, [1]])
def test_impossible_numbers_are_refused(count):
    with pytest.raises(InvalidData, match=r"population people\.csv: the column 'persons' .* from 0 to 10000000000;"):
        read([count], pa.uint64() if count == 2**63 else None)
