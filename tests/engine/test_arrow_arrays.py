"""Arrays made without pandas are those that pyarrow makes, and read as pyarrow reads them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.arrow_arrays import filled, filled_texts, flags_of, numbers_of, of_flags, of_numbers, of_texts

KINDS = [np.int8, np.int32, np.int64, np.uint8, np.uint64]
TEXTS = st.lists(st.none() | st.text(max_size=3), max_size=20)


@given(st.data(), st.sampled_from(KINDS))
def test_numbers_are_those_of_pyarrow_with_and_without_missing_ones(data, kind):
    limits = np.iinfo(kind)
    numbers = data.draw(st.lists(st.integers(int(limits.min), int(limits.max)), max_size=20))
    values = np.array(numbers, kind)
    missing = np.array(data.draw(st.lists(st.booleans(), min_size=len(numbers), max_size=len(numbers))), np.bool_)
    assert of_numbers(values).equals(pa.array(values))
    found = of_numbers(values, missing)
    found.validate(full=True)
    assert found.to_pylist() == [None if gone else number for number, gone in zip(numbers, missing, strict=True)]
    some = data.draw(st.sampled_from(numbers or [0]))
    assert filled(found, some).to_pylist() == [some if one is None else one for one in found.to_pylist()]
    assert filled(found, some).type == found.type


@given(st.data(), st.sampled_from(KINDS), st.integers(0, 5))
def test_a_part_of_an_array_is_read_as_that_part(data, kind, start):
    numbers = data.draw(st.lists(st.integers(0, 100), max_size=20))
    part = pa.array(numbers, pa.from_numpy_dtype(kind))[start:]
    assert numbers_of(part).tolist() == numbers[start:]
    assert numbers_of(part).dtype == kind
    flags = data.draw(st.lists(st.booleans(), max_size=40))
    assert flags_of(pa.array(flags, pa.bool_())[start:]).tolist() == flags[start:]
    assert of_flags(np.array(flags, np.bool_)).equals(pa.array(flags, pa.bool_()))


def test_numbers_that_are_not_beside_each_other():
    assert of_numbers(np.arange(10)[::3]).to_pylist() == [0, 3, 6, 9]


@given(TEXTS, st.sampled_from([pa.string(), pa.large_string()]), st.integers(0, 3))
def test_texts_are_those_of_pyarrow(texts, kind, start):
    assert of_texts(texts).equals(pa.array(texts, pa.string()))
    part = pa.array(texts, kind)[start:]
    assert filled_texts(part, "é").to_pylist() == ["é" if text is None else text for text in texts[start:]]


@pytest.mark.parametrize(
    "array",
    [pa.array([], pa.int32()), pa.nulls(0, pa.int64()), pa.nulls(0, pa.dictionary(pa.int64(), pa.string())).indices],
)
def test_an_array_of_nothing(array):
    assert numbers_of(array).shape == (0,)
    assert filled(array, 1).equals(array)
