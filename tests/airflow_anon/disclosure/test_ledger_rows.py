"""The counts in a row of the ledger, as lists, metrics, lineage and alerts tell them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_anon.disclosure.ledger_rows import row_figures
from tests.airflow_anon.entries import entry_of

rows = st.integers(20, 200)


def few(value, k):
    return 0 < value < k


@given(rows, st.integers(0, 19), st.integers(1, 30), st.booleans())
def test_no_count_of_few_records_is_told(source, suppressed, k, both):
    """Neither the number nor its share, also where the row has the share alone."""
    share = suppressed / source
    entry = entry_of(rows=source, suppressed=suppressed if both else None, suppressed_share=share)
    told = {name: figure["value"] for name, figure in row_figures(entry, k).items()}
    assert told["rows"] == (None if few(source, k) else source)
    assert told["suppressed_share"] == (None if few(suppressed, k) else share)
    assert told["suppressed"] == (None if not both or few(suppressed, k) else suppressed)


@given(rows, st.integers(0, 19))
def test_without_the_smallest_class_only_0_is_told(source, suppressed):
    told = row_figures(entry_of(rows=source, suppressed=suppressed, suppressed_share=suppressed / source), None)
    assert told["rows"] == {"value": None, "below": None}
    assert [told[name]["value"] for name in ("suppressed", "suppressed_share")] == [None if suppressed else 0] * 2


@pytest.mark.parametrize(("outcome", "below"), [("released", 5), ("refused", None), ("failed", None)])
def test_what_a_row_lacks_is_withheld_of_a_release_and_not_known_of_others(outcome, below):
    told = row_figures(entry_of(outcome=outcome, rows=None, suppressed=None, suppressed_share=None), 5)
    assert told["rows"] == {"value": None, "below": None}
    assert told["suppressed"] == told["suppressed_share"] == {"value": None, "below": below}
