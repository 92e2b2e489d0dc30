"""A text that knows which of its numbers are counts."""

from __future__ import annotations

import ast
import copy
import itertools
import json
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Count, EngineError, Finding, InvalidData, Message, VerificationFailed
from tests.places import ROOT

counts = st.integers(0, 10**9).map(Count)
parts = st.lists(st.one_of(st.text(), counts), max_size=6)


def counted(message):
    return [part["count"] for part in message.parts if isinstance(part, dict)]


@given(parts)
def test_the_text_is_that_of_its_parts_in_order(given):
    message = Message(*given)
    assert message == str(message) == "".join(map(str, given))
    assert type(str(message)) is str
    assert counted(message) == [part for part in given if isinstance(part, Count)]


@given(parts)
def test_words_are_whole_between_two_counts_and_never_empty(given):
    kinds = [type(part) for part in Message(*given).parts]
    assert "" not in Message(*given).parts
    assert (str, str) not in set(itertools.pairwise(kinds))


@given(parts)
def test_parts_come_back_from_json(given):
    message = Message(*given)
    read = Message.from_parts(json.loads(json.dumps(message.parts)))
    assert (read, read.parts) == (message, message.parts)


@given(parts)
def test_a_copy_keeps_the_counts(given):
    message = Message(*given)
    for twin in (copy.copy(message), copy.deepcopy(message), pickle.loads(pickle.dumps(message)), Message(message)):  # noqa: S301 (our own bytes)
        assert (twin, twin.parts) == (message, message.parts)


@given(st.text(), st.lists(parts, max_size=4))
def test_joined_messages_read_as_joined_texts_and_keep_the_counts(separator, many):
    messages = [Message(*given) for given in many]
    joined = Message.joined(separator, messages)
    assert joined == separator.join(map(str, messages))
    assert counted(joined) == [count for message in messages for count in counted(message)]


@given(counts, st.text(), st.integers(), st.floats(allow_nan=False), parts)
def test_a_filled_template_reads_as_str_format_reads(few, name, level, share, inner):
    template = "{few} of {{all}} in {name!r}, level {level:>3}, {share:g}: {inner}{few}"
    values = {"name": name, "level": level, "share": share}
    nested = Message(*inner)
    message = Message.of(template, few=few, inner=nested, **values)
    assert message == template.format(few=int(few), inner=str(nested), **values)
    assert counted(message) == [few, *counted(nested), few]


def test_words_fit_any_count():
    """Words stay as they are where a count is withheld: `1 records are` counts badly, and `1 record is` would tell."""
    counts = r"(?<!of )(?<!fewer than )\{\w+\} (?:[a-z-]+ ){0,2}?"
    things = "(?:values|records|rows|persons|classes|columns|categories|numbers)"
    verbs = "(?:are|have|were|share|had|lack)"
    badly = re.compile(rf"{counts}{things} {verbs}\b|\{{\w+\}} (?:missing values|unknown keys|others)\b")
    for path in sorted([*(ROOT / "engine").rglob("*.py"), *(ROOT / "airflow_anon" / "expectations").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not badly.search(node.value), f"{path}:{node.lineno}: {node.value}"


def test_a_name_with_a_brace_is_no_template():
    assert Message.of("column {name!r}: {few}", name="{few}{0}", few=Count(3)).parts == [
        "column '{few}{0}': ",
        {"count": 3},
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "2 records",
        {"count": 2},
        [2],
        [None],
        [["2"]],
        [{"count": "2"}],
        [{"count": 2.0}],
        [{"count": True}],
        [{"count": 2, "unit": "records"}],
        [{}],
    ],
)
def test_another_form_is_refused(wrong):
    with pytest.raises(ValueError, match="of a message must be"):
        Message.from_parts(wrong)


def test_an_error_keeps_its_message():
    told = Message.of("{few} values are missing", few=Count(2))
    error = InvalidData(told)
    assert (str(error), error.message.parts) == ("2 values are missing", told.parts)
    assert pickle.loads(pickle.dumps(error)).message.parts == told.parts  # noqa: S301 (our own bytes)
    refused = VerificationFailed(Message.joined("; ", [error.message, told]), [])
    assert counted(refused.message) == [2, 2]


def test_an_error_is_one_line_whatever_columns_are_called():
    """A line end begins a line of a log, which could say anything; a mark that nobody sees turns words around."""
    told = Message.of("column {name}: {few} values", name="a\nb\r\x1b[31m\u202e\x85", few=Count(2))
    error = InvalidData(told)
    assert str(error) == error.message == "column a\\nb\\r\\x1b[31m\\u202e\\x85: 2 values"
    assert error.message.parts == ["column a\\nb\\r\\x1b[31m\\u202e\\x85: ", {"count": 2}, " values"]
    assert str(InvalidData("column \u00e9\u4e2d\U0001f600: is kept")) == "column \u00e9\u4e2d\U0001f600: is kept"


def test_a_plain_text_is_a_message_without_counts():
    assert EngineError("2 values").message.parts == ["2 values"]
    assert Finding("rows", holds=True, observed=None, required=None, column=None, message="2 rows").message.parts == [
        "2 rows"
    ]


def test_a_finding_is_plain_data():
    told = Message.of("{few} rows", few=Count(2))
    data = Finding("rows", holds=False, observed=2, required=3, column=None, message=told).to_dict()
    assert data["message"] == "2 rows"
    assert type(data["message"]) is str
