"""Redaction: codes of one length lose their characters from one end."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidJob


def test_a_zip_code_loses_one_digit_a_level(build, rows_of):
    builder = build(builder="redaction", length=5)
    assert rows_of(builder, ["02139"]) == [("02139", "0213*", "021**", "02***", "0****", "*")]


@pytest.mark.parametrize(
    ("keys", "row"),
    [
        ({"steps": [1, 1, 3]}, ("02139", "0213*", "021**", "*")),
        ({"steps": [2, 1]}, ("02139", "021**", "02***", "*")),
        ({"steps": [5]}, ("02139", "*")),
        ({"steps": [2], "direction": "left-to-right"}, ("02139", "**139", "*")),
        ({"steps": [3], "character": "x"}, ("02139", "02xxx", "*")),
    ],
)
def test_steps_direction_and_character(build, rows_of, keys, row):
    builder = build(builder="redaction", length=5, **keys)
    assert builder.level_count == len(row)
    assert rows_of(builder, ["02139"]) == [row]


def test_leaves_are_the_codes_among_the_values(build, rows_of):
    builder = build(builder="redaction", length=5)
    values = [
        "02139",
        "2139",
        "021390",
        "",
        "0213a",
        "0213*",
        "*",
        "*****",
        " 2139",
        "0213\n",
        "\u0660\u0662\u0661\u0663\u0669",
    ]
    assert [row[0] for row in rows_of(builder, values)] == ["02139"]
    assert [value for value in values if builder.is_label(value, 0)] == ["02139"]


def test_any_alphabet_takes_letters_and_never_a_redacted_code(build, rows_of):
    builder = build(builder="redaction", length=3, alphabet="any", character="#")
    assert [row[0] for row in rows_of(builder, ["SW1", "É 9", "SW#", "SW*", "###"])] == ["SW1", "É 9"]
    assert [builder.is_label("SW#", level) for level in range(4)] == [False, True, False, False]


@pytest.mark.parametrize("direction", ["right-to-left", "left-to-right"])
@pytest.mark.parametrize("steps", [None, [1, 2], [2]])
def test_labels_are_exactly_those_of_all_codes(build, rows_of, direction, steps):
    """Every text of up to four characters over digits and '*' is tried at every level."""
    builder = build(builder="redaction", length=3, direction=direction, steps=steps)
    rows = rows_of(builder, ["".join(code) for code in itertools.product("0123456789", repeat=3)])
    assert len(rows) == 1000
    texts = ["".join(text) for size in range(5) for text in itertools.product("07*", repeat=size)]
    for level in range(builder.level_count):
        labels = {row[level] for row in rows}
        assert [text for text in texts if builder.is_label(text, level)] == [text for text in texts if text in labels]


@given(
    codes=st.lists(st.text("0123456789", min_size=7, max_size=7), unique=True),
    steps=st.lists(st.integers(1, 3), min_size=1, max_size=3).filter(lambda steps: sum(steps) <= 7),
)
def test_a_label_keeps_the_start_of_its_code(build, rows_of, codes, steps):
    builder = build(builder="redaction", length=7, steps=steps)
    rows = rows_of(builder, codes)
    assert [row[0] for row in rows] == codes
    for code, *labels, _ in rows:
        for level, label in enumerate(labels, start=1):
            redacted = sum(steps[:level])
            assert code.startswith(label.rstrip("*"))
            assert label.count("*") == redacted


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, r"length: this key is required"),
        ({"length": 0}, r"length.*at least 1"),
        ({"length": 65}, r"length.*at most 64"),
        ({"length": 5, "steps": [3, 3]}, r"steps add up to 6; they may redact at most length, 5"),
        ({"length": 5, "steps": [0]}, r"steps\.0.*at least 1"),
        ({"length": 5, "steps": []}, r"steps.*at least 1"),
        ({"length": 5, "character": "0"}, r"character: must not be a digit"),
        ({"length": 5, "character": "**"}, r"character: must be one character$"),
        ({"length": 5, "direction": "up"}, r"direction.*'right-to-left' or 'left-to-right'"),
    ],
)
def test_a_bad_job_is_refused_by_key(build, keys, message):
    with pytest.raises(InvalidJob, match=message):
        build(builder="redaction", **keys)
