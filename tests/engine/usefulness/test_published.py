"""What is published of distributions, read by somebody who solves for the suppressed records."""

from __future__ import annotations

import itertools

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
        "seed": 0,
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
    (fewer,) = told(usefulness(records=99), 5)["columns"]
    assert fewer["mean_overlap"] is None


@pytest.mark.parametrize(("records", "places"), [(0, 0), (99, 0), (100, 1), (999, 1), (1_000, 2), (10**6, 2)])
def test_places_of_shares(records, places):
    """One step of the last place is at least ten records."""
    assert share_places(records) == places
    assert not places or 10**-places * records >= 10


@pytest.mark.parametrize(
    ("records", "step"), [(399, None), (400, 0.5), (2_500, 0.2), (10_000, 0.1), (40_000, 0.05), (10**6, 0.01)]
)
def test_steps_of_overlaps(records, step):
    assert overlap_step(records) == step
    (found,) = told(usefulness(records=records), 5)["columns"]
    if step is None:
        assert found["least_proportion_overlap"] is None
    else:
        assert abs(found["least_proportion_overlap"] - 0.333) <= step / 2
        assert found["least_proportion_overlap"] / step == pytest.approx(
            round(found["least_proportion_overlap"] / step)
        )
