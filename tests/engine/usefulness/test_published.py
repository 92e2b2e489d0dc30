"""What is published of distributions, read by somebody who solves for the suppressed records."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.usefulness.published import overlap_step, share_places, suppressed_step, told
from tests.profiles import examples


def divided(total, parts):
    """Give every way to divide records among labels, shape (ways, parts)."""
    if parts == 1:
        return np.array([[total]])
    return np.array([(first, *rest) for first in range(total + 1) for rest in divided(total - first, parts - 1)])


def subsets(labels):
    return [list(one) for size in range(1, labels) for one in itertools.combinations(range(labels), size)]


def concluded(tables, floors, fewest):
    """Give sets of labels that somebody who knows all tables with the same floors knows to have few suppressed records.

    Few, but some; or certainly fewer than the fewest.
    """
    found = []
    _, group = np.unique(floors, axis=0, return_inverse=True)
    for one in range(int(group.max()) + 1):
        same = tables[group.ravel() == one]
        for labels in subsets(tables.shape[1]):
            counts = same[:, labels].sum(axis=1)
            if 0 < counts.min() < fewest or counts.max() < fewest:
                found.append((same[0].tolist(), labels, int(counts.min()), int(counts.max())))
    return found


def floors_of(tables, step):
    return tables // step * step if step else np.zeros_like(tables)


@settings(max_examples=examples(60))
@given(st.integers(2, 4), st.integers(5, 11), st.integers(11, 44))
def test_no_table_of_suppressed_records_can_be_concluded(labels, fewest, suppressed):
    """Every table is tried: whoever knows the labels, how many are suppressed and the rule cannot tell few of them."""
    step = suppressed_step(suppressed, fewest)
    tables = divided(suppressed, min(labels, 3) if suppressed > 30 else labels)
    assert step is None or not concluded(tables, floors_of(tables, step), fewest)


def test_steps_that_do_not_look_at_the_total_would_tell():
    """Of eight suppressed records in steps of five none is told, and so there must be four of each of two labels."""
    tables = divided(8, 2)
    assert ([4, 4], [0], 4, 4) in concluded(tables, floors_of(tables, 5), 5)
    assert suppressed_step(8, 5) is None


@settings(max_examples=examples(400))
@given(st.lists(st.integers(0, 400), min_size=2, max_size=40), st.integers(1, 50), st.randoms())
def test_no_set_of_many_labels_has_bounds_that_tell(counts, fewest, random):
    """The least and the most that a set of labels can have, from floors and total alone."""
    suppressed, fewest = sum(counts), max(fewest, 5)
    step = suppressed_step(suppressed, fewest)
    if step is None:
        return
    floors = [count // step * step for count in counts]
    chosen = set(random.sample(range(len(counts)), random.randint(1, len(counts) - 1)))
    inside = sum(floors[label] for label in chosen)
    left = suppressed - sum(floors)
    least = inside + max(0, left - (len(counts) - len(chosen)) * (step - 1))
    most = inside + min(left, len(chosen) * (step - 1))
    assert least == 0 or least >= fewest
    assert most >= fewest
    assert least <= sum(counts[label] for label in chosen) <= most


@pytest.mark.parametrize("fewest", [5, 11, 20])
def test_suppressed_records_are_told_once_there_are_enough_of_them(fewest):
    """Otherwise the rule would be met by telling nothing."""
    steps = [suppressed_step(suppressed, fewest) for suppressed in range(10 * fewest, 400 * fewest, 7)]
    assert sum(step is not None for step in steps) >= 0.95 * len(steps)
    assert suppressed_step(fewest, fewest) is None


def column(**changes):
    labels = [{"label": "a", "before": 130, "after": 100}, {"label": "b", "before": 213, "after": 200}]
    found = {
        "column": "x",
        "records": 343,
        "labels": labels,
        "suppressed": 43,
        "untold": 0,
        "step": 1,
        "mean_overlap": 0.777,
        "mean_moved": 0.0123,
        "proportion_overlap": 0.777,
        "least_proportion_overlap": 0.333,
    }
    return {**found, **changes}


def usefulness(records=10_000, **target):
    scores = {"accuracy": 0.81234, "auc": 0.91234}
    model = {"model": "random-forest", "source": scores, "release": scores}
    predicted = {"target": "y", "records": 4_321, "rarest": 123, "classes": 2, "baseline": 0.51234, "models": [model]}
    return {
        "records": records,
        "restricted": False,
        "folds": 5,
        "targets": [{**predicted, **target}],
        "columns": [column()],
    }


def test_suppressed_records_are_counted_in_whole_steps():
    step = suppressed_step(43, 5)
    (found,) = told(usefulness(), 2)["columns"]
    assert (found["step"], step) == (12, 12)
    assert [(one["before"], one["after"]) for one in found["labels"]] == [(124, 100), (212, 200)]
    assert found["untold"] == 43 - 24 - 12


def test_figures_have_as_many_digits_as_one_record_does_not_move():
    (target,) = told(usefulness(), 5)["targets"]
    assert (target["records"], target["rarest"], target["baseline"]) == (4_000, None, 0.51)
    assert target["models"][0]["source"] == {"accuracy": 0.81, "auc": 0.9}
    (few,) = told(usefulness(rarest=99), 5)["targets"]
    assert few["models"][0]["release"] == {"accuracy": 0.81, "auc": None}
    (one,) = told(usefulness(), 5)["columns"]
    assert (one["mean_overlap"], one["mean_moved"]) == (0.8, None)


@pytest.mark.parametrize(("records", "places"), [(0, 0), (99, 0), (100, 1), (999, 1), (1_000, 2), (10**6, 2)])
def test_places_of_shares(records, places):
    """One step of the last place is at least ten records."""
    assert share_places(records) == places
    assert not places or 10**-places * records >= 10


@pytest.mark.parametrize(
    ("moved", "step"),
    [(0.051, None), (0.05, 0.5), (0.011, 0.2), (0.01, 0.1), (0.001, 0.01), (0.0, 0.01), (math.inf, None)],
)
def test_steps_of_overlaps_of_means(moved, step):
    """Ten times what one record moves."""
    assert overlap_step(moved) == step
    (found,) = told({**usefulness(), "columns": [column(mean_moved=moved)]}, 5)["columns"]
    if step is None:
        assert found["mean_overlap"] is None
    else:
        assert abs(found["mean_overlap"] - 0.777) <= step / 2 + 1e-12
        assert found["mean_overlap"] / step == pytest.approx(round(found["mean_overlap"] / step))


def test_overlaps_of_shares_are_those_of_the_counts_that_are_told():
    """One suppressed record more or less changes them only where it changes a count."""
    labels = [{"label": "a", "before": 10_130, "after": 10_100}, {"label": "b", "before": 20, "after": 20}]
    found = []
    for hidden in (0, 1, 4):
        with_b = [labels[0], {**labels[1], "before": 20 + hidden}]
        records = 10_120 + 43
        (one,) = told({**usefulness(), "columns": [column(records=records, labels=with_b)]}, 5)["columns"]
        assert [label["before"] for label in one["labels"]] == [10_124, 20]
        found.append((one["proportion_overlap"], one["least_proportion_overlap"]))
    assert found[0] == found[1] == found[2]

    def interval(part, number):
        half = 1.959963984540054 * math.sqrt(part / number * (1 - part / number) / number)
        return part / number - half, part / number + half

    low, high = interval(20, 10_144), interval(20, 10_120)
    expected = (min(low[1], high[1]) - max(low[0], high[0])) * (1 / (low[1] - low[0]) + 1 / (high[1] - high[0])) / 2
    assert found[0][1] == pytest.approx(expected, abs=0.005)
    (untold,) = told({**usefulness(), "columns": [column(suppressed=8, records=308)]}, 5)["columns"]
    assert (untold["step"], untold["proportion_overlap"]) == (None, None)


def test_persons_are_rounded_down_to_one_digit():
    assert "persons" not in told(usefulness(), 5)
    assert told({**usefulness(), "persons": 4_321}, 5)["persons"] == 4_000
