"""The compiled SHAKE128 is that of the standard library, for messages of every length around the ends of blocks."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.kernels.shake128
from engine.errors import InvalidData
from engine.kernels.shake128 import LANES, add_expanded
from engine.kernels.warm_up import Part, warm_up
from engine.tables.release.record_sums import _FEW, NUMBERS, RecordSums, _compiled


def summed(records, times):
    """Return the sums by whole numbers of Python, and the standard library."""
    found = [0] * NUMBERS
    for record, often in zip(records, times, strict=True):
        wide = hashlib.shake_128(record).digest(4 * NUMBERS)
        numbers = [int.from_bytes(wide[place : place + 4], "little") for place in range(0, len(wide), 4)]
        found = [(so_far + often * number) % 2**32 for so_far, number in zip(found, numbers, strict=True)]
    return found


def compiled(records, times):
    return _compiled(pa.array(records, pa.large_binary()), np.array(times, np.int64)).tolist()


def add(sums, records, times):
    sums.add(pa.array(records, pa.large_binary()), np.array(times, np.int64))


def message(length):
    return bytes((7 * place + length) % 256 for place in range(length))


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 159, 160, 166, 167, 168, 169, 335, 336, 337, 1000])
def test_a_message_of_any_length_is_expanded_as_by_the_standard_library(length):
    assert compiled([message(length)], [1]) == summed([message(length)], [1])


def test_messages_of_every_length_together():
    records = [message(length) for length in range(3 * 168)]
    times = [1 + 97 * length for length in range(len(records))]
    assert compiled(records, times) == summed(records, times)


@given(
    st.lists(st.tuples(st.binary(max_size=400), st.integers(0, 2**40)), min_size=1, max_size=3 * LANES),
)
def test_messages_of_one_batch_may_have_different_blocks_and_numbers(counted):
    records, times = zip(*counted, strict=True)
    assert compiled(records, times) == summed(records, times)


def test_few_records_have_the_sums_of_many():
    """Those of the standard library, and of the kernel."""
    records, times = [b"%d" % number for number in range(2 * _FEW)], [1 + number % 3 for number in range(2 * _FEW)]
    at_once, one_by_one = RecordSums(), RecordSums()
    add(at_once, records, times)
    for record, often in zip(reversed(records), reversed(times), strict=True):
        add(one_by_one, [record], [often])
    assert at_once.to_bytes() == one_by_one.to_bytes() == np.array(summed(records, times), "<u4").tobytes()


@pytest.mark.parametrize("kind", [pa.large_binary(), pa.large_string()])
def test_a_part_of_an_array_has_the_sums_of_that_part(kind):
    records, times = [f"{number}" for number in range(3 * _FEW)], np.arange(3 * _FEW)
    part = slice(5, 2 * _FEW)
    found = RecordSums()
    found.add(pa.array(records, kind)[part], times[part])
    expected = summed([record.encode() for record in records[part]], times[part].tolist())
    assert found.to_bytes() == np.array(expected, "<u4").tobytes()


def test_a_kernel_that_hashes_otherwise_is_refused(monkeypatch):
    monkeypatch.setattr(engine.kernels.shake128, "add_expanded", lambda *_: None)
    with pytest.raises(InvalidData, match="compiled kernels"):
        add(RecordSums(), [b"%d" % number for number in range(_FEW)], [1] * _FEW)


def test_no_kernel_is_compiled_after_warming_up():
    warm_up(Part.CONTENT)
    before = len(add_expanded.signatures)
    add(RecordSums(), [b"%d" % number for number in range(_FEW)], [1] * _FEW)
    add(RecordSums(), [b""] * _FEW, [2**31] * _FEW)
    assert len(add_expanded.signatures) == before
