"""Whether an identifying column repeats: in bounded memory, with an end at the first repeat."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.tables.sources.source
from engine.errors import InvalidData
from engine.linter.repeats import repeating
from engine.tables.sources.source import open_data, open_path


def answer(values, most=1 << 24):
    return repeating(open_data(pa.table({"id": pa.array(values, pa.string())})), ["id"], most)["id"]


@given(st.lists(st.one_of(st.none(), st.text("abc", max_size=3)), max_size=30), st.integers(1, 8), st.integers(1, 9))
def test_a_value_in_two_records_repeats_however_few_are_held_at_once(values, most, size):
    """`most` is the number of hashes held, so that a longer column is read several times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.tables.sources.source, "BATCH_ROWS", size)
        there = [value for value in values if value]
        assert answer(values, most) is (len(set(there)) < len(there))


class Counting:
    """A table that counts the batches that are read from it."""

    def __init__(self, batches):
        self._batches = batches
        self.schema = batches[0].schema
        self.read = 0

    def batches(self, columns):
        """See `Table`."""
        assert columns == ["id"]
        for batch in self._batches:
            self.read += 1
            yield batch


def test_the_reading_ends_at_the_first_repeat():
    batches = [pa.record_batch({"id": [f"p{n}", f"p{n}"]}) for n in range(50)]
    table = Counting(batches)
    assert repeating(table, ["id"]) == {"id": True}
    assert table.read == 1


def test_a_column_that_cannot_be_read_is_not_known_and_ends_nothing(tmp_path):
    path = tmp_path / "source.csv"
    path.write_bytes(b"name,age\nJos\xe9,30\nJos\xe9,31\n")
    table = open_path(path)
    with pytest.raises(InvalidData):
        list(table.batches(["name"]))
    assert repeating(table, ["name", "age"]) == {"name": None, "age": False}
