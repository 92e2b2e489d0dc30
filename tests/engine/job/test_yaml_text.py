"""Mistakes in YAML are told with their line and a fix, and the fix is one."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.job.yaml_text import Dumper, read_yaml
from tests.profiles import examples

MISTAKES = [
    ("a:\n\tb: 1\n", "line 2: ", "write blanks instead of the tab", "a:\n  b: 1\n"),
    ("a:\tb\n", "line 1: ", "write blanks instead of the tab", "a: b\n"),
    ('a: 1\nname: "secret\nb: 2\n', "line 2: ", "the quote that opens here is not closed", 'a: 1\nname: "t"\nb: 2\n'),
    ("name: 'secret\nb: 2\n", "line 1: ", "the quote that opens here is not closed", "name: 't'\nb: 2\n"),
    ('a: "t\nb: "secret"\n', "line 2: ", "or close the quote of a line before", 'a: "t"\nb: "r"\n'),
    ("a: 'it's'\n", "line 1: ", "write a quote in it twice", "a: 'it''s'\n"),
    ('p: "C:\\data"\n', "line 1: ", "use single quotes, or / in a path", "p: 'C:\\data'\n"),
    ('p: "C:\\x\\t"\n', "line 1: ", "use single quotes, or / in a path", "p: C:/x/t\n"),
    ("a:\n  b: {}\n    c: 2\n", "line 3: ", "indent the keys of one mapping alike", "a:\n  b: {}\n  c: 2\n"),
    ("a:\n  b: 1\n    c: 2\n", "line 3: ", "indent the keys of one mapping alike", "a:\n  b: 1\n  c: 2\n"),
    ("  a: 1\nb: 2\n", "line 2: ", "begin all keys of the file in the first column", "a: 1\nb: 2\n"),
    ("a:\n  - b: 1\n  c: 2\n", "line 3: ", "take out the '- ' of the lines before it", "a:\n  b: 1\n  c: 2\n"),
    ("a:\n  b: 1\n  - c: 2\n", "line 3: ", "take out the '- '", "a:\n  b: 1\n  c: 2\n"),
    ("a: 1\n---\nb: 2\n", "line 2: ", "take out the line --- and what follows", "a: 1\n"),
    ("a:secret\nb: 1\n", "line 2: ", "a blank after the colon of each key", "a: t\nb: 1\n"),
    ("a: b: c\n", "line 1: ", "a text that has a colon and a blank in quotes", "a: 'b: c'\n"),
    ("a:\n- b\n\nsecret\nc: 1\n", "line 4: ", "a colon and a blank", "a:\n- b\nt: 1\nc: 1\n"),
    ("a: {b: 1\nc: 2\n", "line 2: ", "close the { of line 1", "a: {b: 1}\nc: 2\n"),
    ("a: [1,\n 2\n", "line 3: ", "close the [ of line 1", "a: [1,\n 2]\n"),
    ("a: @x\n", "line 1: ", "in quotes", "a: '@x'\n"),
    ("a: *\n", "line 1: ", "in quotes", "a: '*'\n"),
    ("a: *x\n", "line 1: ", "in quotes", "a: '*x'\n"),
    ("a: !x y\n", "line 1: ", "in quotes", "a: '!x y'\n"),
]


@pytest.mark.parametrize(("text", "line", "fix", "fixed"), MISTAKES)
def test_the_fix_is_told_and_is_one(text, line, fix, fixed):
    with pytest.raises(ValueError, match="is not YAML") as problem:
        read_yaml(text)
    told = str(problem.value)
    assert told.startswith(line)
    assert fix in told
    assert "secret" not in told
    assert isinstance(read_yaml(fixed), dict)


@settings(max_examples=examples(500))
@given(
    st.lists(
        st.sampled_from(["a", "1", ": ", ":", "- ", "\n", "  ", "\t", '"', "'", "{", "}", "[", "]", "*", "\\", "---\n"])
    )
)
def test_any_text_is_read_or_refused_by_one_line_with_its_place(parts):
    told = "line 1: "
    try:
        read_yaml("".join(parts))
    except ValueError as problem:
        told = str(problem)
    assert re.fullmatch("line [0-9]+: .*", told)


@pytest.mark.parametrize("written", ["011", "+07", "-010", "01234", "0_7", "1:30", "12:30:45", "1:30.5", "!!int 011"])
def test_a_number_that_yaml_reads_to_another_base_is_refused(written):
    """By YAML 1.1 the first is 9, and 1:30 is 90."""
    for text in (f"k: {written}", f"a: 1\nk: [2, {written}]"):
        with pytest.raises(ValueError, match=rf"^line {text.count(chr(10)) + 1}: YAML reads a number") as refused:
            read_yaml(text)
        assert written not in str(refused.value)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("0", 0),
        ("10", 10),
        ("0.5", 0.5),
        ("'011'", "011"),
        ("00:30 h", "00:30 h"),
        ("-0", 0),
        ("1.0e-3", 0.001),
        ("1e-6", 1e-6),
        ("-2E+3", -2000.0),
        ("1e6", "1e6"),
        ("'1e-6'", "1e-6"),
        ("089", "089"),
    ],
)
def test_other_numbers_and_texts_are_read_as_they_are(written, read):
    assert read_yaml(f"k: {written}") == {"k": read}


@pytest.mark.parametrize("value", ["1e-6", "2E+3", "1e6", 1e-6, "089", "yes", "2024-01-01", None, 5, "1_0e-6"])
def test_what_is_written_is_read_as_the_same(value):
    text = yaml.dump({"k": value}, Dumper=Dumper)
    assert read_yaml(text) == {"k": value}
    assert type(read_yaml(text)["k"]) is type(value)


@given(st.dictionaries(st.text(), st.text(), max_size=3))
@example({"\U0001f600": "a\U0001f9ecb"})
def test_what_json_escapes_is_read_as_the_same(texts):
    """JSON writes characters beyond 16 bits as two escapes; half of a pair stays what it is, and is refused later."""
    assert read_yaml(json.dumps({"k": texts})) == {"k": texts}


def test_half_of_a_pair_is_not_joined_with_anything():
    assert read_yaml(r'"\udc00\ud800"') == "\udc00\ud800"
