"""The short list: reasons that can be checked against the frontier, and a spread that trying all cannot better."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.frontiers.compare.shortlist import LIMITS, NEAR, SIZE, shortlist
from engine.frontiers.compare.spread import best_spread
from tests.reference.hypervolume import dominated_area, largest_area

GRID = 64
"""Coordinates are sixty-fourths, so that floats hold them exactly and the fractions of the oracle stay small."""


@st.composite
def staircases(draw, longest=9):
    """Draw points of a frontier: risk ascending, loss descending, both within the unit square."""
    risks = draw(st.sets(st.integers(0, GRID), min_size=1, max_size=longest))
    losses = draw(st.sets(st.integers(0, GRID), min_size=len(risks), max_size=len(risks)))
    return [(risk / GRID, loss / GRID) for risk, loss in zip(sorted(risks), sorted(losses, reverse=True), strict=True)]


def entry(risk, loss, scale=0.2):
    """Make an entry of a report whose risk is `scale` where everything is kept."""
    return {
        "risk": scale * risk,
        "utility_loss": 3 * loss,
        "normalized_risk": risk,
        "normalized_utility_loss": loss,
        "policy": {"age": [{"value": f"{risk}"}]},
    }


def frontier_of(points):
    return [entry(risk, loss) for risk, loss in points]


@given(staircases(), st.data())
def test_the_spread_is_the_best_there_is(points, data):
    size = data.draw(st.integers(1, 5))
    forced = data.draw(st.sets(st.integers(0, len(points) - 1), max_size=min(size, len(points))))
    chosen = best_spread(*np.array(points).T, forced, size)
    assert chosen == sorted(set(chosen))
    assert forced <= set(chosen)
    assert len(chosen) <= max(size, len(forced))
    assert dominated_area([points[position] for position in chosen]) == largest_area(points, forced, size)


@given(staircases())
def test_a_point_that_adds_nothing_is_not_chosen(points):
    """The ends of the square dominate nothing of it."""
    chosen = best_spread(*np.array(points).T, (), len(points))
    useful = [position for position, (risk, loss) in enumerate(points) if risk < 1 and loss < 1]
    assert chosen == useful or not useful


@given(staircases(longest=30), st.tuples(st.integers(0, GRID), st.integers(0, GRID)), st.integers(1, SIZE))
def test_the_list_is_short_ordered_and_from_the_frontier(points, other, size):
    frontier = frontier_of(points)
    chosen = shortlist(frontier, entry(other[0] / GRID, other[1] / GRID), size=size)
    places = [policy["index"] for policy in chosen]
    assert 1 <= len(places) <= size
    assert places == sorted(set(places))
    for policy in chosen:
        assert {**frontier[policy["index"]], "index": policy["index"], "why": policy["why"]} == policy
        assert policy["why"].endswith(".")


@given(staircases(longest=30), st.tuples(st.integers(0, GRID), st.integers(0, GRID)))
def test_every_claim_about_safe_harbor_and_a_limit_is_true(points, other):
    """Each reason is recomputed from its wording: the set it speaks of, and the extreme of it."""
    frontier = frontier_of(points)
    harbor = entry(other[0] / GRID, other[1] / GRID)
    better = [p for p in frontier if p["risk"] < harbor["risk"] and p["utility_loss"] < harbor["utility_loss"]]
    safer = [p for p in frontier if p["risk"] < harbor["risk"] and p["utility_loss"] <= harbor["utility_loss"]]
    claims = {
        "least utility loss at less risk than Safe Harbor": min((p["utility_loss"] for p in better), default=None),
        "least risk at no more utility loss than Safe Harbor": min((p["risk"] for p in safer), default=None),
    }
    for limit in LIMITS:
        within = [p["utility_loss"] for p in frontier if p["risk"] <= limit]
        binding = len(within) < len(frontier)
        claims[f"at a risk of at most {100 * limit:g}%"] = min(within, default=None) if binding else None
    chosen = shortlist(frontier, harbor, size=len(frontier) + 1)
    if len(frontier) == 1:
        assert "the only policy" in chosen[0]["why"].lower()
        return
    for claim, extreme in claims.items():
        told = [policy for policy in chosen if claim in policy["why"]]
        key = "risk" if "least risk" in claim else "utility_loss"
        assert [policy[key] for policy in told] in ([], [extreme])
    if better:
        assert any("at less risk than Safe Harbor" in policy["why"] for policy in chosen)


@given(staircases(longest=60), st.tuples(st.integers(0, GRID), st.integers(0, GRID)))
def test_reasons_leave_places_and_name_no_two_neighbours(points, other):
    """Two places at least go to the spread; policies with a reason of their own can be told apart in the chart."""
    chosen = shortlist(frontier_of(points), entry(other[0] / GRID, other[1] / GRID))
    named = [policy for policy in chosen if "together show most" not in policy["why"]]
    assert len(named) <= SIZE - 2
    for place, policy in enumerate(named):
        for before in named[:place]:
            keys = ("normalized_risk", "normalized_utility_loss")
            assert max(abs(policy[key] - before[key]) for key in keys) > NEAR


def test_the_knee_is_where_both_prices_are_equal():
    """On loss = (1 - sqrt(risk))^2 the point farthest from the chord is risk = loss = 1/4."""
    risks = np.linspace(0, 1, 101)
    chosen = shortlist(frontier_of([(float(risk), float((1 - risk**0.5) ** 2)) for risk in risks]))
    knee = next(policy for policy in chosen if "knee" in policy["why"])
    assert knee["normalized_risk"] == pytest.approx(0.25)


def test_a_straight_frontier_has_no_knee():
    chosen = shortlist(frontier_of([(k / 8, 1 - k / 8) for k in range(9)]))
    assert not any("knee" in policy["why"] for policy in chosen)


def test_one_policy_may_have_several_reasons():
    """Two steps, and one policy between the useless ends: everything is said of it."""
    chosen = shortlist(frontier_of([(0.0, 1.0), (0.25, 0.25), (1.0, 0.0)]), entry(0.5, 0.5), limits=[0.06])
    (middle,) = [policy for policy in chosen if policy["index"] == 1]
    for reason in ("the knee", "less risk than Safe Harbor", "no more utility loss than Safe Harbor", "at most 6%"):
        assert reason in middle["why"]


def test_long_staircases_are_covered_almost_as_well_by_seven():
    """Thousands of points; no subset of seven that is evenly spaced in risk or in loss covers more."""
    risks = np.linspace(0, 1, 3_001)
    losses = (1 - risks**0.3) ** 2
    chosen = best_spread(risks, losses, (), SIZE)
    assert len(chosen) == SIZE
    area = dominated_area([(risks[position], losses[position]) for position in chosen])
    for spaced in (risks, 1 - losses):
        even = [int(np.searchsorted(spaced, step / 8)) for step in range(1, 8)]
        assert dominated_area([(risks[position], losses[position]) for position in even]) < area


def test_no_frontier_no_list():
    assert shortlist([]) == []
