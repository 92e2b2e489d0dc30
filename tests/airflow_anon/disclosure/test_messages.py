"""Sentences tell no count of few records, and what is no count they tell as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_anon.disclosure.counts import is_few
from airflow_anon.disclosure.messages import message_text, reason_text
from engine import Count, Message

K = 11


@pytest.mark.parametrize(
    ("figure", "few"), [(0, False), (1, True), (10, True), (11, False), (3.5, True), (-3, True), (-11, False)]
)
def test_what_is_few(figure, few):
    assert is_few(figure, K) is few


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        (
            ["no entry for ", {"count": 2}, " of the distinct values, in ", {"count": 3}, " of the records"],
            "no entry for [fewer than 11] of the distinct values, in [fewer than 11] of the records",
        ),
        ([{"count": 3}, " of ", {"count": 860}, " equivalence classes"], "[fewer than 11] of 860 equivalence classes"),
        ([{"count": 11}, " records, ", {"count": 0}, " left"], "11 records, 0 left"),
        (["distinct 3-diversity of p2 at level 4, 7 seconds"], "distinct 3-diversity of p2 at level 4, 7 seconds"),
        (["it ends with ", {"count": 7}, "."], "it ends with [fewer than 11]."),
        ([], ""),
    ],
)
def test_counts_in_messages(parts, shown):
    assert message_text(parts, K) == shown


words = st.text(st.characters(exclude_categories=["Nd", "Cs"]), max_size=6)


@given(st.lists(st.builds(Count, st.integers(0, 2000)) | words), st.integers(1, 1000))
def test_a_count_of_few_records_never_passes(parts, smallest):
    """Whatever stands around it: each count is there if it may be, else the bound, and every word."""
    expected = "".join(
        part if not isinstance(part, Count) else f"[fewer than {smallest}]" if 0 < part < smallest else str(int(part))
        for part in parts
    )
    assert message_text(Message(*parts).parts, smallest) == expected


@pytest.mark.parametrize("parts", [None, "3 records", {"count": 3}, [3], [{"count": "3"}], [{"count": True}], [None]])
def test_a_text_without_its_parts_is_not_told(parts):
    """Nobody knows which of its numbers count records."""
    assert message_text(parts, 1) is None
    assert reason_text(parts, K, task="extract", error="Odd") == "Odd in task extract; its log has more"


def test_without_a_smallest_class_nothing_is_withheld():
    assert message_text([{"count": 1}, " record"], 1) == "1 record"
    assert not is_few(1, 1)
