"""Figures about few records stay out of the ledger."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_anon.disclosure.withhold import is_withheld, withheld_text

K = 11


@pytest.mark.parametrize(
    ("figure", "withheld"), [(0, False), (1, True), (10, True), (11, False), (3.5, True), (None, False), (True, False)]
)
def test_what_is_withheld(figure, withheld):
    assert is_withheld(figure, K) is withheld


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "column 'age': 2 distinct values in 3 records have no entry",
            "column 'age': [fewer than 11] distinct values in [fewer than 11] records have no entry",
        ),
        ("3 of 860 equivalence classes", "[fewer than 11] of 860 equivalence classes"),
        ("11 records, 0 left", "11 records, 0 left"),
        ("distinct 3-diversity of p2 at level 4, share 0.05", "distinct 3-diversity of p2 at level 4, share 0.05"),
        ("it ends with 7.", "it ends with [fewer than 11]."),
        ("suppressing at most 4 of them within 9 seconds", "suppressing at most 4 of them within 9 seconds"),
        ("007 records", "[fewer than 11] records"),
    ],
)
def test_numbers_in_texts(text, shown):
    assert withheld_text(text, K) == shown


@given(st.integers(1, 2000), st.integers(2, 1000))
def test_a_count_of_few_records_never_passes(count, smallest):
    """Whatever stands around it in the sentences of this package."""
    text = withheld_text(f"{count} records hold ({count}) values; observed {count}, required 0", smallest)
    digits = {int(found) for found in re.findall(r"(?<![\d.])\d+", text)}
    assert digits <= {0, smallest} | ({count} if count >= smallest else set())


def test_without_a_smallest_class_nothing_is_withheld():
    assert withheld_text("1 record", 1) == "1 record"
    assert not is_withheld(1, 1)
