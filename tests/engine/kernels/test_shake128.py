"""The compiled SHAKE128 is that of the standard library, for messages of every length around the ends of blocks."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.kernels.shake128
from engine.errors import InvalidData
from engine.kernels.shake128 import LANES, add_expanded
from engine.kernels.warm_up import Part, warm_up
from engine.tables.record_sums import _FEW, NUMBERS, RecordSums, _compiled


def summed(records, times):
    """Return the sums by whole numbers of Python, and the standard library."""
    found = [0] * NUMBERS
    for record, often in zip(records, times, strict=True):
        wide = hashlib.shake_128(record).digest(4 * NUMBERS)
        numbers = [int.from_bytes(wide[place : place + 4], "little") for place in range(0, len(wide), 4)]
        found = [(so_far + often * number) % 2**32 for so_far, number in zip(found, numbers, strict=True)]
    return found


def message(length):
    return bytes((7 * place + length) % 256 for place in range(length))


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 159, 160, 166, 167, 168, 169, 335, 336, 337, 1000])
def test_a_message_of_any_length_is_expanded_as_by_the_standard_library(length):
    assert _compiled([message(length)], [1]).tolist() == summed([message(length)], [1])


def test_messages_of_every_length_together():
    records = [message(length) for length in range(3 * 168)]
    times = [1 + 97 * length for length in range(len(records))]
    assert _compiled(records, times).tolist() == summed(records, times)


@given(
    st.lists(st.tuples(st.binary(max_size=400), st.integers(0, 2**40)), min_size=1, max_size=3 * LANES),
)
def test_messages_of_one_batch_may_have_different_blocks_and_numbers(counted):
    records, times = zip(*counted, strict=True)
    assert _compiled(records, times).tolist() == summed(records, times)


def test_few_records_have_the_sums_of_many():
    """Those of the standard library, and of the kernel."""
    records, times = [b"%d" % number for number in range(2 * _FEW)], [1 + number % 3 for number in range(2 * _FEW)]
    at_once, one_by_one = RecordSums(), RecordSums()
    at_once.add(records, times)
    for record, often in zip(reversed(records), reversed(times), strict=True):
        one_by_one.add([record], [often])
    assert at_once.to_bytes() == one_by_one.to_bytes() == np.array(summed(records, times), "<u4").tobytes()


def test_a_kernel_that_hashes_otherwise_is_refused(monkeypatch):
    monkeypatch.setattr(engine.kernels.shake128, "add_expanded", lambda *_: None)
    with pytest.raises(InvalidData, match="compiled kernels"):
        RecordSums().add([b"%d" % number for number in range(_FEW)], [1] * _FEW)


def test_no_kernel_is_compiled_after_warming_up():
    warm_up(Part.CONTENT)
    before = len(add_expanded.signatures)
    RecordSums().add([b"%d" % number for number in range(_FEW)], [1] * _FEW)
    RecordSums().add([b""] * _FEW, tuple([2**31] * _FEW))
    assert len(add_expanded.signatures) == before
