"""JSON that two programs could read in two ways is refused, in words that hold nothing of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.json_document import strict_json

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(), part, max_size=4),
)


@given(PLAIN)
def test_what_is_written_is_read(document):
    text = json.dumps(document)
    assert strict_json(text) == strict_json(text.encode()) == document


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"SECRET": 1, "SECRET": 2}', "has a key twice"),
        ('{"a": [{"b": 1, "b": 1}]}', "has a key twice"),
        ('{"a": NaN}', "has a number that is not finite"),
        ('{"a": -Infinity}', "has a number that is not finite"),
        ('{"a": 1e999}', "has a number that is not finite"),
        ("[" * 100_000 + "]" * 100_000, "is nested too deeply"),
        (b'{"a": "\xff"}', "is no JSON, or no Unicode"),
        (r'{"\ud800": 1}', "is no JSON, or no Unicode"),
        ('{"SECRET": ', "is no JSON, or no Unicode"),
        ("", "is no JSON, or no Unicode"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(content, why):
    with pytest.raises(ValueError, match=f"^{why}$"):
        strict_json(content)
