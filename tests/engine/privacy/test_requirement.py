"""Margins: the formulas by hand, and that they tell nearness to the bound for every model a job can name."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from engine.privacy.models.delta_presence import DeltaPresence
from engine.privacy.registry import AnyPrivacyModel
from engine.privacy.requirement import Requirement, least_margin

FIGURE = st.floats(0.001, 1e6)
BOUNDS = [
    ({"model": "k-anonymity", "k": 5}, (5, "at-least")),
    ({"model": "k-map", "k": 4, "subset": "s.csv"}, (4, "at-least")),
    ({"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 3}, (3, "at-least")),
    ({"model": "l-diversity", "variant": "shannon-entropy", "attribute": "s", "l": 2.5}, (2.5, "at-least")),
    ({"model": "l-diversity", "variant": "grassberger-entropy", "attribute": "s", "l": 2.5}, (2.5, "at-least")),
    ({"model": "l-diversity", "variant": "recursive", "attribute": "s", "c": 4.0, "l": 2}, (4.0, "at-most")),
    ({"model": "t-closeness", "distance": "equal", "attribute": "s", "t": 0.2}, (0.2, "at-most")),
    ({"model": "delta-disclosure-privacy", "attribute": "s", "delta": 1.5}, (1.5, "at-most")),
    ({"model": "beta-likeness", "variant": "enhanced", "attribute": "s", "beta": 2.0}, (2.0, "at-most")),
    ({"model": "average-risk", "threshold": 0.1}, (0.1, "at-most")),
    ({"model": "k-e-anonymity", "attribute": "s", "k": 2, "e": 2.5}, (2.5, "at-least")),
    ({"model": "sample-uniqueness", "threshold": 0.0}, (0.0, "at-most")),
    ({"model": "population-uniqueness", "threshold": 0.05, "sampling_fraction": 0.5}, (0.05, "at-most")),
    (
        {"model": "differential-privacy", "epsilon": 2.0, "delta": 1e-6, "sampling_fraction": 0.5},
        (24, "at-least"),
    ),
]


def model_of(parameters):
    return TypeAdapter(AnyPrivacyModel).validate_python(parameters)


@pytest.mark.parametrize(("parameters", "bound"), BOUNDS, ids=lambda value: str(value)[:60])
def test_what_each_model_requires(parameters, bound):
    assert model_of(parameters).requirement(None) == bound
    assert model_of(parameters).requirement(0.7) == bound


def test_no_model_is_left_out():
    def kinds(annotation):
        return {annotation} if isinstance(annotation, type) else set().union(*map(kinds, get_args(annotation)))

    assert {DeltaPresence, *(type(model_of(parameters)) for parameters, _ in BOUNDS)} == kinds(AnyPrivacyModel)


@pytest.mark.parametrize(
    ("low", "high", "observed", "bound", "margin"),
    [
        (0.2, 0.6, 0.25, (0.2, "at-least"), 0.2),
        (0.2, 0.6, 0.45, (0.6, "at-most"), 0.25),
        # no share is below 0: only the highest one binds
        (0.0, 0.8, 0.2, (0.8, "at-most"), 0.75),
        (0.5, 0.5, 0.5, (0.5, "at-most"), 0.0),
        (0.2, 0.6, None, (0.6, "at-most"), None),
    ],
)
def test_delta_presence_has_the_margin_of_its_nearer_end(low, high, observed, bound, margin):
    model = model_of({"model": "delta-presence", "delta_min": low, "delta_max": high, "subset": "s.csv"})
    found = model.requirement(observed)
    assert found == bound
    assert found.margin(observed, holds=True) == (None if margin is None else pytest.approx(margin))


@pytest.mark.parametrize(
    ("required", "sense", "observed", "margin"),
    [
        (5, "at-least", 5, 0.0),
        (5, "at-least", 20, 0.75),
        (0.2, "at-most", 0.05, 0.75),
        (0.2, "at-most", 0.2, 0.0),
        (0.2, "at-most", 0.0, 1.0),
        (0.0, "at-most", 0.0, 0.0),
    ],
)
def test_margins_by_hand(required, sense, observed, margin):
    assert Requirement(required, sense).margin(observed, holds=True) == pytest.approx(margin)
    assert Requirement(required, sense).margin(observed, holds=False) == 0.0
    assert Requirement(required, sense).margin(None, holds=True) is None
    assert Requirement(required, sense).margin(None, holds=False) == 0.0


@given(FIGURE, FIGURE, st.sampled_from(["at-least", "at-most"]))
def test_a_margin_is_a_share_and_a_figure_further_from_the_bound_has_no_less(required, observed, sense):
    requirement = Requirement(required, sense)
    margin = requirement.margin(observed, holds=True)
    assert 0 <= margin <= 1
    further = observed * 2 if sense == "at-least" else observed / 2
    assert requirement.margin(further, holds=True) >= margin
    ratio = observed / required if sense == "at-least" else required / observed
    if abs(ratio - 1) > 1e-9:
        assert (margin > 0) == (ratio > 1)


def test_the_least_margin_is_of_those_that_are_known():
    assert least_margin([0.5, None, 0.25]) == 0.25
    assert least_margin([0.5, 0.0]) == 0.0
    assert least_margin([None]) is None
    assert least_margin([]) is None
