"""Which labels are listed, and which numbers share a bin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.usefulness.distribution import MOST_LABELS, binned, distribution


def test_labels_of_few_records_are_one_together():
    told = distribution(["a", "b", "c", None], np.array([10, 3, 4, 7]), np.array([1, 2, 3, 0]), 5)
    assert told == [
        {"label": "a", "before": 11, "after": 10},
        {"label": None, "before": 7, "after": 7},
        {"label": None, "before": 12, "after": 7, "other": True},
    ]


def test_if_the_others_are_few_the_rarest_label_joins_them():
    told = distribution(["a", "b", "c"], np.array([10, 6, 2]), np.array([0, 0, 0]), 5)
    assert told == [
        {"label": "a", "before": 10, "after": 10},
        {"label": None, "before": 8, "after": 8, "other": True},
    ]


def test_a_label_that_only_suppressed_records_had_is_not_there():
    assert distribution(["a", "b"], np.array([10, 0]), np.array([0, 50]), 5) == [
        {"label": "a", "before": 10, "after": 10}
    ]


counts = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=40)


@given(counts, st.integers(1, 20))
def test_no_entry_is_of_few_records_and_none_of_the_file_is_lost(pairs, fewest):
    shown, unshown = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    told = distribution([str(place) for place in range(len(pairs))], shown, unshown, fewest)
    assert all(one["after"] >= fewest for one in told)
    assert sum(one["after"] for one in told) in ({shown.sum()} | ({0} if shown.sum() < fewest else set()))
    assert len(told) <= MOST_LABELS + 1
    for one in told:
        if "other" not in one:
            place = int(one["label"])
            assert (one["before"], one["after"]) == (shown[place] + unshown[place], shown[place])


@given(counts, st.lists(st.integers(0, 40), min_size=40, max_size=40), st.integers(1, 20))
def test_which_labels_are_listed_does_not_depend_on_suppressed_records(pairs, others, fewest):
    shown, unshown = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    names = [str(place) for place in range(len(pairs))]
    one = distribution(names, shown, unshown, fewest)
    other = distribution(names, shown, np.array(others[: len(pairs)], np.int64), fewest)
    assert [(entry["label"], entry["after"]) for entry in one] == [(entry["label"], entry["after"]) for entry in other]


def test_bins_have_round_ends_and_no_end_at_an_outlier():
    values = np.append(np.arange(0, 100.0), [987_654.0, np.nan])
    shown = np.append(np.full(100, 10), [1, 3])
    labels, after, before = binned(values, shown, np.zeros(102, np.int64))
    assert labels[:2] == ["below 10", "[10, 20)"]
    assert labels[-2:] == ["90 or more", None]
    assert (after[0], after[1], after[-2], after[-1]) == (100, 100, 101, 3)
    assert after.sum() == shown.sum()
    assert before.sum() == 0


def test_ends_of_bins_are_those_of_the_file_alone():
    values = np.arange(0, 50.0)
    shown = np.where(values < 30, 20, 0)
    assert binned(values, shown, 20 - shown)[0] == binned(values[:30], shown[:30], shown[:30])[0]


@pytest.mark.parametrize("values", [[], [3.0], [3.0, 3.0], [float("inf"), 1.0]])
def test_numbers_without_a_width_are_one_bin(values):
    shown = np.full(len(values), 9, np.int64)
    labels, after, _ = binned(np.array(values, float), shown, shown)
    assert labels == ["all values", None]
    assert after.sum() == shown.sum()
